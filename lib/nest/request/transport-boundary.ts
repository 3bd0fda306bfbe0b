import 'reflect-metadata';
import type { ExceptionFilter, NestInterceptor, OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import type { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { Hidden } from '../../errors/describe.js';
import { startFlow } from '../../core/lock-flow.js';
import { metadataKeys } from '../base/metadata-keys.js';
import { FlowBoundaryInterceptor } from './flow-boundary.js';

/**
 * Makes each request a flow of its own where Nest runs no global interceptors: at the server itself, in gateways, and for messages of hybrid
 * applications. Frees the port before the shutdown waits for running work.
 */
export class TransportBoundary implements OnModuleInit, OnModuleDestroy {
  private readonly host: Hidden<HttpAdapterHost>;

  constructor(modules: ModulesContainer, host: HttpAdapterHost, filter: ExceptionFilter) {
    this.host = new Hidden(host);
    // In the constructor: Nest connects gateways and microservices before it runs any hook.
    const boundary = new FlowBoundaryInterceptor();
    enhanceGateways(modules, boundary, filter);
    enhanceMessageControllers(modules, boundary);
  }

  onModuleInit(): void {
    // A test module sets the adapter after the providers were made.
    detachServer(this.adapter);
  }

  onModuleDestroy(): void {
    stopListening(this.adapter?.getHttpServer() as HttpServer | undefined);
  }

  /** Undefined in an application without HTTP. */
  private get adapter(): HttpAdapterHost['httpAdapter'] | undefined {
    return this.host.reveal().httpAdapter;
  }
}

/** The used part of node:http's server. */
interface HttpServer {
  readonly listening?: boolean;
  close(done?: () => void): unknown;
  once(event: 'close', listener: () => void): unknown;
  closeIdleConnections?(): void;
}

/**
 * Nest closes its server after the hooks in which the running work ends. Until then the process that takes this one's place on the machine
 * (`nest start --watch`) would find the port in use. Open connections stay, so running requests get their responses.
 */
function stopListening(server: HttpServer | undefined): void {
  if (!server?.listening) return;
  let isClosed = false;
  server.close(() => (isClosed = true));
  // Nest's own call, which would be an error on a closed server, waits for the end of all connections as before.
  server.close = (done) => {
    // Those of requests that have ended since.
    server.closeIdleConnections?.();
    if (isClosed) done?.();
    else if (done) server.once('close', done);
    return server;
  };
}

/** The part of Nest's HTTP adapter that opens the port. */
interface Server {
  listen: (...args: never[]) => unknown;
}

const detached = new WeakSet<Server>();

/**
 * Lets the adapter listen outside of every hold. A connection has the async context in which its server began to listen. Inside a hold,
 * everything on that connection would be inside the hold, also where Nest runs no interceptors (middleware, guards, field resolvers,
 * WebSocket events), and two requests would share one lock.
 */
function detachServer(adapter: Server | undefined): void {
  if (!adapter || detached.has(adapter)) return;
  detached.add(adapter);
  const { listen } = adapter;
  adapter.listen = (...args) => startFlow(() => listen.apply(adapter, args));
}

/** Our own enhancers: a class has one, even with several applications and connections. */
const ours = new WeakSet<object>();

/**
 * Nest runs no global filters for gateways, and before version 12 no global interceptors either. So each gateway class gets these as its
 * own, before the first message: outside of its other interceptors, and after its other filters.
 */
function enhanceGateways(modules: ModulesContainer, interceptor: NestInterceptor, filter: ExceptionFilter): void {
  for (const { providers } of modules.values()) {
    for (const { metatype } of providers.values()) {
      if (typeof metatype !== 'function' || !Reflect.hasMetadata(metadataKeys.gateway, metatype)) continue;
      putFirst(metadataKeys.interceptors, metatype, interceptor);
      putFirst(metadataKeys.filters, metatype, filter);
    }
  }
}

/**
 * A hybrid application without `inheritAppConfig` runs no global interceptors for messages, so each controller with message handlers gets
 * this one as its own. It gets no filter: a filter of its own would hide errors from global filters, where there are any.
 */
function enhanceMessageControllers(modules: ModulesContainer, interceptor: NestInterceptor): void {
  for (const { controllers } of modules.values()) {
    for (const { metatype } of controllers.values()) {
      if (typeof metatype === 'function' && handlesMessages(metatype.prototype as object))
        putFirst(metadataKeys.interceptors, metatype, interceptor);
    }
  }
}

function handlesMessages(prototype: object): boolean {
  const { constructor: _, ...own } = Object.getOwnPropertyDescriptors(prototype);
  const isHandler = ({ value }: PropertyDescriptor) =>
    typeof value === 'function' && Reflect.hasMetadata(metadataKeys.messagePattern, value as object);
  const base: unknown = Object.getPrototypeOf(prototype);
  return Object.values(own).some(isHandler) || (typeof base === 'object' && base !== null && handlesMessages(base));
}

function putFirst(key: string, type: object, enhancer: object): void {
  const others = ((Reflect.getMetadata(key, type) ?? []) as object[]).filter((other) => !ours.has(other));
  ours.add(enhancer);
  Reflect.defineMetadata(key, [enhancer, ...others], type);
}
