import { LockError, LockLostError } from './lock-errors.js';

type Callee = (...args: never[]) => unknown;

/** Errors that have their caller's frames, each with the message that it had before. */
const placed = new WeakMap<LockError, string>();

/** The method in `    at async OrderService.place (/app/order.service.js:12:5)`. */
const method = /^\s+at (?:async )?(?:([\w$]+(?:\.[\w$]+)*) \()?/;

/**
 * Gives an error of a call the frames of its caller, and its method to a message that names none. The engine makes the error in a timer or
 * in a reply, where all frames are the library's. V8 follows the awaits back to the caller, so only a call that fails pays for it.
 * @param callee the function, running now, whose caller is meant
 * @returns the error; a copy of it when the engine gave the same one to another caller
 */
export function fromCaller(error: unknown, callee: Callee): unknown {
  if (!(error instanceof LockError)) return error;
  const message = placed.get(error);
  if (message === undefined) return place(error, callee);
  // One object everywhere, as the reason of the signal.
  if (error instanceof LockLostError) return error;
  const Type = error.constructor as new (message: string, options: object) => LockError;
  return place(new Type(message, error), callee);
}

function place(error: LockError, callee: Callee): LockError {
  const { name, message } = error;
  placed.set(error, message);
  const frames = callersOf(callee);
  // The call was not awaited.
  if (frames.length === 0) return error;
  const [, caller] =
    frames.map((frame) => method.exec(frame)).find((found) => !found?.[1]?.startsWith('Promise.')) ?? [];
  // The message of a decorated method begins with its name; one with a label has only that in front.
  const gap = /^(?:(')|Lock )/.exec(message);
  if (caller && gap) error.message = `${caller}${gap[1] ? '' : ':'} ${message}`;
  const stack = [`${name}: ${error.message}`, ...frames].join('\n');
  return Object.defineProperty(error, 'stack', { value: stack, configurable: true, writable: true });
}

/** The caller of a function. The stack is formatted only when `where` is read; until then it costs as much as an Error. */
export class CallSite {
  private readonly trace: { stack?: string } = {};

  /** @param callee the function whose caller is meant */
  constructor(callee: Callee) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 1;
    Error.captureStackTrace(this.trace, callee);
    Error.stackTraceLimit = stackTraceLimit;
  }

  /** `TicketService.buy (/app/ticket.service.js:12:5)` */
  get where(): string {
    const frame = this.trace.stack?.split('\n')[1]?.trim();
    return frame?.replace(/^at (?:async )?/, '').replace('file://', '') ?? 'an unknown caller';
  }
}

function callersOf(callee: Callee): readonly string[] {
  // Without those of this library, such as of the work that the call is a part of; and of Node, between the reply and the await.
  return framesAt(callee).filter((frame) => !frame.includes('(node:internal/') && !isOurs(frame));
}

function framesAt(callee?: Callee): readonly string[] {
  const trace: { stack?: unknown } = {};
  try {
    Error.captureStackTrace(trace, callee);
    return typeof trace.stack === 'string' ? trace.stack.split('\n').slice(1) : [];
  } catch {
    // `Error.prepareStackTrace` is the application's.
    return [];
  }
}

/** Where the files of this library are, each with a separator at the end; none where they are part of the application's own file. */
let directories: readonly string[] | undefined;

function isOurs(frame: string): boolean {
  if (directories === undefined) {
    const own = /([^\s(]+[\\/])(?:library\.js|errors[\\/]caller-stack\.[jt]s):/.exec(framesAt()[0] ?? '')?.[1];
    // The command line is an ES module beside them.
    directories = own === undefined ? [] : [own, own.replace(/cjs([\\/])$/, 'esm$1')];
  }
  return directories.some((directory) => frame.includes(directory));
}
