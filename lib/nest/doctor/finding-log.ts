import type { LockFinding, LockFindingCode } from '../../diagnostics/lock-finding.js';
import type { LockLog } from '../../core/lock-log.js';
import { doctorLines } from './doctor.messages.js';

/** Codes to ignore, or all of them. */
export type IgnoredFindings = 'all' | readonly LockFindingCode[];

/** Most lines of one log: findings that name user input must not fill it. */
const mostLines = 100;

/** Writes findings to the log, each once, without those that the application ignores. */
export class FindingLog {
  /** The messages or subjects that were logged. */
  private readonly logged = new Set<string>();
  private lines = 0;

  constructor(
    private readonly log: LockLog,
    private readonly ignored: IgnoredFindings,
    /** Gets each finding that is written to the log. */
    private readonly onFinding?: (finding: LockFinding) => void,
  ) {}

  /** The findings that are new and not ignored. */
  pick(findings: readonly LockFinding[]): LockFinding[] {
    return findings.filter((finding) => this.isNews(finding, finding.message));
  }

  tell(findings: readonly LockFinding[]): void {
    for (const finding of findings) this.logOnce(finding.message, finding);
  }

  /** @param subject logged once, even if the messages about it differ */
  logOnce(subject: string, finding: LockFinding): void {
    if (this.lines > mostLines || !this.isNews(finding, subject)) return;
    const line = this.lines++ < mostLines ? lineOf(finding) : doctorLines.noMore(mostLines);
    this.onFinding?.(finding);
    if (finding.remark) this.log.log(line);
    else this.log.warn(line);
  }

  ignores({ code }: Pick<LockFinding, 'code'>): boolean {
    return this.ignored === 'all' || this.ignored.includes(code);
  }

  private isNews(finding: LockFinding, subject: string): boolean {
    if (this.ignores(finding) || this.logged.has(subject)) return false;
    this.logged.add(subject);
    return true;
  }
}

export const lineOf = ({ code, message }: LockFinding): string => `${message} [${code}]`;
