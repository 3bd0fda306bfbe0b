import type { HttpAdapterHost } from '@nestjs/core';
import type { ServerTimeout } from './http-timeout.check.js';

/** What is used of node:http's server, which Express and Fastify share. */
interface HttpServer {
  readonly timeout?: unknown;
  readonly listening?: unknown;
  once?(event: 'listening', listener: () => void): unknown;
}

export const httpServerOf = ({ httpAdapter }: HttpAdapterHost): HttpServer | undefined =>
  httpAdapter?.getHttpServer() as HttpServer | undefined;

/**
 * The setting that cuts off a client which waits for its answer, the shortest of them. `requestTimeout`, `headersTimeout` and
 * `keepAliveTimeout` do not: they end when the request has been read, or begin when it was answered.
 */
export function serverTimeout(host: HttpAdapterHost): ServerTimeout | undefined {
  const timeouts = [
    // Of a silent socket; Fastify's `connectionTimeout` sets it too.
    { milliseconds: httpServerOf(host)?.timeout, setting: 'server.timeout' },
    { milliseconds: handlerTimeoutOf(host), setting: 'handlerTimeout' },
  ].filter((timeout): timeout is ServerTimeout => typeof timeout.milliseconds === 'number' && timeout.milliseconds > 0);
  return timeouts.toSorted((a, b) => a.milliseconds - b.milliseconds)[0];
}

/** Fastify answers 503 in the handler's place. */
function handlerTimeoutOf({ httpAdapter }: HttpAdapterHost): unknown {
  const instance = httpAdapter?.getInstance<{ initialConfig?: { handlerTimeout?: unknown } }>();
  return instance?.initialConfig?.handlerTimeout;
}
