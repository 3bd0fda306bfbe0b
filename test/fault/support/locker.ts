import {
  LockClient,
  lockDefaults,
  type LockHandle,
  type LockOptions,
  type Operators,
  resolveOptions,
} from 'nestjs-redis-lock/backend';
import {
  ClusterBackend,
  RedisBackend,
  type RedisBackendOptions,
  type RedisClusterOptions,
} from '../../support/backends.js';
import { Around } from '../../../conformance/client-bench.js';

/** The tests run twice: with local hand-off, and (jest project `fault-strict`) without. */
const fairness = process.env.LOCK_FAIRNESS === 'strict' ? 'strict' : 'handoff';

/** Where its locks live. */
export type LockerPlace = RedisBackendOptions['redis'] | RedisClusterOptions;

export type LockerOptions = Partial<Omit<RedisBackendOptions, 'log'>>;

/** One lock client in the test's own process. By default it polls once a minute, so that a caller gets a lock only by a
 * message or by the end of a lease. Time-outs are generous unless the test is about them: this machine may be busy.
 */
export class Locker {
  readonly backend: RedisBackend | ClusterBackend;
  readonly client: LockClient;
  readonly around: Around;
  /** The lines of the log. */
  readonly log: string[] = [];

  constructor(place: LockerPlace, options: LockerOptions = {}) {
    const tell = (message: string): void => void this.log.push(message);
    const log = { log: tell, warn: tell, error: tell };
    const settings = { commandTimeout: 2000, poll: 60_000, ...options, log } as const;
    this.backend =
      typeof place === 'object' && 'nodes' in place && Array.isArray(place.nodes)
        ? new ClusterBackend({ ...settings, cluster: place })
        : new RedisBackend({ ...settings, redis: place as RedisBackendOptions['redis'] });
    this.client = new LockClient(this.backend, { defaults: { ...lockDefaults, fairness }, maxWaiters: 10_000 }, log);
    this.around = new Around(this.client);
  }

  static async to(place: LockerPlace, options?: LockerOptions): Promise<Locker> {
    const locker = new Locker(place, options);
    await locker.client.start();
    return locker;
  }

  get operators(): Operators {
    return this.around.operators;
  }

  acquire(name: string, options?: LockOptions): Promise<LockHandle> {
    return this.client.acquire(name, resolveOptions(options, this.client.defaults));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.around.close();
  }
}

let names = 0;

/** A lock name that no other test uses. */
export const uniqueName = (): string => `fault:${process.pid}:${++names}`;
