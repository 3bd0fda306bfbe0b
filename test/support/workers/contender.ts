/** A process whose flows take locks, one after another, as its programme says, and touch resources that its parent keeps. Records
 * what happens to it. test/chaos/contender.ts is the other end.
 */
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LockHandle as Handle } from '../../../lib/core/lock-handle.js';
import type { Happening, Lived, Mode, Touched } from '../../chaos/history.js';
import type { Call } from '../../chaos/programme.js';
import { withoutLocking, withRepeatedTokens } from './broken-backend.js';

// Compiled, this file lies in dist/test-workers, beside the built package; the engine is no part of its public API.
const built = async (path: string): Promise<unknown> => import(new URL(`../modules/lib/${path}`, import.meta.url).href);
const { LockHandle } = (await built('core/lock-handle.js')) as typeof import('../../../lib/core/lock-handle.js');
const { LockClient } = (await built('core/lock-client.js')) as typeof import('../../../lib/core/lock-client.js');
const { lockDefaults, resolveOptions } = (await built(
  'core/options.js',
)) as typeof import('../../../lib/core/options.js');
const { RedisBackend } = (await built(
  'backends/redis/index.js',
)) as typeof import('../../../lib/backends/redis/index.js');

export interface ContenderConfiguration {
  readonly redis: string;
  readonly label: string;
  /** Where it writes down what happens. */
  readonly log: string;
  readonly commandTimeout: number;
  readonly poll: number;
  readonly programme: Call[][];
  /** What every flow must get after all faults. */
  readonly last: ReadonlyArray<{ readonly name: string; readonly mode: Mode }>;
  /** Milliseconds between two looks at the timers. */
  readonly beat: number;
  readonly broken?: 'lock' | 'tokens';
}

const configuration = JSON.parse(process.env['CONTENDER']!) as ContenderConfiguration;
const { label, redis, commandTimeout, poll, broken, beat } = configuration;
const silent = { log: () => undefined, warn: () => undefined, error: () => undefined };
const sound = new RedisBackend({ redis, commandTimeout, poll, log: silent });
const backend = broken === 'lock' ? withoutLocking(sound) : broken === 'tokens' ? withRepeatedTokens(sound) : sound;
const client = new LockClient(backend, { defaults: lockDefaults, maxWaiters: 10_000 }, silent);
const unhandled: string[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)));

// Written at once: what a process that is killed has done before is known.
const log = openSync(configuration.log, 'a');
const happened = (happening: Happening): void => void writeSync(log, `${JSON.stringify(happening)}\n`);
const tell = (message: object): void => void process.send?.(message);

/** The machine's monotonic clock: the same in all processes. `performance.now()` is this, from another beginning. */
const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6;

/** A lock whose loss must be reported in time. */
interface Watch {
  readonly parts: readonly Handle[];
  told: boolean;
  lateBeats: number;
}

const watched = new Set<Watch>();
let beats = 0;
let stalls = 0;
let lastBeat = performance.now();
setInterval(() => {
  const now = performance.now();
  // When this look was due. A process without a processor comes late to all its timers, and runs them in the order of their times: a look that
  // was due before the lease ended comes before the timer of the loss, however late both are.
  const due = lastBeat + beat;
  beats++;
  if (now > due + commandTimeout / 4) stalls++;
  lastBeat = now;
  for (const watch of watched) {
    // Not `isHeld`, which detects a loss by itself: this checks the signal.
    if (!watch.told && watch.parts.some((part) => due > LockHandle.holdOf(part).validUntil)) watch.lateBeats++;
  }
}, beat).unref();

/** What this process lives through from now on, until it is asked. */
function living(): () => Lived {
  const from = { beats, stalls };
  return () => ({ beats: beats - from.beats, stalls: stalls - from.stalls });
}

const answers = new Map<number, (accepted: boolean) => void>();
let touches = 0;

/** Reads or writes the resources of a name: a message to the parent, and one back. */
function touch(part: Handle, hold: string, { mode }: Call, kind: Touched['kind']): Promise<boolean> {
  // The clock first: a process that is stopped in between believes in less than it has.
  const sent = monotonic();
  const rest = part.leaseLeft;
  const until = rest === 0 ? 0 : sent + rest;
  const id = (touches += 1);
  const answer = new Promise<boolean>((resolve) => answers.set(id, resolve));
  tell({ touch: { id, hold, name: part.key, mode, kind, token: part.fencingToken, sent, until } });
  return answer;
}

let calls = 0;
const open = new Set<string>();

/** Returns the code of the error, or 'granted'. */
async function call(step: Call): Promise<string> {
  const { names, mode, lease, renew, wait, fairness, abortAfter } = step;
  const id = `${label}#${(calls += 1)}`;
  const asked = monotonic();
  const lived = living();
  const settled = (outcome: string): string => {
    open.delete(id);
    happened({ event: 'settled', call: id, names: names.length, outcome, wait, lived: lived() });
    return outcome;
  };
  open.add(id);
  const signal = abortAfter === undefined ? undefined : AbortSignal.timeout(abortAfter);
  try {
    const kind = mode === 'exclusive' ? {} : mode === 'shared' ? { shared: true } : mode;
    const options = resolveOptions({ ...kind, lease, renew, wait, fairness, signal }, client.defaults);
    const lock = await client.acquire(names.length === 1 ? names[0]! : names, options);
    const outcome = settled('granted');
    await work(lock, step, id, asked);
    return outcome;
  } catch (error) {
    const { code, name } = error as { code?: unknown; name?: string };
    return settled(name === 'TimeoutError' ? 'aborted' : typeof code === 'string' ? code : String(error));
  }
}

/** What a holder does: reads, works, writes. */
async function work(
  lock: Awaited<ReturnType<typeof client.acquire>>,
  step: Call,
  id: string,
  asked: number,
): Promise<void> {
  const parts = 'parts' in lock ? lock.parts : [lock];
  const at = monotonic();
  const holdOf = (part: Handle): string => `${id} ${part.key}`;
  for (const part of parts) {
    const { key: name, fencingToken: token } = part;
    happened({ event: 'started', hold: holdOf(part), name, mode: step.mode, token, asked, at });
  }
  // It may be aborted already: the process stood still for a lease since the grant. Then no event comes.
  const { signal } = lock;
  const watch: Watch = { parts, told: signal.aborted, lateBeats: 0 };
  watched.add(watch);
  signal.addEventListener('abort', () => (watch.told = true));

  const read = await Promise.all(parts.map((part) => touch(part, holdOf(part), step, 'read')));
  await sleep(step.work);
  if (step.renewByHand) await lock.renew().catch(knownToFail);
  // Who was refused as it read has nothing to write. Else the guarded resource is asked without looking: it looks itself.
  if (step.mode === 'exclusive') {
    await Promise.all(parts.filter((_, index) => read[index]).map((part) => touch(part, holdOf(part), step, 'write')));
  }

  const last = monotonic();
  const held = parts.map(({ isHeld }) => isHeld);
  watched.delete(watch);
  const lived = living();
  await lock.release();
  parts.forEach((part, index) => {
    const { lateBeats } = watch;
    const heldAt = held[index] ? last : 0;
    happened({ event: 'ended', hold: holdOf(part), heldAt, lost: part.lost?.reason, lateBeats, lived: lived() });
  });
}

/** A renewal by hand may find the lock lost, or Redis away. */
function knownToFail(error: unknown): void {
  const { code } = error as { code?: string };
  if (code !== 'LOCK_LOST' && code !== 'LOCK_UNAVAILABLE') throw error;
}

let finishing = false;

async function flow(steps: readonly Call[]): Promise<void> {
  for (let next = 0; !finishing; next++) {
    const step = steps[next % steps.length]!;
    const outcome = await call(step);
    // A call rejects at once in an outage: a loop without a pause would do nothing else.
    await sleep(outcome === 'LOCK_UNAVAILABLE' ? 50 : step.rest);
  }
}

// A first connection that fails is made again by itself.
void client.start().catch(() => undefined);
const flows = configuration.programme.map(flow);

/** All is well again: every flow must get every lock, all of them asking at once. */
async function finish({ wait }: { wait: number }): Promise<void> {
  finishing = true;
  await Promise.all(flows);
  const [first] = configuration.programme[0]!;
  const last: Call = { ...first!, lease: 1000, renew: true, fairness: 'strict', abortAfter: undefined, work: 1 };
  // The connection may take a second or two to come back; what counts is what a connected client gets.
  for (let tries = 0; tries < 40; tries++) {
    if ((await call({ ...last, names: [`own:${label}`], mode: 'exclusive', wait: 1000 })) === 'granted') break;
    await sleep(100);
  }
  await Promise.all(
    flows.map(async (_, index) => {
      for (const { name, mode } of configuration.last) {
        const outcome = await call({ ...last, names: [name], mode, wait });
        happened({ event: 'final', flow: `${label}/${index}`, name, outcome });
      }
    }),
  );
  tell({ finished: true });
}

/** Ends the client and stops listening. The process must then end by itself. */
async function leave(): Promise<void> {
  finishing = true;
  await client.shutdown(2000);
  // Callers that were rejected go on now.
  await new Promise(setImmediate);
  tell({ left: { unhandled, open: [...open] } });
  process.off('message', onMessage);
  process.channel?.unref();
}

type Message =
  { answer: { id: number; accepted: boolean } } | { block: number } | { finish: { wait: number } } | { leave: true };

function onMessage(message: Message): void {
  if ('answer' in message) {
    answers.get(message.answer.id)?.(message.answer.accepted);
    answers.delete(message.answer.id);
  } else if ('block' in message) {
    // No other code of this process runs in that time: a long computation, a garbage collection.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, message.block);
  } else if ('finish' in message) void finish(message.finish);
  else void leave();
}
process.on('message', onMessage);
