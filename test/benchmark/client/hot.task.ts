import { setTimeout as sleep } from 'node:timers/promises';
import type { Lockable } from '../drivers/driver.js';
import { fileLedger, memoryLedger } from './ledger.js';
import { Samples } from './samples.js';

export interface HotSettings {
  readonly name: string;
  readonly waiters: number;
  /** Milliseconds inside the lock; 0: one turn of the microtask queue. */
  readonly inside: number;
  /** Milliseconds since 1970 at which all processes begin. */
  readonly startAt: number;
  /** Milliseconds for which is counted. */
  readonly time: number;
  /** Which of the processes this is, and the file that they share. */
  readonly process?: { readonly index: number; readonly ledger: string };
}

export interface HotResult {
  /** Of each waiter. */
  readonly acquisitions: Int32Array;
  readonly ownerChanges: number;
  /** Entries after the time was over, each by another one who still waited: they cost requests, and count in nothing else. */
  readonly latecomers: number;
  readonly processChanges: number;
  /** Attempts that ended in an error. */
  readonly failures: number;
  /** Milliseconds until each acquisition. */
  readonly waits: Float64Array;
  /** The longest of each waiter. */
  readonly longest: Float64Array;
  /** Updates written, and what the shared value says at the end (one process only). */
  readonly updates: number;
  readonly value: number;
  readonly seconds: number;
  readonly cpu: number;
}

const now = (): number => performance.timeOrigin + performance.now();

/** All callers take the same name, again and again. */
export async function hot(lockable: Lockable, settings: HotSettings): Promise<HotResult> {
  const { name, waiters, inside, startAt, time, process: shared } = settings;
  const place = shared?.index ?? 0;
  const ledger = shared ? fileLedger(shared.ledger) : memoryLedger();
  const acquisitions = new Int32Array(waiters);
  const longest = new Float64Array(waiters);
  const waits = new Samples();
  let [ownerChanges, processChanges, latecomers, failures, updates] = [0, 0, 0, 0, 0];

  await sleep(startAt - now());
  const cpu = process.cpuUsage();
  const start = performance.now();
  const end = start + time;

  const waiter = async (_: unknown, index: number) => {
    const owner = place * waiters + index;
    let asked = performance.now();
    const work = async () => {
      const got = performance.now();
      // A caller that gets the lock after the end only releases it.
      if (got >= end) {
        latecomers++;
        return;
      }
      const wait = got - asked;
      waits.add(wait);
      longest[index] = Math.max(longest[index]!, wait);
      acquisitions[index]!++;
      const [value, lastOwner, lastProcess] = ledger.read();
      if (lastOwner !== owner) ownerChanges++;
      if (lastProcess !== place) processChanges++;
      if (inside > 0) await sleep(inside);
      else await undefined;
      ledger.write(value! + 1, owner, place);
      updates++;
    };
    while (asked < end) {
      try {
        await lockable.run(name, work);
      } catch {
        failures++;
        longest[index] = Math.max(longest[index]!, performance.now() - asked);
        // A caller that failed may have failed at once: let the others have their turn.
        await sleep(0);
        if (performance.now() < end) continue;
      }
      asked = performance.now();
    }
  };
  await Promise.all(Array.from({ length: waiters }, waiter));
  const { user, system } = process.cpuUsage(cpu);
  const value = ledger.read()[0]!;
  ledger.close();
  return {
    ...{ acquisitions, ownerChanges, processChanges, latecomers, failures, updates, value },
    ...{ waits: waits.all, longest, seconds: time / 1000, cpu: user + system },
  };
}
