import { LockConfigurationError } from '../errors/lock-errors.js';
import type { LockBackend, ReleaseReply, ReleaseRequest } from './lock-backend.js';
import type { Clock } from './clock.js';
import type { LockLog } from './lock-log.js';

interface OpenRelease extends ReleaseRequest {
  /** When to send it (again). */
  dueAt: number;
  /** After this the backend has forgotten the claim by itself. */
  readonly pointlessAt: number;
}

/**
 * Gives claims up, for certain: a release is repeated until it was answered, and sent once more when an `acquire` of the
 * same claim went unanswered and may have run after it (protocol.md, Late commands). What an answer to a repetition says is no news.
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
   * Answers what the first sending did; `unanswered` when it failed and goes on beside.
   * @param lateUntil until when an unanswered `acquire` of this claim may still be executed; 0 when there is none
   */
  release(claim: ReleaseRequest, lease: number, lateUntil: number): Promise<ReleaseReply | 'unanswered'> {
    const late = lateUntil > 0 && lateUntil > this.clock.now();
    return this.send(claim, (reply, error) => {
      if (late || reply === 'unanswered') this.keep(claim, lease, reply, Math.max(this.clock.now(), lateUntil));
      // An outage is told by the backend. What is refused for good would end by its lease each time, and nobody would know why.
      if (error instanceof LockConfigurationError) this.log.error(error.message);
    });
  }

  /** Calls can succeed again: everything open is sent now, whatever its time. */
  repeat(): void {
    for (const release of this.open) this.again(release);
  }

  /** Settles when no release is under way any more. */
  async settled(): Promise<void> {
    if (this.underWay > 0) await new Promise<void>((resolve) => (this.idle = resolve));
  }

  /** From now on a release is sent once; what is not answered ends with its lease. */
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
      claim: claim.claim,
      keepUntil: claim.keepUntil,
      dueAt: from + pause,
      pointlessAt,
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
      // Before its time the late question may still be under way: once more then.
      if (reply !== 'unanswered' && !early) this.open.delete(release);
      this.schedule();
    });
  }

  private send(
    claim: ReleaseRequest,
    done: (reply: ReleaseReply | 'unanswered', error?: unknown) => void,
  ): Promise<ReleaseReply | 'unanswered'> {
    this.underWay++;
    const ended = <R extends ReleaseReply | 'unanswered'>(reply: R, error?: unknown): R => {
      done(reply, error);
      if (--this.underWay === 0) this.idle?.();
      return reply;
    };
    return this.backend.release(claim).then(ended, (error: unknown) => ended('unanswered', error));
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
