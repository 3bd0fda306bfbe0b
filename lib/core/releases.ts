import type { ClaimRef, LockBackend, ReleaseReply } from './lock-backend.js';
import type { Clock } from './clock.js';

interface OpenRelease extends ClaimRef {
  readonly lease: number;
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

  constructor(
    private readonly backend: LockBackend,
    private readonly clock: Clock,
  ) {}

  /**
   * Answers what the first sending did; `unanswered` when it failed and goes on beside.
   * @param lateUntil until when an unanswered `acquire` of this claim may still be executed; 0 when there is none
   */
  async release(claim: ClaimRef, lease: number, lateUntil: number): Promise<ReleaseReply | 'unanswered'> {
    const now = this.clock.now();
    const reply = await this.send(claim);
    if (reply === 'unanswered' || lateUntil > now) {
      const pointlessAt = Math.max(now, lateUntil) + Math.max(lease, 2 * this.backend.poll) + this.backend.commandTimeout;
      const dueAt = reply === 'unanswered' ? now + this.backend.commandTimeout * 2 : lateUntil;
      this.open.add({ name: claim.name, claim: claim.claim, lease, dueAt: Math.max(dueAt, lateUntil), pointlessAt });
      this.schedule();
    }
    return reply;
  }

  /** Calls can succeed again: everything open is sent now, whatever its time. */
  repeat(): void {
    for (const release of this.open) void this.again(release);
  }

  /** Settles when no release is under way any more. */
  async settled(): Promise<void> {
    if (this.underWay > 0) await new Promise<void>((resolve) => (this.idle = resolve));
  }

  stop(): void {
    this.open.clear();
    this.stopTimer?.();
  }

  private async again(release: OpenRelease): Promise<void> {
    const now = this.clock.now();
    if (now > release.pointlessAt) {
      this.open.delete(release);
      return;
    }
    const early = now < release.dueAt;
    release.dueAt = now + this.backend.commandTimeout * 2;
    const reply = await this.send(release);
    if (reply !== 'unanswered' && !early) this.open.delete(release);
    this.schedule();
  }

  private async send(claim: ClaimRef): Promise<ReleaseReply | 'unanswered'> {
    this.underWay++;
    try {
      return await this.backend.release(claim);
    } catch {
      return 'unanswered';
    } finally {
      this.underWay--;
      if (this.underWay === 0) this.idle?.();
    }
  }

  private schedule(): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    let next = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.open) next = Math.min(next, dueAt);
    if (next === Number.POSITIVE_INFINITY) return;
    this.stopTimer = this.clock.timer(Math.max(0, next - this.clock.now()), () => {
      const now = this.clock.now();
      for (const release of this.open) if (release.dueAt <= now) void this.again(release);
    });
  }
}
