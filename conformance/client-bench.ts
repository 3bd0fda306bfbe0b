import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  type BackendCapabilities,
  type Fairness,
  type Lock,
  lockDefaults,
  type LockOptions,
} from 'nestjs-redis-lock/backend';
import { KeptLog } from './kept-log.js';
import { Member } from './member.js';
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

/** A member, and the record of its calls to the backend. */
export class WatchedMember extends Member<WatchedBackend> {
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
  private readonly members: WatchedMember[] = [];
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
  readonly join = async (settings: Settings = {}): Promise<WatchedMember> => {
    const { polling = false, poll, maxWaiters = 10_000 } = settings;
    const backend = this.target.backend(poll === undefined ? { polling } : { polling, poll });
    const defaults = { ...lockDefaults, fairness: this.fairness };
    const member = new WatchedMember(new WatchedBackend(backend, this.time), new KeptLog(), { defaults, maxWaiters });
    this.members.push(member);
    return member.start();
  };

  readonly unique = (): string => `conformance:${randomUUID()}`;
}

/** Resolves with the reason of the loss when the lock is lost. */
export async function aborted({ signal }: Lock): Promise<unknown> {
  if (!signal.aborted) await once(signal, 'abort');
  return signal.reason;
}
