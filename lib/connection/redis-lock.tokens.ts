import { Inject } from '@nestjs/common';
import type { InjectionToken } from '@nestjs/common';
import { located } from '../errors/configuration.js';
import { type StandardContext, describeMethod, refuseUncalled } from '../nest/base/decorated-method.js';
import { placeRefusals as refusals } from '../nest/base/decorator.messages.js';
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

/**
 * Injects the `RedisLockService` of a connection.
 * @param name as given to `RedisLockModule.forRoot({ name })`. Left out: the default connection, which can be injected by its class, too.
 */
export function InjectRedisLock(name?: string): PropertyDecorator & ParameterDecorator;
export function InjectRedisLock(...given: [name?: string]): unknown {
  refuseUncalled('@InjectRedisLock', '@InjectRedisLock()', given);
  const [name] = given;
  return (target: object, property: string | symbol | StandardContext | undefined, place: unknown): void => {
    located(`@InjectRedisLock on ${describeMethod(Object(target) as object, property)}`, () => {
      if (name !== undefined && (typeof name !== 'string' || name === '')) throw refusals.noConnection('name', name);
      if (typeof property === 'object') throw refusals.standardDecorator();
      const { value, get, set } = Object(place) as PropertyDescriptor;
      const isClass = property === undefined && place === undefined;
      if (isClass || typeof value === 'function' || get || set) throw refusals.noInjection();
      Inject(getRedisLockToken(name))(target, property, place as number);
    });
  };
}
