import type { LockFinding, LockFindingCode } from '../core/lock-finding.js';
import type { LockLog } from '../core/lock-log.js';

/** Codes that are of no interest, or all of them. */
export type IgnoredFindings = 'all' | readonly LockFindingCode[];

/** Tells findings, each once, but for those that the application ignores. */
export class FindingLog {
  private readonly told = new Set<string>();

  constructor(
    private readonly log: LockLog,
    private readonly ignored: IgnoredFindings,
  ) {}

  /** Those that are new and of interest. */
  pick(findings: readonly LockFinding[]): LockFinding[] {
    return findings.filter((finding) => {
      if (this.ignored === 'all' || this.ignored.includes(finding.code) || this.told.has(finding.message)) return false;
      this.told.add(finding.message);
      return true;
    });
  }

  tell(findings: readonly LockFinding[]): void {
    for (const finding of this.pick(findings)) this.log.warn(lineOf(finding));
  }
}

export const lineOf = ({ code, message }: LockFinding): string => `${message} [${code}]`;
