import { Inject } from '@nestjs/common';
import { defaultConnection, serviceToken } from '../redis-lock.tokens.js';

/**
 * Injects the `RedisLockService` of a connection.
 * @param name as given to `RedisLockModule.forRoot({ name })`; left out: the default connection, which can be injected by class as well.
 */
export function InjectRedisLock(name: string = defaultConnection): PropertyDecorator & ParameterDecorator {
  return Inject(serviceToken(name));
}
