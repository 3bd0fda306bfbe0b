import { LockClient } from '../../../lib/core/lock-client.js';
import type { LockHandle } from '../../../lib/core/lock-handle.js';
import type { LockKey } from '../../../lib/core/lock-key.js';
import type { LockScope } from '../../../lib/core/lock.js';
import type { MultiLock } from '../../../lib/core/multi-lock.js';
import { type LockOptions, lockDefaults, resolveOptions } from '../../../lib/core/options.js';
import type { LocalElection } from '../../../lib/leader/election.js';
import type { Operators } from '../../../lib/operators/operators.js';
import { Around } from '../../../conformance/client-bench.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { ScriptedBackend } from '../../support/scripted-backend.js';
import { EarlyClock } from '../../support/virtual-clock.js';

/** A client in virtual time, on a backend that does what the test says. */
export class VirtualClient {
  readonly clock = new EarlyClock();
  readonly backend = new ScriptedBackend(this.clock);
  readonly log = new KeptLog();
  readonly client: LockClient;
  private readonly around: Around;

  constructor({ maxWaiters = 1000, lease = lockDefaults.lease } = {}) {
    const settings = { defaults: { ...lockDefaults, lease }, maxWaiters };
    this.client = new LockClient(this.backend, settings, this.log, this.clock);
    this.around = new Around(this.client);
    this.operators.start(false);
    void this.client.start();
  }

  get operators(): Operators {
    return this.around.operators;
  }

  election(name: string): LocalElection {
    return this.around.election(name);
  }

  close(): Promise<void> {
    return this.around.close();
  }

  acquire(name: string, options: LockOptions = {}): Promise<LockHandle> {
    return this.client.acquire(name, resolveOptions(options, lockDefaults));
  }

  acquireAll(names: readonly string[], options: LockOptions = {}): Promise<MultiLock> {
    return this.client.acquire(names, resolveOptions(options, lockDefaults));
  }

  enter(key: LockKey, options: LockOptions = {}): Promise<LockScope> {
    return this.client.enter(key, resolveOptions(options, lockDefaults));
  }

  /** From now on the backend replies 'wait', with an askAt in 5 s. */
  letWait(): void {
    this.backend.onAcquire = () => ({ status: 'queued', askAt: this.clock.now() + 5_000 });
  }

  /** A message that the lock was granted to this claim (default: the last one that asked). */
  push({ claim = this.backend.acquired.at(-1)!, lease = 3_000, bounded = true, token = 9_000_000 } = {}): void {
    const validUntil = bounded ? this.clock.now() + lease : undefined;
    const { name, id } = claim;
    this.backend.events.granted({ name, id, fencingToken: token, tokensUntil: token, validUntil });
  }
}

/** The state of a promise so far. */
export function watch(promise: Promise<unknown>): { state: 'pending' | 'resolved' | 'rejected'; reason?: unknown } {
  const seen: ReturnType<typeof watch> = { state: 'pending' };
  promise.then(
    () => (seen.state = 'resolved'),
    (reason: unknown) => Object.assign(seen, { state: 'rejected', reason }),
  );
  return seen;
}
