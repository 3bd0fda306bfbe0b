import { lockDefaults } from 'nestjs-redis-lock/backend';
import {
  ClusterBackend,
  RedisBackend,
  type RedisBackendOptions,
  type RedisClusterOptions,
} from '../../support/backends.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { Member } from '../../../conformance/member.js';

/** The tests run twice: with local hand-off, and (jest project `fault-strict`) without. */
const fairness = process.env.LOCK_FAIRNESS === 'strict' ? 'strict' : 'handoff';

/** Where its locks live. */
type LockerPlace = RedisBackendOptions['redis'] | RedisClusterOptions;

type LockerOptions = Partial<Omit<RedisBackendOptions, 'log'>>;

/** One lock client in the test's own process. By default it polls once a minute, so that a caller gets a lock only by a
 * message or by the end of a lease. Time-outs are generous unless the test is about them: this machine may be busy.
 */
export class Locker extends Member<RedisBackend | ClusterBackend> {
  constructor(place: LockerPlace, options: LockerOptions = {}) {
    const log = new KeptLog();
    const settings = { commandTimeout: 2000, poll: 60_000, ...options, log } as const;
    const backend =
      typeof place === 'object' && 'nodes' in place && Array.isArray(place.nodes)
        ? new ClusterBackend({ ...settings, cluster: place })
        : new RedisBackend({ ...settings, redis: place as RedisBackendOptions['redis'] });
    super(backend, log, { defaults: { ...lockDefaults, fairness } });
  }

  static to(place: LockerPlace, options?: LockerOptions): Promise<Locker> {
    return new Locker(place, options).start();
  }
}

let names = 0;

/** A lock name that no other test uses. */
export const uniqueName = (): string => `fault:${process.pid}:${++names}`;
