import 'reflect-metadata';
import type { ExceptionFilter, NestInterceptor } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

/** What `@WebSocketGateway` writes on a class, `@MessagePattern` and `@EventPattern` on a method; not imported, they are optional. */
const gatewayMark = 'websockets:is_gateway';
const patternMark = 'microservices:pattern';

/** What `@UseInterceptors` and `@UseFilters` write. */
const enhancers = { interceptor: '__interceptors__', filter: '__exceptionFilters__' } as const;

/** Ours, by class: one for each, however many applications and connections there are. */
const ours = new WeakSet<object>();

/**
 * Nest asks no global filters for gateways, and before version 12 runs no global interceptors for them. So each gateway class gets
 * these as its own, before the first message: around its other interceptors, and asked after its other filters.
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

/**
 * The messages of a hybrid application without `inheritAppConfig` meet no global interceptors, so each controller with message handlers
 * gets this one as its own. A filter it does not get: as its own it would hide an error from the global ones, where there are some.
 */
export function enhanceMessageControllers(modules: ModulesContainer, interceptor: NestInterceptor): void {
  for (const { controllers } of modules.values()) {
    for (const { metatype } of controllers.values()) {
      if (typeof metatype === 'function' && handlesMessages(metatype.prototype as object))
        putFirst(enhancers.interceptor, metatype, interceptor);
    }
  }
}

function handlesMessages(prototype: object): boolean {
  const { constructor: _, ...own } = Object.getOwnPropertyDescriptors(prototype);
  const isHandler = ({ value }: PropertyDescriptor) =>
    typeof value === 'function' && Reflect.hasMetadata(patternMark, value as object);
  const base: unknown = Object.getPrototypeOf(prototype);
  return Object.values(own).some(isHandler) || (typeof base === 'object' && base !== null && handlesMessages(base));
}

function putFirst(key: string, type: object, enhancer: object): void {
  const others = ((Reflect.getMetadata(key, type) ?? []) as object[]).filter((other) => !ours.has(other));
  ours.add(enhancer);
  Reflect.defineMetadata(key, [enhancer, ...others], type);
}
