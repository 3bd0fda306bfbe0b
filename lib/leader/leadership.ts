import type { Duration } from '../core/duration.js';
import type { LockHolderInfo } from '../core/lock-info.js';

/** What a process has while it leads. */
export interface Leadership {
  /**
   * Aborts when the leadership ends, for any reason: a lost lock (a `LockLostError`), `resign()`, a candidate that is not fit any more, or
   * the shutdown (an AbortError). Reads the clock, as `Lock.signal` does: after a pause it is right before the first `await`.
   */
  readonly signal: AbortSignal;
  /** The fencing token of this leadership, larger than that of all earlier ones. Pass it with each write that the resource can check. */
  readonly epoch: number;
  /** Ends the leadership: the signal aborts, and when the function has settled, the next candidate leads. */
  resign(): void;
}

/** Options of `Election.campaign`. */
export interface CampaignOptions {
  /** Ends the campaign: the process leaves the line, or steps down. */
  signal?: AbortSignal | undefined;
  /**
   * False keeps this process from leading, such as while it is sick or draining. It is called before the process joins the line, each second
   * while it waits and leads, and at its election. On false the process leaves the line, or steps down. An error counts as false.
   * @default true
   */
  candidate?: (() => boolean) | undefined;
  /**
   * For how long the others wait after a crash of the leader. It is renewed after each third of it.
   * @default the module's `lease`
   */
  lease?: Duration | undefined;
  /** Called when this process was elected, after `isLeader` is true and before the function runs. Its errors are logged. */
  onElected?: ((leadership: Leadership) => unknown) | undefined;
  /** Called when the leadership ends, after `isLeader` is false and the signal has aborted. Its errors are logged. */
  onStepDown?: ((reason: unknown) => unknown) | undefined;
}

/** Options of `Election.observe`. */
export interface ObserveOptions {
  /** Ends the iteration. */
  signal?: AbortSignal | undefined;
  /**
   * How often Redis is asked. Changes in this process are seen at once.
   * @default '5s'
   */
  poll?: Duration | undefined;
}

/** One process of all leads: `RedisLockService.election(name)`. Its lock has the same name. */
export interface Election {
  readonly name: string;
  /** True while this process leads, and it is certain that no other one does. Reads the monotonic clock and sends no command. */
  readonly isLeader: boolean;
  /**
   * Who leads, of all processes: its `fencingToken` is the epoch, over a quorum at least the epoch. Undefined when none does. For people: never decide by it whether to work.
   * @throws LockUnavailableError when Redis does not answer.
   */
  leader(): Promise<LockHolderInfo | undefined>;
  /**
   * The leader now, and then each new one, as Redis is asked: `for await (const leader of election.observe())`. Undefined when there is none.
   * A change that is followed by another one in between is not seen. Ends with `return`, its signal, or the application.
   * @throws LockConfigurationError at once for a wrong option.
   */
  observe(options?: ObserveOptions): AsyncIterableIterator<LockHolderInfo | undefined>;
  /**
   * Waits until this process is elected, runs the function, and steps down when it has settled: the process leads for as long as the function
   * runs. Then it stands again, after a pause: 1 s at first, up to 30 s when terms are short. An error of the function is logged.
   * @returns a promise that resolves when the campaign is over: by its signal, or by the shutdown. It never rejects.
   * @throws LockConfigurationError at once for a wrong option, and when this process stands for the election already.
   */
  campaign(lead: (leadership: Leadership) => unknown, options?: CampaignOptions): Promise<void>;
}
