import type { LockLog } from 'nestjs-redis-lock/backend';

/** A log that keeps its lines. */
export class KeptLog implements LockLog {
  readonly lines: string[] = [];
  log(message: string): void {
    this.lines.push(`log ${message}`);
  }
  warn(message: string): void {
    this.lines.push(`warn ${message}`);
  }
  error(message: string): void {
    this.lines.push(`error ${message}`);
  }
}
