import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { throwError } from 'rxjs';
import { sendException } from './socket-error.js';
import { LockError, type LockErrorCode, LockNotAcquiredError } from '../errors/lock-errors.js';
import { isRequest } from '../interceptor/rpc-requests.js';

/** What an HTTP client is told. Neither the lock name nor the cause: they are internals. */
interface Answer {
  readonly statusCode: 409 | 500 | 503;
  readonly error: string;
  readonly message: string;
}

const contended: Answer = { statusCode: 409, error: 'Conflict', message: 'The resource is in use. Try again later.' };
const unavailable: Answer = {
  statusCode: 503,
  error: 'Service Unavailable',
  message: 'The service cannot handle the request now. Try again later.',
};
const internal: Answer = { statusCode: 500, error: 'Internal Server Error', message: 'Internal server error' };

/** By code: a name that this version does not know is an internal error. */
const answers: Partial<Record<LockErrorCode, Answer>> = {
  LOCK_CONTENDED: contended,
  LOCK_WAIT_TIMEOUT: contended,
  LOCK_QUEUE_FULL: unavailable,
  LOCK_UNAVAILABLE: unavailable,
};

/**
 * Lock errors as HTTP: 409 where the lock was held by somebody else, 503 where Redis does not answer or too many wait
 * already, both with `Retry-After`; 500 for everything else, which is logged. On Express and on Fastify.
 * Clients of a GraphQL API get `extensions: { code }`, those of a WebSocket gateway the event `exception` with the `code`.
 * Clients of a microservice get a plain object, as from Nest itself: `{ status: 'error', name, code, key, message, … }`; what an
 * event handler fails with is logged, since nobody waits for it.
 * Registered for the whole application by RedisLockModule, unless `httpErrors: false`. A hybrid application without
 * `inheritAppConfig` has no global filters for its messages: there, `@UseFilters(LockErrorFilter)`.
 */
@Catch(LockError)
export class LockErrorFilter implements ExceptionFilter<LockError> {
  private readonly logger = new Logger(LockErrorFilter.name);

  constructor(private readonly host: HttpAdapterHost) {}

  /** @returns for microservices the error as an Observable, which is how Nest passes it on; nothing for HTTP. */
  catch(error: LockError, host: ArgumentsHost): unknown {
    const type: string = host.getType();
    // Another external context.
    if (type !== 'rpc' && type !== 'http' && type !== 'ws' && type !== 'graphql') throw error;
    const answer = answers[error.code] ?? internal;
    // Of what is no fault of the application the client is told; if there is none who waits for an answer, the log is.
    const isTold = answer !== internal && (type !== 'rpc' || isRequest(host.switchToRpc().getContext()));
    if (!isTold) this.logger.error(error.message, error.stack);
    if (type === 'rpc') return throwError(() => messageOf(error));
    const { message } = answer;
    // Servers of every make send `extensions`; what was thrown is the cause, for `formatError`.
    if (type === 'graphql') throw Object.assign(new Error(message, { cause: error }), { extensions: details(error) });
    if (type === 'ws') sendException(host.switchToWs(), { ...details(error), message });
    else this.reply(error, answer, host.switchToHttp().getResponse());
    return undefined;
  }

  private reply(error: LockError, answer: Answer, response: unknown): void {
    const { httpAdapter } = this.host;
    // The handler had begun to answer by itself: nothing can be taken back, only ended.
    if (httpAdapter.isHeadersSent(response)) return void httpAdapter.end(response);
    if (answer !== internal) httpAdapter.setHeader(response, 'Retry-After', String(retryAfter(error)));
    httpAdapter.reply(response, { ...answer, code: error.code }, answer.statusCode);
  }
}

/** Everything that the client can act on, plain: a transport that writes JSON drops the message of an Error. */
const messageOf = (error: LockError): object => Object.assign({ status: 'error' }, error, { message: error.message });

/** What a client of the outside can act on: the code, and after how many milliseconds to try again, where that is known. */
function details(error: LockError): { code: LockErrorCode; retryAfter?: number } {
  const retryAfter = error instanceof LockNotAcquiredError ? error.retryAfter : undefined;
  return { code: error.code, ...(retryAfter !== undefined && { retryAfter: Math.ceil(retryAfter) }) };
}

/** Whole seconds, at least one: the rest of the holder's lease, where it is known. */
function retryAfter(error: LockError): number {
  const milliseconds = error instanceof LockNotAcquiredError ? (error.retryAfter ?? 0) : 0;
  return Math.max(1, Math.ceil(milliseconds / 1000));
}
