import type { AdoptOptions, LockOptions } from 'nestjs-redis-lock/backend';
import { forkWorker, type Worker } from '../../support/worker.js';

export interface LockState {
  readonly isHeld: boolean;
  readonly aborted: boolean;
  readonly code?: string;
  readonly reason?: string;
  readonly token: number;
}

export interface LockProcessOptions {
  redis: string;
  /** Whether its client is one of ioredis 5. */
  ioredis5?: boolean;
  /** Servers of a quorum on which the locks live instead. */
  nodes?: string[];
  /** Ports of a Redis Cluster on which the locks live instead. */
  cluster?: number[];
  commandTimeout?: number;
  poll?: number;
  stallLimit?: number;
  env?: Record<string, string>;
}

interface Granted {
  readonly token: number;
  readonly claim: string;
}

/** Another process with a lock client of its own: test/support/workers/locker.ts. Kill it, stop it, or end it well. */
export class LockProcess {
  #calls = 0;

  private constructor(readonly worker: Worker) {}

  static async start({ env = {}, ...configuration }: LockProcessOptions): Promise<LockProcess> {
    const worker = forkWorker('locker', { env: { LOCKER: JSON.stringify(configuration), ...env } });
    const started = new LockProcess(worker);
    await started.event('ready');
    await started.call('start');
    return started;
  }

  acquire(as: string, name: string, options: LockOptions = {}): Promise<Granted> {
    return this.call<Granted>('acquire', { as, name, options });
  }

  state(as: string): Promise<LockState> {
    return this.call<LockState>('state', { as });
  }

  release(as: string): Promise<void> {
    return this.call('release', { as });
  }

  export(as: string): Promise<string> {
    return this.call<string>('export', { as });
  }

  adopt(as: string, ticket: string, options: AdoptOptions = {}): Promise<{ token: number }> {
    return this.call<{ token: number }>('adopt', { as, ticket, options });
  }

  /** The next event that the process reported by itself. */
  event<T extends object>(event: string): Promise<T> {
    return this.worker.message((message): message is T => (message as { event?: string }).event === event);
  }

  async call<T = void>(method: string, args: object = {}): Promise<T> {
    const id = (this.#calls += 1);
    this.worker.send({ id, method, args });
    const reply = await this.worker.message(
      (message): message is { id: number; result: T; error?: object } => (message as { id?: number }).id === id,
    );
    if (reply.error) throw Object.assign(new Error('in the worker'), reply.error);
    return reply.result;
  }

  /** Shuts the client down and waits for the process to end by itself: nothing may keep it (I4). */
  async end(timeout = 0): Promise<{ code: number | null; unhandled: string[] }> {
    const { unhandled } = await this.call<{ unhandled: string[] }>('shutdown', { timeout });
    const { code } = await this.worker.exited;
    return { code, unhandled };
  }

  kill(): Promise<void> {
    return this.worker.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
