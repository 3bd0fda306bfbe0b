import type { HttpAdapterHost } from '@nestjs/core';
import type { ServerTimeout } from './http-timeout.check.js';

/** The used part of node:http's server, which Express and Fastify share. */
interface HttpServer {
  readonly timeout?: unknown;
  readonly listening?: unknown;
  once?(event: 'listening', listener: () => void): unknown;
}

export const httpServerOf = ({ httpAdapter }: HttpAdapterHost): HttpServer | undefined =>
  httpAdapter?.getHttpServer() as HttpServer | undefined;

/**
 * The shortest setting that cuts off a client which waits for its response. `requestTimeout`, `headersTimeout` and `keepAliveTimeout` do
 * not: they end when the request has been read, or begin after the response.
 */
export function serverTimeout(host: HttpAdapterHost): ServerTimeout | undefined {
  const timeouts = [
    // Of a silent socket; Fastify's `connectionTimeout` sets it too.
    { milliseconds: httpServerOf(host)?.timeout, setting: 'server.timeout' },
    { milliseconds: handlerTimeoutOf(host), setting: 'handlerTimeout' },
  ].filter((timeout): timeout is ServerTimeout => typeof timeout.milliseconds === 'number' && timeout.milliseconds > 0);
  return timeouts.toSorted((a, b) => a.milliseconds - b.milliseconds)[0];
}

/** Fastify sends 503 in place of the handler. */
function handlerTimeoutOf({ httpAdapter }: HttpAdapterHost): unknown {
  const instance = httpAdapter?.getInstance<{ initialConfig?: { handlerTimeout?: unknown } }>();
  return instance?.initialConfig?.handlerTimeout;
}
