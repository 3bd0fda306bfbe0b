import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  HttpException,
  Logger,
  type Type,
} from '@nestjs/common';
import { ApplicationConfig, type HttpAdapterHost, type ModulesContainer } from '@nestjs/core';
import {
  LockError,
  LockErrorFilter,
  LockLostError,
  LockNotAcquiredError,
  LockUnavailableError,
} from 'nestjs-redis-lock';
import { EMPTY, firstValueFrom, isObservable, type Observable, of } from 'rxjs';
import { refusals } from '../../lib/core/refusals.js';
import { applicationLockErrorFilter } from '../../lib/nest/request/application-filter.js';
import { FlowBoundaryInterceptor } from '../../lib/nest/request/flow-boundary.js';

const contextOf = (type: string): ArgumentsHost =>
  ({
    getType: () => type,
    switchToHttp: () => ({ getResponse: () => 'response' }),
    switchToRpc: () => ({ getContext: () => undefined }),
    switchToWs: () => ({ getClient: () => ({}), getPattern: () => 'buy', getData: () => undefined }),
  }) as unknown as ArgumentsHost;

/** A holder that no client outside may see. */
const secret = {
  client: 'secret',
  host: 'secret',
  pid: 4711,
  method: 'secret',
  label: 'secret',
  fencingToken: 7,
  heldFor: 20,
};

describe('LockErrorFilter', () => {
  const error = new LockUnavailableError('Redis is unavailable');

  it('sends microservices an Observable of a plain object, which no serializer changes', async () => {
    const log = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
    try {
      const lost = new LockLostError('gone', { key: 'a', reason: 'revoked', cause: new Error('secret') });
      const result = new LockErrorFilter({} as HttpAdapterHost).catch(lost, contextOf('rpc'));
      if (!isObservable(result)) throw new Error('no Observable');
      const told: unknown = await firstValueFrom(result).catch((thrown: unknown) => thrown);
      expect(told).not.toBeInstanceOf(Error);
      expect(told).toEqual({
        status: 'error',
        name: 'LockLostError',
        code: 'LOCK_LOST',
        key: 'a',
        message: 'gone',
        reason: 'revoked',
      });
      // For a transport that does not say whether a caller waits for the response: logged as well.
      expect(log.mock.calls).toEqual([['gone', lost.stack]]);
    } finally {
      log.mockRestore();
    }
  });

  it('sends microservices nothing of the process that holds the lock: they may belong to another application', async () => {
    const log = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
    const holder = {
      client: 'x7Kq2',
      host: 'web-1',
      pid: 4711,
      method: 'Report.daily',
      label: 'import',
      fencingToken: 7,
      heldFor: 20,
    };
    for (const [refused, message] of [
      [refusals.contended('a', 5, holder, 'Ms.pay'), "Ms.pay: Lock 'a' is held by another caller. Try again later"],
      [
        refusals.waitedTooLong('a', 9, 5, holder),
        "Lock 'a' was not free within 9 ms (option wait); it is held by another caller. Wait longer",
      ],
      [refusals.contended('a', 5, undefined), "Lock 'a' is held by another caller. Try again later"],
    ] as const) {
      const result = new LockErrorFilter({} as HttpAdapterHost).catch(refused, contextOf('rpc')) as Observable<unknown>;
      const told = await firstValueFrom(result).catch((thrown: unknown) => thrown);
      expect(told).toMatchObject({
        code: refused.code,
        key: 'a',
        message: expect.stringContaining(message),
        leaseLeft: 5,
        retryAfter: 1000,
      });
      expect(told).not.toHaveProperty('holder');
      expect(JSON.stringify(told)).not.toMatch(/web-1|4711|Report|import|x7Kq2/);
    }
    log.mockRestore();
  });

  it('rethrows the unchanged error in an unknown context', () => {
    expect(() => new LockErrorFilter({} as HttpAdapterHost).catch(error, contextOf('something new'))).toThrow(error);
  });

  it('throws in GraphQL an error with a general message, and the code in its extensions', () => {
    const taken = new LockNotAcquiredError('Lock secret is taken', {
      key: 'secret',
      leaseLeft: 29_001,
      holder: secret,
    });
    const thrown = (() => {
      try {
        return new LockErrorFilter({} as HttpAdapterHost).catch(taken, contextOf('graphql'));
      } catch (caught) {
        return caught as Error;
      }
    })() as Error;
    expect(thrown).toMatchObject({ cause: taken, extensions: { code: 'LOCK_CONTENDED', retryAfter: 1000 } });
    expect(thrown.message).not.toContain('secret');
    expect(thrown).toHaveProperty('extensions', { code: 'LOCK_CONTENDED', retryAfter: 1000 });
  });

  it.each([
    ['a WebSocket, whose own emit stays in this process', true],
    ['a client of socket.io', false],
  ])('sends the event "exception" to %s', (_what, isNative) => {
    const refused = new LockNotAcquiredError('Lock secret is taken', { key: 'secret', holder: secret });
    const sent: unknown[] = [];
    const emitted: unknown[][] = [];
    const client = {
      emit: (...event: unknown[]) => emitted.push(event),
      ...(isNative && { readyState: 1, send: (text: string) => sent.push(JSON.parse(text)) }),
    };
    const host = {
      getType: () => 'ws',
      switchToWs: () => ({ getClient: () => client, getPattern: () => 'buy', getData: () => ({ id: 1 }) }),
    } as unknown as ArgumentsHost;
    expect(new LockErrorFilter({} as HttpAdapterHost).catch(refused, host)).toBeUndefined();
    const data = {
      status: 'error',
      code: 'LOCK_CONTENDED',
      retryAfter: 1000,
      message: 'The resource is in use. Try again later.',
      cause: { pattern: 'buy', data: { id: 1 } },
    };
    expect([sent, emitted]).toEqual(isNative ? [[{ event: 'exception', data }], []] : [[], [['exception', data]]]);
  });

  it.each([
    ['rpc', { status: 'error', name: 'Newer', code: 'LOCK_CONTENDED', key: 'secret', message: 'taken' }],
    ['graphql', { message: 'Internal server error', extensions: { code: 'LOCK_CONTENDED' } }],
    [
      'ws',
      {
        status: 'error',
        code: 'LOCK_CONTENDED',
        message: 'Internal server error',
        cause: { pattern: 'buy', data: { id: 1 } },
      },
    ],
  ])(
    'sends an error whose status only another version knows as an internal one, and logs it: %s',
    async (type, body) => {
      /** Of another version. The brand of LockError makes it an instance of this one. */
      class Newer extends LockError {
        override readonly name = 'Newer';
        readonly code = 'LOCK_CONTENDED';
        override get statusCode() {
          return 423 as never;
        }
      }
      const newer = new Newer('taken', { key: 'secret' });
      const sent: unknown[] = [];
      const log = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
      const message = {};
      const host = {
        getType: () => type,
        getHandler: () => () => undefined,
        switchToRpc: () => ({ getContext: () => message }),
        switchToWs: () => ({
          getClient: () => ({ emit: (_event: string, data: unknown) => sent.push(data) }),
          getPattern: () => 'buy',
          getData: () => ({ id: 1 }),
        }),
      } as unknown as ExecutionContext;
      // The sender of the message waits for the response, so that of all errors only internal ones are logged.
      new FlowBoundaryInterceptor().intercept(host, { handle: () => EMPTY });
      try {
        const result = new LockErrorFilter({} as HttpAdapterHost).catch(newer, host);
        if (isObservable(result)) await firstValueFrom(result);
      } catch (thrown) {
        sent.push(thrown);
      }
      const logged = log.mock.calls;
      log.mockRestore();
      expect(sent).toEqual([expect.objectContaining(body)]);
      expect(sent[0]).not.toHaveProperty('retryAfter');
      expect(logged).toEqual([['taken', newer.stack]]);
    },
  );

  it('only ends a response that had begun', () => {
    const calls: unknown[] = [];
    const httpAdapter = {
      isHeadersSent: () => true,
      end: (response: unknown) => calls.push(response),
      setHeader: () => calls.push('setHeader'),
      reply: () => calls.push('reply'),
    };
    new LockErrorFilter({ httpAdapter } as unknown as HttpAdapterHost).catch(error, contextOf('http'));
    expect(calls).toEqual(['response']);
  });
});

describe('a global filter of the application, beside RedisLockModule', () => {
  beforeEach(() => void jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {}));
  afterEach(() => void jest.restoreAllMocks());

  const refused = new LockNotAcquiredError('Lock secret is taken', { key: 'secret', holder: secret });
  /** What the application's filter got, and what the client gets. */
  async function run(type: string, handle: (error: unknown, host: ArgumentsHost) => unknown, ...caught: Type[]) {
    const asked: unknown[] = [];
    @Catch(...caught)
    class Own {
      catch(error: unknown, host: ArgumentsHost): unknown {
        asked.push(error);
        return handle(error, host);
      }
    }
    const config = new ApplicationConfig();
    config.useGlobalFilters(new Own() as ExceptionFilter);
    const host = {} as HttpAdapterHost;
    const filter = applicationLockErrorFilter(new Map() as unknown as ModulesContainer, undefined, host, config);
    config.addGlobalFilter(filter);
    config.useGlobalFilters(new Own() as ExceptionFilter);
    expect(config.getGlobalFilters().at(-1)).toBe(filter);
    try {
      // oxlint-disable-next-line promise/valid-params -- the method of a filter
      const result: unknown = filter.catch(refused, contextOf(type));
      const answer = isObservable(result) ? await firstValueFrom(result).catch((thrown: unknown) => thrown) : result;
      return { asked, answer };
    } catch (answer) {
      return { asked, answer };
    }
  }

  it('gets the error itself in a microservice, and its Observable is the answer', async () => {
    const { asked, answer } = await run('rpc', () => of('mine'));
    expect([asked, answer]).toEqual([[refused], 'mine']);
  });

  it('gets an HttpException with the code in GraphQL, and throws what the client gets', async () => {
    const { asked, answer } = await run('graphql', (error) => {
      throw error;
    });
    expect(answer).toBe(asked[0]);
    expect(answer).toBeInstanceOf(HttpException);
    expect(answer).toBeInstanceOf(LockNotAcquiredError);
    expect(answer).toMatchObject({ extensions: { code: 'LOCK_CONTENDED' }, cause: refused });
    expect((answer as Error).message).not.toContain('secret');
  });

  it('gets the error itself in GraphQL, too, if it is for lock errors', async () => {
    const { asked } = await run('graphql', () => undefined, LockError as unknown as Type);
    expect(asked).toEqual([refused]);
  });

  it('that was written for HTTP alone leaves no client of a message or a query without an answer', async () => {
    const forHttp = (_error: unknown, host: ArgumentsHost) =>
      host.switchToHttp().getResponse<{ status(code: number): void }>().status(500);
    expect((await run('rpc', forHttp)).answer).toMatchObject({ status: 'error', code: 'LOCK_CONTENDED' });
    expect((await run('rpc', () => undefined)).answer).toMatchObject({ status: 'error', code: 'LOCK_CONTENDED' });
    expect((await run('graphql', forHttp)).answer).toMatchObject({ extensions: { code: 'LOCK_CONTENDED' } });
  });

  it('is not asked in a gateway, where Nest runs no global filters', async () => {
    const { asked } = await run('ws', () => undefined);
    expect(asked).toEqual([]);
  });
});
