import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  type BackendCapabilities,
  Elections,
  type Fairness,
  type LocalElection,
  type Lock,
  type LockBackend,
  LockClient,
  lockDefaults,
  type LockKey,
  type LockOptions,
  type LockScope,
  Operators,
  type ResolvedLockOptions,
  resolveOptions,
} from 'nestjs-redis-lock/backend';
import { KeptLog } from './kept-log.js';
import type { ConformanceTarget } from './target.js';
import { realTime, type SuiteTime } from './time.js';
import type { TestFramework } from './test-framework.js';
import { WatchedBackend } from './watched-backend.js';

interface Settings {
  polling?: boolean;
  /** ms */
  poll?: number;
  maxWaiters?: number;
}

/** What a connection has around its client. */
export class Around {
  private readonly elections: Elections;
  readonly operators: Operators;

  constructor(private readonly client: LockClient) {
    this.elections = new Elections({
      client,
      acquire: (name, options) => client.acquire(name, options),
      holder: (name) => this.operators.views.holder(name),
    });
    this.operators = new Operators(client, this.elections.byName);
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
}

/** Stands for one process: a client, and the record of its calls to the backend. */
export class Member {
  readonly log = new KeptLog();
  readonly backend: WatchedBackend;
  readonly client: LockClient;
  private readonly around: Around;
  private readonly defaults: ResolvedLockOptions;

  constructor(backend: LockBackend, time: SuiteTime, fairness: Fairness, { maxWaiters = 10_000 }: Settings) {
    this.backend = new WatchedBackend(backend, time);
    this.defaults = { ...lockDefaults, fairness };
    this.client = new LockClient(this.backend, { defaults: this.defaults, maxWaiters }, this.log);
    this.around = new Around(this.client);
  }

  get operators(): Operators {
    return this.around.operators;
  }

  election(name: string): LocalElection {
    return this.around.election(name);
  }

  /** @param timeout ms for the work inside locks */
  close(timeout?: number): Promise<void> {
    return this.around.close(timeout);
  }

  acquire(key: LockKey, options: LockOptions = {}): Promise<Lock> {
    return this.client.acquire(key, resolveOptions(options, this.defaults));
  }

  enter(key: LockKey, options: LockOptions = {}): Promise<LockScope> {
    return this.client.enter(key, resolveOptions(options, this.defaults));
  }

  /** Starts to wait. Resolves when its claim is in the backend's queue, with the promise of the lock. */
  async queue(name: string, options: LockOptions = {}): Promise<{ lock: Promise<Lock> }> {
    const before = this.backend.waiting(name);
    const lock = this.acquire(name, options);
    lock.catch(() => undefined);
    await this.backend.until(() => this.backend.waiting(name) > before);
    return { lock };
  }
}

/** The tools of the guarantees of a client, on any backend. */
export class ClientBench {
  readonly describe: TestFramework['describe'];
  readonly it: TestFramework['it'];
  /** For guarantees that need the order of the queue. Skipped where the backend does not promise it. */
  readonly inOrder: TestFramework['it'];
  private target!: ConformanceTarget;
  private readonly members: Member[] = [];
  private readonly leaving: Array<Promise<void>> = [];

  constructor(
    open: () => Promise<ConformanceTarget>,
    { describe, it, beforeAll, afterEach, afterAll }: TestFramework,
    readonly capabilities: BackendCapabilities,
    /** Of callers that say nothing of it. */
    readonly fairness: Fairness,
  ) {
    this.describe = describe;
    this.it = (title, body) => it(title, () => this.time.until(body()));
    this.inOrder = capabilities.fifo ? this.it : () => undefined;
    beforeAll(async () => {
      this.target = await open();
    });
    afterEach(async () => {
      const ends: Array<Promise<void>> = [];
      // A client without its backend tries to release for up to `commandTimeout`. The next test need not wait for that.
      for (const member of this.members.splice(0)) (member.backend.isClosed ? this.leaving : ends).push(member.close());
      await this.time.until(Promise.all(ends));
    });
    afterAll(async () => {
      await this.time.until(Promise.all(this.leaving));
      await this.target.close();
    });
  }

  get time(): SuiteTime {
    return this.target.clock ?? realTime;
  }

  /** One more process. */
  readonly join = async (settings: Settings = {}): Promise<Member> => {
    const { polling = false, poll } = settings;
    const backend = this.target.backend(poll === undefined ? { polling } : { polling, poll });
    const member = new Member(backend, this.time, this.fairness, settings);
    this.members.push(member);
    // On a very busy machine the first attempt may take too long; the client then retries by itself.
    await member.client.start().catch(() => member.backend.until(() => member.backend.recoveries > 0));
    return member;
  };

  readonly unique = (): string => `conformance:${randomUUID()}`;
}

/** Resolves with the reason of the loss when the lock is lost. */
export async function aborted({ signal }: Lock): Promise<unknown> {
  if (!signal.aborted) await once(signal, 'abort');
  return signal.reason;
}
