import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Driver } from '../drivers/driver.js';
import type { OpenTask, Tasks } from '../client/main.js';
import { onClientCore } from './cores.js';

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** A process in which one library is open. */
export class Client {
  private count = 0;
  private readonly open = new Map<number, (answer: Answer) => void>();
  private output = '';

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (answer: Answer) => {
      this.open.get(answer.id)?.(answer);
      this.open.delete(answer.id);
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => (this.output = (this.output + chunk).slice(-4096)));
    }
    child.once('exit', () => {
      for (const [id, settle] of this.open) settle({ id, error: `the client process ended:\n${this.output}` });
    });
  }

  /** @param options `anyCore`: beside Redis, too, as the scheduler has it */
  static async start(
    driver: Driver,
    url: string,
    { lease = 10_000, anyCore = false }: { lease?: number | undefined; anyCore?: boolean } = {},
  ): Promise<Client> {
    const client = new Client(
      fork(join(import.meta.dirname, '..', 'client', 'main.js'), {
        execArgv: ['--expose-gc', '--no-warnings'],
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        serialization: 'advanced',
      }),
    );
    const task: OpenTask = { driver: driver.name, home: driver.home, url, lease };
    await client.send('open', task);
    // Only now: loading may take what it finds.
    if (!anyCore) onClientCore(client.child.pid!);
    return client;
  }

  /** Rejects when the task does, or when the process ends. */
  do<T extends keyof Tasks>(task: T, settings: Parameters<Tasks[T]>[1]): Promise<Awaited<ReturnType<Tasks[T]>>> {
    return this.send(task, settings) as Promise<Awaited<ReturnType<Tasks[T]>>>;
  }

  /** As a crash: no farewell to Redis. */
  async kill(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  async close(): Promise<void> {
    // Nothing is measured any more, and a library that cannot end must not stop the rest.
    await Promise.race([
      this.send('close').catch(() => undefined),
      new Promise((resolve) => setTimeout(resolve, 1000)),
    ]);
    await this.kill();
  }

  private async send(task: string, settings?: unknown): Promise<unknown> {
    const id = this.count++;
    const answered = new Promise<Answer>((resolve) => this.open.set(id, resolve));
    this.child.send({ id, task, settings });
    const { error, result } = await answered;
    if (error !== undefined) throw new Error(`${task}: ${error}`);
    return result;
  }
}
