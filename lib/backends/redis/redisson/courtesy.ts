import type { ClaimRef } from '../../../core/lock-backend.js';

/**
 * For so long (ms) a free lock is left to others. By the process that had it: without a queue its next claim would take the lock again in
 * the packet of the release, before any other process could ask. And by all processes here when Redisson waits for a lock that one of them
 * had: they ask sooner than a thread in Java, which would never have a turn beside several of them.
 */
const pause = 20;

/** For so long (ms) a process that has had its turn leaves a lock to others here, when Redisson has each second turn. */
const shortPause = 3;

/** For so long (ms) a process keeps its last turn in mind. */
const longestMemory = 1000;

/** How many contested holds are remembered: more do no harm, they are only less polite. */
const mostContested = 1000;

/** The last turn of this process at a lock for which others listened. */
interface Turn {
  /** New claims of this process ask from then on. 0 when the message of its release has come: then that message tells the time. */
  until: number;
  /** How many releases are left to others, its own included. */
  owed: number;
}

/** When this process leaves locks to others: in Redisson's format the first that asks after a release has the lock. */
export class Courtesy {
  /** Claims that hold a lock for which other processes listen, and how many releases are left to those. */
  private readonly contested = new Map<string, number>();
  /** By channel. */
  private readonly turns = new Map<string, Turn>();

  constructor(private readonly channelOf: (name: string) => string) {}

  /** A claim holds a lock for which others listen. */
  contend(id: string, owed = 1): void {
    this.contested.set(id, owed);
    // A hold that was handed over is not released here.
    const [oldest] = this.contested.keys();
    if (this.contested.size > mostContested) this.contested.delete(oldest!);
  }

  /** The claim lost its lock, or no other process listens any more. */
  forget(id: string): void {
    this.contested.delete(id);
  }

  /** Its turn ends when the claim held. */
  released({ name, id }: ClaimRef): void {
    const owed = this.contested.get(id);
    if (owed === undefined) return;
    this.contested.delete(id);
    const channel = this.channelOf(name);
    const turn = { until: performance.now() + pause, owed };
    this.turns.set(channel, turn);
    setTimeout(() => this.turns.get(channel) === turn && this.turns.delete(channel), longestMemory).unref();
  }

  /** Until when a new claim leaves the lock to others; undefined when it asks at once. */
  until(name: string): number | undefined {
    const until = this.turns.size > 0 ? (this.turns.get(this.channelOf(name))?.until ?? 0) : 0;
    return until > performance.now() ? until : undefined;
  }

  /** A lock was released. @param toRedisson true when all processes here leave it to Redisson @returns when the waiters here ask */
  asksAt(channel: string, toRedisson: boolean): number {
    const now = performance.now();
    const turn = this.turns.get(channel);
    if (turn && turn.until > now) {
      // The message of the own release: others hear it, too, and ask first.
      const { until } = turn;
      turn.until = 0;
      turn.owed--;
      return until;
    }
    if (toRedisson) return now + pause;
    if (!turn || turn.owed <= 0) return now;
    turn.owed--;
    return now + shortPause;
  }
}
