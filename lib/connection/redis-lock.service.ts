import { Injectable } from '@nestjs/common';
import { LockCalls } from './lock-calls.js';
import { LockConnection } from './lock.connection.js';

/** Takes locks by calls. `@DistributedLock` is for whole methods. */
@Injectable()
export class RedisLockService extends LockCalls {
  /** @internal */
  constructor(connection: LockConnection) {
    super(connection, 'RedisLockService');
  }
}
