import {
  type Clock,
  Elections,
  type LocalElection,
  type Lock,
  type LockBackend,
  LockClient,
  lockDefaults,
  type LockHandle,
  type LockKey,
  type LockOptions,
  type LockScope,
  Operators,
  resolveOptions,
} from 'nestjs-redis-lock/backend';
import type { KeptLog } from './kept-log.js';

interface MemberSettings extends Partial<ConstructorParameters<typeof LockClient>[1]> {
  clock?: Clock;
}

/** Stands for one process: a client, and what a connection has around it. */
export class Member<B extends LockBackend = LockBackend> implements AsyncDisposable {
  readonly client: LockClient;
  readonly operators: Operators;
  private readonly elections: Elections;

  constructor(
    readonly backend: B,
    readonly log: KeptLog,
    { clock, ...settings }: MemberSettings = {},
  ) {
    const client = new LockClient(backend, { defaults: lockDefaults, maxWaiters: 10_000, ...settings }, log, clock);
    this.client = client;
    this.elections = new Elections({
      client,
      acquire: (name, options) => client.acquire(name, options),
      holder: (name) => this.operators.views.holder(name),
    });
    this.operators = new Operators(client, this.elections.byName);
  }

  /** On a very busy machine the first attempt may take too long; the client then retries by itself. */
  async start(): Promise<this> {
    await this.client.start().catch(async (error: { code: string }) => {
      if (error.code !== 'LOCK_UNAVAILABLE') throw error;
      while (!this.isAvailable) await new Promise((resolve) => setTimeout(resolve, 5));
    });
    return this;
  }

  /** More than half of its servers are. */
  private get isAvailable(): boolean {
    const servers = [...(this.backend.availability?.() ?? [])];
    return servers.filter(([, isAvailable]) => isAvailable).length * 2 > servers.length;
  }

  acquire(name: string, options?: LockOptions): Promise<LockHandle>;
  acquire(key: LockKey, options?: LockOptions): Promise<Lock>;
  acquire(key: LockKey, options: LockOptions = {}): Promise<Lock> {
    return this.client.acquire(key, resolveOptions(options, this.client.defaults));
  }

  enter(key: LockKey, options: LockOptions = {}): Promise<LockScope> {
    return this.client.enter(key, resolveOptions(options, this.client.defaults));
  }

  election(name: string): LocalElection {
    return this.elections.of(name);
  }

  /** @param timeout ms for the work inside locks */
  async close(timeout = 0): Promise<void> {
    this.elections.close();
    await this.client.shutdown(timeout);
    this.operators.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
