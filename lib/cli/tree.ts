import type { LockInfo, LockPartyInfo } from '../core/lock-info.js';
import { escaped } from '../core/describe.js';
import { type Arguments, noNames } from './arguments.js';
import { viewLines as texts } from './cli.messages.js';
import { observeAll } from './connect.js';
import { exitCode } from './exit-codes.js';
import { filterOf, look } from './list.js';
import { heldText, json, type Paint, paintFor, partyText, print, processText, say, time, tokenText } from './output.js';

/** A process that holds a lock for which others wait. */
interface Holding {
  readonly process: string;
  readonly lock: LockInfo;
}

export async function tree(given: Arguments): Promise<number> {
  noNames('tree', given);
  const wanted = filterOf(given, 10_000);
  await using connected = await observeAll('tree', given);
  const { locks, more, problems } = await look(connected.locks, wanted);
  problems.forEach(say);
  const graph = new WaitGraph(locks.filter(({ waiters }) => waiters.length > 0));
  if (given.options['json']) print(json(graph.picture()));
  else for (const line of graph.lines(paintFor(given.options))) print(line);
  if (more) say(texts.more(wanted.limit));
  return exitCode.ok;
}

/** Which processes wait for which, at about one moment. The flows of one process are not told apart. */
export class WaitGraph {
  private readonly texts = new Map<string, string>();
  /** By the process that holds. */
  private readonly held = new Map<string, LockInfo[]>();
  /** The processes that wait. */
  private readonly waiting = new Set<string>();

  /** @param contended locks with waiters */
  constructor(private readonly contended: readonly LockInfo[]) {
    for (const lock of contended) {
      for (const holder of lock.holders) {
        const id = this.idOf(holder);
        this.held.set(id, [...(this.held.get(id) ?? []), lock]);
      }
      for (const waiter of lock.waiters) this.waiting.add(this.idOf(waiter));
    }
  }

  /** A process with several connections is one. */
  private idOf(party: LockPartyInfo): string {
    const id = party.host === undefined ? party.client : processText(party);
    this.texts.set(id, processText(party));
    return id;
  }

  /** Each circle once: process, lock, process, and so on. */
  cycles(): string[][] {
    const found = new Map<string, string[]>();
    const visit = (process: string, path: readonly Holding[]): void => {
      const start = path.findIndex((step) => step.process === process);
      if (start >= 0) {
        const circle = path.slice(start);
        const key = circle
          .map((step) => `${step.process} ${step.lock.key}`)
          .sort()
          .join('\n');
        if (!found.has(key))
          found.set(
            key,
            circle.flatMap((step) => [step.process, step.lock.key]),
          );
        return;
      }
      if (done.has(process)) return;
      for (const lock of this.held.get(process) ?? [])
        for (const waiter of lock.waiters) {
          const id = this.idOf(waiter);
          // Callers of one process that wait for each other are its own business.
          if (id !== process) visit(id, [...path, { process, lock }]);
        }
      done.add(process);
    };
    const done = new Set<string>();
    for (const process of this.held.keys()) visit(process, []);
    return [...found.values()];
  }

  /** For programs. */
  picture(): object {
    const waits = this.contended.flatMap((lock) =>
      lock.waiters.map((waiter) => ({
        process: processText(waiter),
        method: waiter.method,
        label: waiter.label,
        waited: waiter.waited,
        lock: lock.key,
        holders: lock.holders.map((holder) => ({ ...holder, process: processText(holder) })),
      })),
    );
    return { waits, cycles: this.cycles() };
  }

  lines(paint: Paint): string[] {
    if (this.contended.length === 0) return ['No process waits for a lock.'];
    const cycles = this.cycles();
    const inCycles = new Set(cycles.flatMap((circle) => circle.filter((_, index) => index % 2 === 0)));
    const roots = [...this.held.keys()].filter((process) => !this.waiting.has(process));
    const lines: string[] = [];
    const shown = new Set<string>();
    const branch = (process: string, indent: string): void => {
      shown.add(process);
      for (const lock of this.held.get(process) ?? []) {
        const [holder] = lock.holders.filter((one) => this.idOf(one) === process);
        lines.push(`${indent}holds ${paint.bold(escaped(lock.key))}${heldText(holder!)}${tokenText(holder!)}`);
        for (const waiter of lock.waiters) {
          const id = this.idOf(waiter);
          const isAgain = id !== process && shown.has(id) && this.held.has(id);
          const mark = inCycles.has(id) && inCycles.has(process) ? paint.red(' (circle)') : '';
          lines.push(`${indent}  ${partyText(waiter)} waits for ${time(waiter.waited)}${mark}${isAgain ? ' …' : ''}`);
          if (!isAgain && id !== process) branch(id, `${indent}    `);
        }
      }
    };
    // Locks without a known holder hand over right now.
    for (const process of [...roots, ...inCycles, ...this.held.keys()]) {
      if (shown.has(process)) continue;
      lines.push(paint.bold(this.texts.get(process)!));
      branch(process, '  ');
    }
    for (const circle of cycles) {
      const steps = [...circle, circle[0]!].map(escaped).join(' → ');
      lines.push(
        paint.red(`Circle: ${steps}. A deadlock, if one flow of each process waits inside the lock that it holds.`),
      );
    }
    return lines;
  }
}
