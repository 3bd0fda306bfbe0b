import { once } from 'node:events';
import type { LockInfo } from '../core/lock-info.js';
import { escaped } from '../core/describe.js';
import { type Arguments, durationIn, onlyName } from './arguments.js';
import { observe } from './connect.js';
import { exitCode } from './exit-codes.js';
import { detailed, filterOf, listed, look } from './list.js';
import { json, paintFor, partyText, print } from './output.js';

/** From the upper left corner on, without what was there. Lines that are too long are cut by the terminal: it knows how wide a character is. */
const redraw = (text: string): string => `\u001b[H\u001b[2J\u001b[?7l${text}\u001b[?7h`;

/** Until Ctrl-C. */
export async function watch(given: Arguments): Promise<number> {
  const name = given.names.length === 0 ? undefined : onlyName('watch', given);
  const wanted = filterOf(given);
  const pause = durationIn(given, 'every', { min: 100 }) ?? (name === undefined ? 2_000 : 1_000);
  const paint = paintFor(given.options);
  const isScreen = process.stdout.isTTY && !given.options['json'];
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

  await using connected = await observe(given);
  const { locks } = connected;
  const last = new Map<string, string>();
  while (!stop.signal.aborted) {
    const found = name === undefined ? (await look(locks, wanted)).locks : [await locks.inspect(name)];
    if (isScreen) {
      const lines = name === undefined ? listed(found, paint) : detailed(found[0]!, paint);
      // 0 where no one has told the terminal its size.
      const rows = process.stdout.rows || Number.POSITIVE_INFINITY;
      const heading = paint.dim(`${new Date().toLocaleTimeString()}, every ${pause} ms, Ctrl-C ends`);
      print(redraw([heading, ...lines].slice(0, rows - 1).join('\n')));
    } else {
      for (const lock of changes(found, last)) {
        print(given.options['json'] ? json({ at: new Date().toISOString(), ...lock }) : changeText(lock));
      }
    }
    await sleep(pause, stop.signal);
  }
  return exitCode.ok;
}

/** The locks whose holders or waiters have changed. One that is free now has no holders. */
function changes(found: readonly LockInfo[], last: Map<string, string>): LockInfo[] {
  const changed: LockInfo[] = [];
  const gone = new Set(last.keys());
  for (const lock of found) {
    gone.delete(lock.key);
    const picture = json([
      lock.holders.map(({ client, fencingToken, state }) => [client, fencingToken, state]),
      lock.waiters.map(({ client, label, reachable }) => [client, label, reachable]),
    ]);
    if (last.get(lock.key) === picture) continue;
    last.set(lock.key, picture);
    changed.push(lock);
  }
  for (const key of gone) {
    last.delete(key);
    changed.push({ key, kind: undefined, limit: undefined, holders: [], waiters: [] });
  }
  return changed;
}

function changeText({ key, holders, waiters }: LockInfo): string {
  const who = holders.length === 0 ? 'is free' : `is held by ${holders.map(partyText).join(', ')}`;
  return `${new Date().toLocaleTimeString()} ${escaped(key)} ${who}; ${waiters.length} waiting`;
}

/** Ends early, and without an error, when the signal aborts. */
async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const timer = setTimeout(() => woken.abort(), milliseconds);
  const woken = new AbortController();
  signal.addEventListener('abort', () => woken.abort(), { once: true, signal: woken.signal });
  if (!woken.signal.aborted) await once(woken.signal, 'abort');
  clearTimeout(timer);
}
