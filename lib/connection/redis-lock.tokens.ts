import type { InjectionToken } from '@nestjs/common';
import { defaultConnection } from './connection.options.js';
import { LockConnection } from './lock.connection.js';
import { RedisLockService } from './redis-lock.service.js';

/**
 * The token of the `RedisLockService` of a connection, for `app.get`, `inject` and `overrideProvider`.
 * @param name as given to `RedisLockModule.forRoot({ name })`. Left out: the default connection, whose token is the class.
 */
export const getRedisLockToken = (name: string = defaultConnection): InjectionToken<RedisLockService> =>
  name === defaultConnection ? RedisLockService : `RedisLockService:${name}`;

/** The token of the connection that is injected into classes with decorated methods. */
export const connectionToken = (name: string): InjectionToken =>
  name === defaultConnection ? LockConnection : `RedisLockConnection:${name}`;

/** The token of a connection that a test provides to replace the module's own. */
export const standInToken = (name: string): string => `RedisLockStandIn:${name}`;
