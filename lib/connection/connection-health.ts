import type { LockHealthReason } from '../core/health.js';
import type { LockClient } from '../core/lock-client.js';
import type { LockFinding, LockFindingCode } from '../core/lock-finding.js';
import type { LockLog } from '../core/lock-log.js';
import { refusals } from '../core/refusals.js';
import { LockConfigurationError } from '../errors/lock-errors.js';
import { healthLines } from './connection.messages.js';

/** What a health route shows beside the status. It contains no names of locks and no addresses: health routes are public. */
export interface LockHealthData {
  /** Why the status is not `up`. */
  readonly reasons: readonly LockHealthReason[];
  /** How many locks this process holds, and how many of its callers wait for one. */
  readonly held: number;
  readonly waiting: number;
  /** For how many ms the oldest of them has been held. Undefined when none is. */
  readonly oldestHold: number | undefined;
  /** Milliseconds since Redis has granted or renewed a lock. Undefined when it never has. */
  readonly lastAnswer: number | undefined;
  /** What the doctor found in the server's settings as the application started; remarks, too, which change no status. */
  readonly findings: readonly LockFindingCode[];
}

export interface LockHealth extends LockHealthData {
  readonly status: 'up' | 'degraded' | 'down';
}

/** What a connection says of its health. */
export class ConnectionHealth {
  /** What is known to be wrong with the server until the next start, without what the application ignores. */
  findings: readonly LockFinding[] = [];
  /** True when the log has the reason for which no lock is available. */
  private isTold = false;

  constructor(
    private readonly connection: string,
    private readonly client: LockClient,
    private readonly log: LockLog,
  ) {}

  /** @param check resolves when a lock is available. Undefined: the connection closes. */
  async report(check: (() => Promise<void>) | undefined): Promise<LockHealth> {
    const illness = check ? await this.examine(check) : refusals.shuttingDown();
    const { health, counts } = this.client;
    const reasons: LockHealthReason[] = illness ? [reasonOf(illness)] : [...health.problems()];
    if (this.findings.some(({ remark }) => !remark)) reasons.push('findings');
    return {
      status: illness ? 'down' : reasons.length > 0 ? 'degraded' : 'up',
      reasons,
      ...counts,
      oldestHold: rounded(health.oldestHold),
      lastAnswer: rounded(health.lastAnswer),
      findings: [...new Set(this.findings.map(({ code }) => code))],
    };
  }

  /** Writes the reason to the log, since no public answer has it: once, as it may be asked each second. */
  private async examine(check: () => Promise<void>): Promise<Error | undefined> {
    try {
      await check();
      this.isTold = false;
      return undefined;
    } catch (error) {
      const illness = error as Error;
      if (!this.isTold) this.log.warn(healthLines.ill(this.connection, illness.message));
      this.isTold = true;
      return illness;
    }
  }
}

const reasonOf = (illness: Error): LockHealthReason =>
  illness instanceof LockConfigurationError ? 'refused' : 'unavailable';

const rounded = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : Math.round(ms));
