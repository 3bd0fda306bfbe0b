import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const application = join(import.meta.dirname, '../../dist/sample/sample/src/main.js');

/** A process of the sample with the locked sale. */
export class SampleProcess implements AsyncDisposable {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(env: NodeJS.ProcessEnv): Promise<SampleProcess> {
    const all = { ...process.env, NODE_OPTIONS: '', DATABASE_URL: '', SALE_GUARD: 'lock', PORT: '0', ...env };
    const child = fork(application, { env: all, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const [ready] = (await once(child, 'message')) as [{ url: string }];
    return new SampleProcess(child, ready.url);
  }

  /** The first one makes the tables: two that make them at the same moment find the database locked. */
  static async fleet(count: number, env: NodeJS.ProcessEnv): Promise<SampleProcess[]> {
    const first = await SampleProcess.start(env);
    const others = Array.from({ length: count - 1 }, () => SampleProcess.start(env));
    return [first, ...(await Promise.all(others))];
  }

  async request(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(this.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Lets it end, as a deployment does: after its shutdown hooks it ends itself by the same signal. */
  async close(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exit;
  }

  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}
