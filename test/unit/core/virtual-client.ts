import type { MultiLock } from '../../../lib/core/multi-lock.js';
import { type LockOptions, lockDefaults, resolveOptions } from '../../../lib/core/options.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { Member } from '../../../conformance/member.js';
import { ScriptedBackend } from '../../support/scripted-backend.js';
import { EarlyClock } from '../../support/virtual-clock.js';

/** A client in virtual time, on a backend that does what the test says. */
export class VirtualClient extends Member<ScriptedBackend> {
  constructor(
    { maxWaiters = 1000, lease = lockDefaults.lease } = {},
    readonly clock = new EarlyClock(),
  ) {
    super(new ScriptedBackend(clock), new KeptLog(), { defaults: { ...lockDefaults, lease }, maxWaiters, clock });
    this.operators.start(false);
    void this.client.start();
  }

  acquireAll(names: readonly string[], options: LockOptions = {}): Promise<MultiLock> {
    return this.client.acquire(names, resolveOptions(options, lockDefaults));
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
