import type { ClaimRef } from '../../../core/lock-backend.js';

/**
 * How long (ms) a process does not ask for a lock that it has released while others waited. Redisson's format has no queue: the next claim of
 * the process would take the lock again in the packet of the release, before another process could ask. While a thread in Java waits, all
 * processes of this library pause: each of them asks sooner than Java, which would never have a turn.
 */
const pause = 20;

/** The same after a release of another process, while Redisson has each second turn: the others go to processes here that have had none. */
const shortPause = 3;

/** How long (ms) a process remembers its last turn. */
const longestMemory = 1000;

/** How many contested holds are remembered. Beyond that, a process asks again without a pause. */
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
