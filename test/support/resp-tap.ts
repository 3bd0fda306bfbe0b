import type { Direction, Tap } from './tcp-proxy.js';

/** The fate of a command, and of all later ones on its connection. */
export type Fate =
  | 'passes'
  /** The connection is half-open from here on: the command is executed, its reply and everything after it vanish. */
  | 'silence behind it'
  /** The same, and the command does not arrive either. */
  | 'silence'
  /** The server does not know the script that it calls. */
  | 'unknown script';

/** Returns the fate of each command. @param command upper case; for scripts without the verb after EVALSHA */
type Plan = (command: string) => Fate;

/** Reads the commands on one connection, and makes it go wrong at one of them. */
export class RespTap implements Tap {
  private silent = false;
  private read = Buffer.alloc(0);

  constructor(private readonly plan: Plan) {}

  pass(direction: Direction, chunk: Buffer): Buffer | undefined {
    if (this.silent) return undefined;
    if (direction === 'toClient') return chunk;
    const passed: Buffer[] = [];
    for (const frame of this.frames(chunk)) {
      const whole = this.command(frame);
      if (whole) passed.push(whole);
      if (this.silent) break;
    }
    return passed.length > 0 ? Buffer.concat(passed) : undefined;
  }

  private command(frame: Buffer): Buffer | undefined {
    const fate = this.plan(wordOf(frame).toUpperCase());
    this.silent = fate === 'silence' || fate === 'silence behind it';
    if (fate === 'unknown script')
      frame.write('0'.repeat(40), frame.toString('latin1').search(/[0-9a-f]{40}/), 'latin1');
    return fate === 'silence' ? undefined : frame;
  }

  /** The complete commands so far. */
  private *frames(chunk: Buffer): Generator<Buffer> {
    let buffer = Buffer.concat([this.read, chunk]);
    for (let end = endOf(buffer); end !== undefined; end = endOf(buffer)) {
      yield buffer.subarray(0, end);
      buffer = buffer.subarray(end);
    }
    this.read = buffer;
  }
}

/** The first string of a command. */
function wordOf(frame: Buffer): string {
  return /^\*\d+\r\n\$\d+\r\n([^\r]*)\r\n/.exec(frame.toString('latin1'))?.[1] ?? '';
}

/** Where the command ends that begins the buffer: an array of strings. Undefined when it is not complete. https://redis.io/docs/latest/develop/reference/protocol-spec/ */
function endOf(buffer: Buffer): number | undefined {
  let line = buffer.indexOf('\r\n');
  if (line < 0) return undefined;
  let end = line + 2;
  for (let left = Number(buffer.toString('latin1', 1, line)); left > 0; left--) {
    line = buffer.indexOf('\r\n', end);
    if (line < 0) return undefined;
    end = line + 2 + Number(buffer.toString('latin1', end + 1, line)) + 2;
  }
  return end <= buffer.length ? end : undefined;
}
