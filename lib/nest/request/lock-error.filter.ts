import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { throwError } from 'rxjs';
import { Hidden } from '../../errors/describe.js';
import { isLogged, messageForOthers } from '../../core/refusals.js';
import { LockError, type LockErrorCode } from '../../errors/lock-errors.js';
import { isAwaited } from './flow-boundary.js';

/** The body for an HTTP client. The lock's name and the cause are internals and stay out of it. */
interface Body {
  readonly error: string;
  readonly message: string;
}

/** HTTP statuses of lock errors. */
type Status = LockError['statusCode'];

const bodies: Record<Status, Body> = {
  409: { error: 'Conflict', message: 'The resource is in use. Try again later.' },
  500: { error: 'Internal Server Error', message: 'Internal server error' },
  503: { error: 'Service Unavailable', message: 'The service cannot handle the request now. Try again later.' },
};

/** An error of another version of this package may have a status that is not known here: it is an internal error. */
export const statusOf = ({ statusCode }: LockError): Status => (Object.hasOwn(bodies, statusCode) ? statusCode : 500);

/** For an HTTP client. */
export const bodyOf = (
  statusCode: Status,
  code: LockErrorCode,
): Body & { statusCode: Status; code: LockErrorCode } => ({
  statusCode,
  ...bodies[statusCode],
  code,
});

/**
 * Seconds after which a client should try again. The rest of the holder's lease is known, but most holders are done long before it ends.
 */
export const pause = 1;

/**
 * Lock errors as HTTP responses: 409 when another holder has the lock, 503 when Redis is unavailable or too many callers wait, both with
 * `Retry-After: 1`; 500 for all other lock errors, which are logged. On Express and on Fastify.
 * Clients of a GraphQL API get `extensions: { code }`, those of a WebSocket gateway the event `exception` with the `code`.
 * Clients of a microservice get a plain object, as from Nest itself: `{ status: 'error', name, code, key, message, … }`. An error of an
 * event handler is logged: events have no response.
 * Registered for the whole application by RedisLockModule, unless `httpErrors: false`; there a filter of the application that takes the error
 * comes first. A hybrid application without
 * `inheritAppConfig` has no global filters for its messages: use `@UseFilters(LockErrorFilter)` there.
 */
@Catch(LockError)
export class LockErrorFilter implements ExceptionFilter<LockError> {
  private readonly logger = new Logger(LockErrorFilter.name);

  private readonly host: Hidden<HttpAdapterHost>;

  constructor(host: HttpAdapterHost) {
    this.host = new Hidden(host);
  }

  /** @returns for microservices the error as an Observable, in the form that Nest sends; nothing for HTTP. */
  catch(error: LockError, host: ArgumentsHost): unknown {
    const type: string = host.getType();
    // Another external context.
    if (type !== 'rpc' && type !== 'http' && type !== 'ws' && type !== 'graphql') throw error;
    const status = statusOf(error);
    // The client sees what is not the application's fault. Without a client that waits for a response, the log has it.
    const isTold = status !== 500 && (type !== 'rpc' || isAwaited(host.switchToRpc().getContext()));
    if (!isTold && !isLogged(error)) this.logger.error(error.message, error.stack);
    if (type === 'rpc') return throwError(() => messageOf(error));
    const { message } = bodies[status];
    // Each GraphQL server sends `extensions`. The lock error is the cause, for `formatError`.
    if (type === 'graphql')
      throw Object.assign(new Error(message, { cause: error }), { extensions: details(error, status) });
    if (type === 'ws') sendException(host.switchToWs(), { ...details(error, status), message });
    else this.reply(error, status, host.switchToHttp().getResponse());
    return undefined;
  }

  private reply({ code }: LockError, statusCode: Status, response: unknown): void {
    const { httpAdapter } = this.host.reveal();
    // The handler has begun to write the response: it can only be ended.
    if (httpAdapter.isHeadersSent(response)) return void httpAdapter.end(response);
    if (statusCode !== 500) httpAdapter.setHeader(response, 'Retry-After', String(pause));
    httpAdapter.reply(response, bodyOf(statusCode, code), statusCode);
  }
}

/**
 * A plain object: a transport that writes JSON drops the message of an Error. Without the process that holds the lock: the client may be
 * another application.
 */
function messageOf(error: LockError): object {
  const { holder: _, ...fields } = error as LockError & { holder?: unknown };
  return { status: 'error', ...fields, ...hintOf(statusOf(error)), message: messageForOthers(error) };
}

/** Where trying again helps: after how many milliseconds. */
const hintOf = (status: Status): { retryAfter?: number } => (status === 500 ? {} : { retryAfter: pause * 1000 });

/** For clients outside. */
const details = ({ code }: LockError, status: Status): { code: LockErrorCode; retryAfter?: number } => ({
  code,
  ...hintOf(status),
});

type WsHost = ReturnType<ArgumentsHost['switchToWs']>;

/** A client of socket.io (`emit` sends), or a standard WebSocket (`emit`, if it exists, is Node's and sends nothing). */
interface SocketClient {
  readonly readyState?: unknown;
  send?(data: string): void;
  emit?(event: string, data: unknown): void;
}

/** Sends an error as Nest sends a WsException: as the event `exception`, with the message that caused it. */
function sendException(host: WsHost, error: object): void {
  const client = host.getClient<SocketClient>();
  const data = { status: 'error', ...error, cause: { pattern: host.getPattern(), data: host.getData<unknown>() } };
  if (typeof client.readyState === 'number') client.send?.(JSON.stringify({ event: 'exception', data }));
  else client.emit?.('exception', data);
}
