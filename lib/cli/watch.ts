import { once } from 'node:events';
import type { LockInfo } from '../core/lock-info.js';
import { escaped } from '../errors/describe.js';
import { type Arguments, durationIn, onlyName } from './arguments.js';
import { observe, observeAll } from './connect.js';
import { exitCode } from './exit-codes.js';
import { LockConfigurationError, LockError } from '../errors/lock-errors.js';
import { viewLines as lines } from './cli.messages.js';
import { detailed, filterOf, listed, look, type Looked, type Wanted } from './list.js';
import { inShellWords } from './shell-words.js';
import { json, type Paint, paintFor, partyText, print, say } from './output.js';

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

  await using connected = await (name === undefined ? observeAll('watch', given) : observe(given));
  const { locks } = connected;
  const view = isScreen
    ? new Screen(name !== undefined, pause, paint)
    : new Changes(name, wanted, given.options['json'] === true);
  let hasLooked = false;
  while (!stop.signal.aborted) {
    try {
      view.show(
        name === undefined
          ? await look(locks, wanted, view.known)
          : { locks: [await locks.inspect(name)], more: false, problems: [] },
        wanted.limit,
      );
      hasLooked = true;
    } catch (error) {
      // An outage is what it is for. But a wrong argument does not become right.
      if (!(error instanceof LockError) || (!hasLooked && error instanceof LockConfigurationError)) throw error;
      view.fail(lines.noAnswer(inShellWords(error.message, given)));
    }
    await sleep(pause, stop.signal);
  }
  return exitCode.ok;
}

/** One picture, drawn again and again. */
class Screen {
  readonly known: ReadonlySet<string> = new Set();
  private picture: readonly string[] = [];
  private drawnAt = 'the start';

  constructor(
    private readonly isOfOne: boolean,
    private readonly pause: number,
    private readonly paint: Paint,
  ) {}

  show({ locks, more, problems }: Looked, limit: number): void {
    this.drawnAt = new Date().toLocaleTimeString();
    const picture = this.isOfOne ? detailed(locks[0]!, this.paint) : listed(locks, this.paint);
    this.picture = [...(more ? [...problems, lines.more(limit)] : problems), ...picture];
    this.draw(this.paint.dim(`${this.drawnAt}, every ${this.pause} ms, Ctrl-C ends`));
  }

  fail(problem: string): void {
    this.draw(
      this.paint.red(`${new Date().toLocaleTimeString()} ${problem}`),
      this.paint.dim(`As at ${this.drawnAt}:`),
    );
  }

  private draw(...heading: readonly string[]): void {
    // 0 where no one has told the terminal its size.
    const rows = process.stdout.rows || Number.POSITIVE_INFINITY;
    print(redraw([...heading, ...this.picture].slice(0, rows - 1).join('\n')));
  }
}

/** A line for each change; what is wrong on standard error, when it begins. */
class Changes {
  /** What was printed last of each lock that is followed. */
  private readonly last = new Map<string, string>();
  private said = new Set<string>();
  private failure: string | undefined;

  constructor(
    private readonly name: string | undefined,
    private readonly wanted: Wanted,
    private readonly asJson: boolean,
  ) {}

  get known(): ReadonlySet<string> {
    return new Set(this.last.keys());
  }

  show({ locks, more, problems }: Looked, limit: number): void {
    if (this.failure !== undefined) say(lines.answer());
    this.failure = undefined;
    const all = more ? [...problems, lines.more(limit)] : problems;
    for (const problem of all) if (!this.said.has(problem)) say(problem);
    this.said = new Set(all);
    for (const lock of locks) {
      const picture = pictureOf(lock);
      if (this.last.get(lock.key) === picture) continue;
      this.last.set(lock.key, picture);
      print(this.asJson ? json({ at: new Date().toISOString(), ...lock }) : changeText(lock));
      if (this.name === undefined && (lock.kind === undefined || !this.wanted.shows(lock))) this.last.delete(lock.key);
    }
  }

  fail(problem: string): void {
    if (problem !== this.failure) say(problem);
    this.failure = problem;
  }
}

const pictureOf = ({ holders, waiters }: LockInfo): string =>
  json([
    holders.map(({ client, fencingToken, state }) => [client, fencingToken, state]),
    waiters.map(({ client, label, reachable }) => [client, label, reachable]),
  ]);

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
