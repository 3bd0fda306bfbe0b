import { Injectable } from '@nestjs/common';
import { Locks } from './locks.js';
import { LockConnection } from './lock.connection.js';

/** Takes locks by calls. `@DistributedLock` is for whole methods. */
@Injectable()
export class RedisLockService extends Locks {
  /** @internal */
  constructor(connection: LockConnection) {
    super(connection, 'RedisLockService');
  }
}
