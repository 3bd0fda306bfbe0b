import type { Clock } from '../../core/clock.js';

/**
 * The process of one client, which tests can stop. Its clock is that of the server. While it is stopped no timer of it runs, and what arrives
 * waits in its sockets. When it continues, all of that runs in the order in which it came.
 */
export class ClientProcess implements Clock {
  private state: 'running' | 'stopped' | 'dead' = 'running';
  /** What could not run yet. */
  private readonly late = new Set<{ readonly fn: () => void }>();

  constructor(private readonly clock: Clock) {}

  now(): number {
    return this.clock.now();
  }

  timer(delay: number, fn: () => void, isBackground?: boolean): () => void {
    const entry = { fn };
    const stop = this.clock.timer(delay, () => this.run(entry), isBackground);
    return () => {
      stop();
      this.late.delete(entry);
    };
  }

  /** True while something that arrives now has to wait. */
  get isBehind(): boolean {
    return this.state !== 'running' || this.late.size > 0;
  }

  /** Something has arrived: runs now, or when the process continues. */
  run(entry: { readonly fn: () => void }): void {
    if (!this.isBehind) entry.fn();
    else if (this.state !== 'dead') this.late.add(entry);
  }

  /** Settles when the process runs. */
  running(): Promise<void> {
    return new Promise((fn) => this.run({ fn }));
  }

  stop(): void {
    if (this.state === 'running') this.state = 'stopped';
  }

  continue(): void {
    if (this.state !== 'stopped') return;
    this.state = 'running';
    this.clock.timer(0, () => this.catchUp());
  }

  kill(): void {
    this.state = 'dead';
    this.late.clear();
  }

  /** One at a time: what follows from the first settles before the second runs. */
  private catchUp(): void {
    const [first] = this.late;
    if (!first || this.state !== 'running') return;
    this.late.delete(first);
    this.clock.timer(0, () => this.catchUp());
    first.fn();
  }
}
