import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const application = fileURLToPath(new URL('../src/main.js', import.meta.url));

export interface StartOptions {
  /** A module to load before the application. */
  readonly preload?: string;
  /** Gets what the process sends after its first message. */
  onMessage?(message: unknown): void;
}

/** One process of the application on a free port, with the end of its log at hand. */
export class SaleProcess implements AsyncDisposable {
  private readonly lines: string[] = [];

  private constructor(
    private readonly child: ChildProcess,
    private readonly stopTimeout = 5_000,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.lines.push(...text.split('\n').filter(Boolean));
        this.lines.splice(0, this.lines.length - 20);
      });
    }
  }

  url = '';

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Ends with it: the signal that killed it, or its exit code. */
  get ended(): Promise<string> {
    return once(this.child, 'exit').then(([code, signal]) => String(signal ?? code));
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  get log(): string {
    return this.lines.join('\n');
  }

  /** @throws Error with the log when the process ends before it serves. */
  static async start(env: NodeJS.ProcessEnv, { preload, onMessage }: StartOptions = {}): Promise<SaleProcess> {
    const child = fork(application, {
      env: { ...env, PORT: '0', NO_COLOR: '1' },
      execArgv: preload === undefined ? [] : ['--import', preload],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const process = new SaleProcess(child);
    process.url = await new Promise((resolve, reject) => {
      child.once('message', (ready: { url: string }) => resolve(ready.url));
      child.once('error', reject);
      child.once('exit', (code, signal) =>
        reject(new Error(`A process of the sale ended at its start (${signal ?? code}):\n${process.log}`)),
      );
    });
    if (onMessage) child.on('message', onMessage);
    return process;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const impatience = setTimeout(() => this.child.kill('SIGKILL'), this.stopTimeout);
    await exit;
    clearTimeout(impatience);
  }
}

/** Several of them; when one does not start, the others are stopped. */
export class SaleProcesses implements AsyncDisposable {
  private constructor(private readonly processes: readonly SaleProcess[]) {}

  static async start(count: number, env: NodeJS.ProcessEnv): Promise<SaleProcesses> {
    const starts = await Promise.allSettled(Array.from({ length: count }, () => SaleProcess.start(env)));
    const running = new SaleProcesses(starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : [])));
    const failure = starts.find((start) => start.status === 'rejected');
    if (!failure) return running;
    await running[Symbol.asyncDispose]();
    throw failure.reason;
  }

  get urls(): string[] {
    return this.processes.map(({ url }) => url);
  }

  get log(): string {
    return this.processes.map(({ pid, log }) => `--- process ${pid}\n${log}`).join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.processes.map((process) => process[Symbol.asyncDispose]()));
  }
}
