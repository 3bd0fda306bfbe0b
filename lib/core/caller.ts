import type { LockAcquireContext } from '../diagnostics/channels.js';
import type { Clock } from './clock.js';
import { callerOf } from '../errors/describe.js';
import type { LinkedListMember } from './linked-list.js';
import type { FlowNode } from './lock-flow.js';
import type { LockHandle } from './lock-handle.js';
import { onAbort } from './on-abort.js';
import type { CallOptions } from './options.js';

/** A caller in a local queue. */
export class Caller implements LinkedListMember<Caller> {
  before: Caller | undefined;
  after: Caller | undefined;
  readonly calledAt: number;
  /** True when it counts as waiting: it stands behind another caller. */
  counted = false;
  /** Its position among all callers that ever joined the queue. */
  position = 0;
  /** How many replies its queue had when it joined, if one was due at that moment; else -1. */
  answersBefore = -1;
  private stopTimer: (() => void) | undefined;
  private stopListening: (() => void) | undefined;
  private watched = false;

  constructor(
    readonly options: CallOptions,
    private readonly clock: Clock,
    readonly settle: (lock: LockHandle) => void,
    readonly reject: (reason: unknown) => void,
    /** What subscribers see of this call; undefined when none wants to know. */
    readonly request: LockAcquireContext | undefined,
    /** The locks that it is inside of; undefined outside of all. */
    readonly around: FlowNode | undefined,
  ) {
    this.calledAt = options.calledAt ?? clock.now();
  }

  /** For messages: class and method, and the label of the call. */
  get name(): string | undefined {
    return callerOf(this.options.method, this.options.label);
  }

  get giveUpAt(): number {
    const { wait, tryFor = wait } = this.options;
    return this.calledAt + tryFor;
  }

  /** True when it waits, false when it makes one try. */
  get waits(): boolean {
    return this.options.wait > 0;
  }

  /**
   * Starts the timer, and listens to the caller's signal; a second call changes nothing. A lock that is free costs no timer.
   * @param longestTry ms after which one try ends; infinite for a try that settles with its own request
   */
  watch(longestTry: number, tooLate: () => void, aborted: (reason: unknown) => void): void {
    if (this.watched) return;
    this.watched = true;
    const { signal } = this.options;
    const end = this.waits ? this.giveUpAt : Math.max(this.giveUpAt, this.calledAt + longestTry);
    if (end !== Number.POSITIVE_INFINITY)
      this.stopTimer = this.clock.timer(Math.max(0, end - this.clock.now()), tooLate);
    if (signal) this.stopListening = onAbort(signal, () => aborted(signal.reason));
  }

  /** Stops timer and listener. */
  stop(): void {
    this.stopTimer?.();
    this.stopListening?.();
  }
}
