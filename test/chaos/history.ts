/**
 * What happened in a run. Every process writes down what happens to it, line after line; the stage what its resources saw, and what it did
 * to Redis. Times are milliseconds of the machine's monotonic clock, which is one for all processes.
 *
 * A hold is one grant of one lock name to one caller, under a name that no other has.
 */
export type Happening =
  | Settled
  | Started
  | Touched
  | Ended
  | Wiped
  | {
      readonly event: 'fault';
      readonly at: number;
      readonly what: string;
      readonly phase: 'begins' | 'over' | 'skipped';
    }
  /** Whether a caller that had all the time in the world got the lock once all was well: 'granted', or the error's code. */
  | { readonly event: 'final'; readonly flow: string; readonly name: string; readonly outcome: string }
  | Exited
  /** What was there after everybody had left: keys that do not go by themselves, connections that are still open. */
  | { readonly event: 'left'; readonly keys: readonly string[]; readonly connections: number };

/** How many may hold a name at once: one, all readers, or as many as there are permits. */
export type Mode = 'exclusive' | 'shared' | { readonly limit: number; readonly permits: number };

/**
 * Time as a process lives it: how often it looked at its timers (every `beat` ms), and how often it found that it had stood still. It is
 * the time that promises count: a stopped process, or one without a processor, can receive nothing.
 */
export interface Lived {
  readonly beats: number;
  readonly stalls: number;
}

/** Milliseconds between two looks. */
export const beat = 20;

/** A call for one name or several was answered. */
export interface Settled {
  readonly event: 'settled';
  readonly call: string;
  readonly names: number;
  /** 'granted', 'aborted' by the caller's own signal, or the error's code. */
  readonly outcome: string;
  readonly wait: number;
  readonly lived: Lived;
}

export interface Started {
  readonly event: 'started';
  readonly hold: string;
  readonly name: string;
  readonly mode: Mode;
  readonly token: number;
  /** When the caller asked, and when it was answered. */
  readonly asked: number;
  readonly at: number;
}

/** The resources of a name were read or written, in the order in which they saw it. */
export interface Touched {
  readonly event: 'touched';
  readonly hold: string;
  readonly name: string;
  readonly mode: Mode;
  readonly kind: 'read' | 'write';
  readonly token: number;
  readonly sent: number;
  /** Until when the sender was certain to hold the lock, as it knew when it sent this; 0 when it knew that it did not. */
  readonly until: number;
  /** When the resources saw it. */
  readonly at: number;
  /** Whether the guarded resource took it: it looks at the token. The open one takes it unless `until` is 0: a holder that looks before it writes. */
  readonly accepted: boolean;
}

export interface Ended {
  readonly event: 'ended';
  readonly hold: string;
  /** When the holder saw last that it held the lock; 0 when it did not any more. */
  readonly heldAt: number;
  /** Reason of the loss, when there was one. */
  readonly lost?: string;
  /** Looks at the timers after the certain end of the lease and before the signal was aborted. */
  readonly lateBeats: number;
  /** From the call of `release()` until it settled. */
  readonly lived: Lived;
}

/** Redis has forgotten its locks, or one of them. */
export interface Wiped {
  readonly event: 'wiped';
  /** Only this lock. */
  readonly name?: string;
  readonly from: number;
  /** Redis' clock (µs since 1970) when it was over: tokens that were granted before are not larger. */
  readonly serverTime: number;
}

/** A process has ended: well, unless it was to be killed. */
interface Exited {
  readonly event: 'exited';
  readonly process: string;
  readonly code: number | null;
  /** Unhandled rejections, and all output. */
  readonly unhandled: readonly string[];
  /** Calls that were not answered even by the shutdown. */
  readonly open: readonly string[];
}
