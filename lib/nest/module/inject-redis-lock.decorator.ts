import { Inject } from '@nestjs/common';
import { getRedisLockToken } from '../../connection/redis-lock.tokens.js';
import { located } from '../../errors/configuration.js';
import { type StandardContext, describeMethod, refuseUncalled } from '../base/decorated-method.js';
import { placeRefusals as refusals } from '../base/decorator.messages.js';

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
