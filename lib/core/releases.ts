import { LockConfigurationError } from '../errors/lock-errors.js';
import type { LockBackend, ReleaseReply, ReleaseRequest } from './lock-backend.js';
import type { Clock } from './clock.js';
import type { LockLog } from './lock-log.js';

interface OpenRelease extends ReleaseRequest {
  /** When to send it, first or again. */
  dueAt: number;
  /** After this the record at the backend has expired. */
  readonly pointlessAt: number;
  /** True when it is repeated only because a late request may have come after it. */
  answered: boolean;
}

/**
 * Releases claims, for certain: a release is repeated until it has a reply. It is sent once more when an `acquire` of the same claim had no
 * reply and may have run after it. Replies to repetitions are ignored.
 * https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/inside/protocol.md#late-commands
 */
export class Releases {
  private readonly open = new Set<OpenRelease>();
  private underWay = 0;
  private stopTimer: (() => void) | undefined;
  private idle: (() => void) | undefined;
  private stopped = false;

  constructor(
    private readonly backend: LockBackend,
    private readonly clock: Clock,
    private readonly log: LockLog,
  ) {}

  /**
   * Resolves to the reply to the first sending; `unanswered` when it failed and is repeated in the background.
   * @param lateUntil until when an unanswered `acquire` of this claim may still be executed; 0 when there is none
   */
  release(claim: ReleaseRequest, lease: number, lateUntil: number): Promise<ReleaseReply | 'unanswered'> {
    const late = lateUntil > 0 && lateUntil > this.clock.now();
    const done = (reply: ReleaseReply | 'unanswered'): void => {
      if (late || reply === 'unanswered') this.keep(claim, lease, reply, Math.max(this.clock.now(), lateUntil));
    };
    return this.send(claim, done, this.refused);
  }

  /** The backend reports an outage itself. A release that is refused for good would end by its lease each time, unnoticed. */
  private readonly refused = (error: unknown): void => {
    if (error instanceof LockConfigurationError) this.log.error(error.message);
  };

  /** Calls can succeed again: all open releases are sent now, before their time. */
  repeat(): void {
    for (const release of this.open) this.again(release);
  }

  /**
   * Settles when each release has a reply, or when none is under way any more and the others had time for one more try.
   * @param patience that time in ms
   */
  async settled(patience: number): Promise<void> {
    const isOwed = (): boolean => [...this.open].some(({ answered }) => !answered);
    let patient = patience > 0;
    const stopTimer = this.clock.timer(patience, () => {
      patient = false;
      this.idle?.();
    });
    while (this.underWay > 0 || (patient && isOwed())) await new Promise<void>((resolve) => (this.idle = resolve));
    stopTimer();
  }

  /** From now on a release is sent once; without a reply, the lock ends with its lease. */
  stop(): void {
    this.stopped = true;
    this.open.clear();
    this.stopTimer?.();
  }

  private keep(claim: ReleaseRequest, lease: number, reply: ReleaseReply | 'unanswered', from: number): void {
    if (this.stopped) return;
    const pause = reply === 'unanswered' ? 2 * this.backend.commandTimeout : 0;
    const pointlessAt = from + Math.max(lease, 2 * this.backend.poll) + this.backend.commandTimeout;
    this.open.add({
      name: claim.name,
      id: claim.id,
      keepUntil: claim.keepUntil,
      dueAt: from + pause,
      pointlessAt,
      answered: reply !== 'unanswered',
    });
    this.schedule();
  }

  private again(release: OpenRelease): void {
    const now = this.clock.now();
    const early = now < release.dueAt;
    if (now > release.pointlessAt) {
      this.open.delete(release);
      this.schedule();
      return;
    }
    if (!early) release.dueAt = now + 2 * this.backend.commandTimeout;
    void this.send(release, (reply) => {
      release.answered ||= reply !== 'unanswered';
      // Before its time the late request may still be under way: once more then.
      if (reply !== 'unanswered' && !early) this.open.delete(release);
      this.schedule();
    });
  }

  private send(
    claim: ReleaseRequest,
    done: (reply: ReleaseReply | 'unanswered') => void,
    refused?: (error: unknown) => void,
  ): Promise<ReleaseReply | 'unanswered'> {
    this.underWay++;
    const ended = <R extends ReleaseReply | 'unanswered'>(reply: R): R => {
      done(reply);
      if (--this.underWay === 0) this.idle?.();
      return reply;
    };
    return this.backend.release(claim).then(ended, (error: unknown) => {
      refused?.(error);
      return ended('unanswered');
    });
  }

  private schedule(): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    let next = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.open) next = Math.min(next, dueAt);
    if (next === Number.POSITIVE_INFINITY) return;
    this.stopTimer = this.clock.timer(Math.max(0, next - this.clock.now()), () => {
      this.stopTimer = undefined;
      const now = this.clock.now();
      for (const release of this.open) if (release.dueAt <= now) this.again(release);
      this.schedule();
    });
  }
}
