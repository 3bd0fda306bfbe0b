import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { BackendCapabilities, LockBackend } from '../../core/lock-backend.js';
import { LockClient } from '../../core/lock-client.js';
import type { LockKey } from '../../core/lock-key.js';
import type { LockLog } from '../../core/lock-log.js';
import type { LockScope } from '../../core/lock-scope.js';
import type { Lock } from '../../core/lock.js';
import { type LockOptions, lockDefaults, resolveOptions } from '../../core/options.js';
import type { LockPlace } from './lock-place.js';
import type { TestFramework } from './test-framework.js';
import { WatchedBackend } from './watched-backend.js';

interface Settings {
  deaf?: boolean;
  maxWaiters?: number;
  maxLocalHandoffs: number;
}

/** A log that keeps what it is told. */
class KeptLog implements LockLog {
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

/** One process, so to speak: a client, and what it asks of its backend. */
export class Member {
  readonly log = new KeptLog();
  readonly backend: WatchedBackend;
  readonly client: LockClient;

  constructor(backend: LockBackend, { maxWaiters = 10_000, maxLocalHandoffs }: Settings) {
    this.backend = new WatchedBackend(backend);
    this.client = new LockClient(this.backend, { defaults: lockDefaults, maxWaiters, maxLocalHandoffs }, this.log);
  }

  acquire(key: LockKey, options: LockOptions = {}): Promise<Lock> {
    return this.client.acquire(key, resolveOptions(options, lockDefaults));
  }

  enter(key: LockKey, options: LockOptions = {}): Promise<LockScope> {
    return this.client.enter(key, resolveOptions(options, lockDefaults));
  }

  /** Waits, and returns when its claim stands in the backend's queue; the answer is the lock to come. */
  async queue(name: string, options: LockOptions = {}): Promise<{ lock: Promise<Lock> }> {
    const before = this.backend.waiting(name);
    const lock = this.acquire(name, options);
    lock.catch(() => undefined);
    await this.backend.until(() => this.backend.waiting(name) > before);
    return { lock };
  }
}

/** What the guarantees of a client are tested with, on any backend. */
export class ClientBench {
  readonly describe: TestFramework['describe'];
  readonly it: TestFramework['it'];
  /** For what rests on the order of the queue: left out where the backend does not promise it. */
  readonly inOrder: TestFramework['it'];
  private place!: LockPlace;
  private readonly members: Member[] = [];

  constructor(
    open: () => Promise<LockPlace>,
    { describe, it, beforeAll, afterEach, afterAll }: TestFramework,
    readonly capabilities: BackendCapabilities,
    readonly maxLocalHandoffs: number,
  ) {
    this.describe = describe;
    this.it = it;
    this.inOrder = capabilities.fifo ? it : () => undefined;
    beforeAll(async () => {
      this.place = await open();
    });
    afterEach(async () => {
      await Promise.all(this.members.splice(0).map(({ client }) => client.shutdown(0)));
    });
    afterAll(() => this.place.close());
  }

  /** One more process. */
  readonly join = async (settings: Partial<Settings> = {}): Promise<Member> => {
    const { deaf = false } = settings;
    const { maxLocalHandoffs } = this;
    const member = new Member(this.place.backend({ deaf }), { maxLocalHandoffs, ...settings });
    this.members.push(member);
    // On a very busy machine the first attempt may take too long; it goes on by itself.
    await member.client.start().catch(() => member.backend.until(() => member.backend.recoveries > 0));
    return member;
  };

  readonly unique = (): string => `conformance:${randomUUID()}`;
}

/** Why the lock was lost, once it is. */
export async function aborted({ signal }: Lock): Promise<unknown> {
  if (!signal.aborted) await once(signal, 'abort');
  return signal.reason;
}
