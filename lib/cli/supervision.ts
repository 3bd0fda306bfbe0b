import { printable } from '../errors/describe.js';
import type { Lock } from '../core/lock.js';
import type { LockLostError } from '../errors/lock-errors.js';
import type { ChildGroup } from './child-group.js';
import { runLines as lines } from './cli.messages.js';
import { exitCode } from './exit-codes.js';
import { say } from './output.js';

/**
 * Ends a command with all its processes before its lock can be another's. The certain end of the lock is known at each moment: SIGTERM comes `grace`
 * before it, and SIGKILL while a fifth of `grace` is left.
 */
export class Supervision {
  private timer: NodeJS.Timeout | undefined;
  private killTimer: NodeJS.Timeout | undefined;
  private isLost = false;
  private readonly names: string;

  /** @param grace ms */
  constructor(
    private readonly lock: Lock,
    private readonly group: ChildGroup,
    private readonly grace: number,
    private readonly tell: (line: string) => void = say,
  ) {
    this.names = lock.keys.map(printable).join(', ');
  }

  /** Settles when no process of the command is left, with the exit code for all of it. */
  async end(): Promise<number> {
    const { lock, group } = this;
    lock.signal.addEventListener('abort', this.checkLease);
    this.checkLease();
    const code = await group.exited;
    // Work outside of the lock: what is left of the command would go on after the release. The lock is certain for longer than `grace`, or
    // it ends by `look`.
    if (!this.isLost && group.send('SIGTERM')) {
      this.tell(lines.leftovers());
      this.killIn(this.grace - this.margin);
    }
    const left = await group.gone();
    if (left.length > 0) this.tell(lines.undying(this.names, left.join(', ')));
    lock.signal.removeEventListener('abort', this.checkLease);
    clearTimeout(this.timer);
    clearTimeout(this.killTimer);
    return this.isLost ? exitCode.lost : code;
  }

  private get margin(): number {
    return this.grace / 5;
  }

  private readonly checkLease = (): void => {
    clearTimeout(this.timer);
    if (this.isLost) return;
    const left = this.lock.leaseLeft;
    // A renewal makes it later.
    if (left > this.grace) this.timer = setTimeout(this.checkLease, left - this.grace);
    else this.lose(left);
  };

  private lose(left: number): void {
    const { group, grace, margin } = this;
    this.isLost = true;
    clearTimeout(this.killTimer);
    const why = this.lock.signal.aborted ? (this.lock.signal.reason as LockLostError).reason : undefined;
    // Released by force, or forgotten by Redis: another holder may be at work already, and no time is better than another. But a lease that
    // has ended, as while this program stood still, leaves no time.
    const rest = why === 'revoked' ? grace - margin : left - margin;
    if (rest > 0) {
      group.send('SIGTERM');
      this.tell(lines.ending(this.names, Math.round(rest), why === undefined ? 'cannot be kept' : 'was lost'));
    }
    this.killIn(rest);
  }

  private killIn(milliseconds: number): void {
    const kill = (): void => {
      if (this.group.kill()) this.tell(lines.killing(this.names));
    };
    if (milliseconds > 0) this.killTimer = setTimeout(kill, milliseconds);
    else kill();
  }
}
