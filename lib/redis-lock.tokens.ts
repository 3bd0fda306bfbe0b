import type { InjectionToken } from '@nestjs/common';
import { LockConnection } from './redis-lock.connection.js';
import { RedisLockService } from './redis-lock.service.js';

/** The name of the connection that is meant where none is given. */
export const defaultConnection = 'default';

/** What `RedisLockService` is provided as: the class itself, or for a named connection a token of its own. */
export const serviceToken = (name: string): InjectionToken =>
  name === defaultConnection ? RedisLockService : `RedisLockService:${name}`;

/** What decorated methods are injected with. */
export const connectionToken = (name: string): InjectionToken =>
  name === defaultConnection ? LockConnection : `RedisLockConnection:${name}`;
