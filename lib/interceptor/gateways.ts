import 'reflect-metadata';
import type { ExceptionFilter, NestInterceptor } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

/** What `@WebSocketGateway` writes on a class; not imported, it is optional. */
const gatewayMark = 'websockets:is_gateway';

/** What `@UseInterceptors` and `@UseFilters` write. */
const enhancers = { interceptor: '__interceptors__', filter: '__exceptionFilters__' } as const;

/** Ours, by class: one for each, however many applications and connections there are. */
const ours = new WeakSet<object>();

/**
 * Nest runs no global interceptors and filters for gateways, so each gateway class gets these as its own, before the first message:
 * around its other interceptors, and asked after its other filters.
 */
export function enhanceGateways(
  modules: ModulesContainer,
  interceptor: NestInterceptor,
  filter: ExceptionFilter,
): void {
  for (const { providers } of modules.values()) {
    for (const { metatype } of providers.values()) {
      if (typeof metatype !== 'function' || !Reflect.hasMetadata(gatewayMark, metatype)) continue;
      putFirst(enhancers.interceptor, metatype, interceptor);
      putFirst(enhancers.filter, metatype, filter);
    }
  }
}

function putFirst(key: string, type: object, enhancer: object): void {
  const others = ((Reflect.getMetadata(key, type) ?? []) as object[]).filter((other) => !ours.has(other));
  ours.add(enhancer);
  Reflect.defineMetadata(key, [enhancer, ...others], type);
}
