import type { Clock } from '../../core/clock.js';
import type { ActivityReport, ActivityReports } from '../../core/lock-backend.js';

interface Kept extends ActivityReport {
  readonly at: number;
}

/** What processes tell of their locks, in place of the hash in Redis (../redis/scripts/activity.lua). */
export class ActivityTable {
  /** By process. */
  private readonly kept = new Map<string, Kept>();

  constructor(private readonly clock: Clock) {}

  keep(report: ActivityReport): void {
    this.kept.set(report.process, { ...report, at: this.clock.now() });
    this.dropOutdated();
  }

  first(most: number): ActivityReports {
    this.dropOutdated();
    const now = this.clock.now();
    const reports = [...this.kept.values()]
      .sort((one, other) => other.rank - one.rank)
      .slice(0, most)
      .map(({ process, text, at }) => ({ process, text, age: now - at }));
    return { total: this.kept.size, reports };
  }

  private dropOutdated(): void {
    const now = this.clock.now();
    for (const [process, { at, lasts }] of this.kept) if (now >= at + lasts) this.kept.delete(process);
  }
}
