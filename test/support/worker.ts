import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Where the global set-up puts what build-workers.mjs compiled. */
const BUILT_WORKERS = join(import.meta.dirname, '..', '..', 'dist', 'test-workers');

/** Ends the worker when its parent is gone, however it went. */
const END_WITH_PARENT = `data:text/javascript,process.on('disconnect',()=>process.exit(0));process.channel?.unref()`;

interface WorkerOptions {
  args?: string[];
  env?: Record<string, string>;
  execArgv?: string[];
  /** Sees every message, and keeps them from `message()`. */
  onMessage?: (message: unknown) => void;
}

/** A process of its own that runs test/support/workers/<name>.ts. Talk to it with messages, or kill it. */
export class Worker {
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** What it printed so far, stdout and stderr. */
  output = '';
  #messages: unknown[] = [];
  /** The callers that wait for a message: several may, each for its own. */
  #waiting: Array<() => void> = [];

  constructor(
    readonly process: ChildProcess,
    onMessage?: WorkerOptions['onMessage'],
  ) {
    this.exited = once(process, 'exit').then(([code, signal]) => {
      this.#wakeAll();
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
    process.on('message', (message) => {
      if (onMessage) return onMessage(message);
      this.#messages.push(message);
      this.#wakeAll();
    });
    for (const stream of [process.stdout, process.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => (this.output += chunk));
    }
  }

  get pid(): number {
    if (this.process.pid === undefined) throw new Error('the worker did not start');
    return this.process.pid;
  }

  /** The next message that `matches` accepts; earlier ones that it refuses stay for later calls. */
  async message<T>(matches: (message: unknown) => message is T): Promise<T>;
  async message<T = unknown>(): Promise<T>;
  async message(matches: (message: unknown) => boolean = () => true): Promise<unknown> {
    for (;;) {
      const index = this.#messages.findIndex((message) => matches(message));
      if (index >= 0) return this.#messages.splice(index, 1)[0];
      const { exitCode, signalCode } = this.process;
      if (exitCode !== null || signalCode !== null) {
        throw new Error(`the worker ended (${exitCode ?? signalCode}) without the message:\n${this.output}`);
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** To one that has ended: nothing. `exited` and `message()` tell of it. */
  send(message: object | string): void {
    if (this.process.connected) this.process.send(message, () => undefined);
  }

  pause(): void {
    this.process.kill('SIGSTOP');
  }

  resume(): void {
    this.process.kill('SIGCONT');
  }

  /** Ends it (default SIGKILL, no farewell) and waits until it is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.process.kill(signal);
    await this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** Forks test/support/workers/<name>.ts, compiled by the global set-up. Inherits REDIS_URL. */
export function forkWorker(
  name: string,
  { args = [], env = {}, execArgv = [], onMessage }: WorkerOptions = {},
): Worker {
  const child = fork(join(BUILT_WORKERS, `${name}.js`), args, {
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    execArgv: ['--import', END_WITH_PARENT, ...execArgv],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
  });
  return new Worker(child, onMessage);
}
