import { describe, expect, it, jest } from '@jest/globals';
import { type ArgumentsHost, type ExecutionContext, Logger } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import {
  LockError,
  LockErrorFilter,
  LockLostError,
  LockNotAcquiredError,
  LockUnavailableError,
} from 'nestjs-redis-lock';
import { EMPTY, firstValueFrom, isObservable, type Observable } from 'rxjs';
import { refusals } from '../../lib/core/refusals.js';
import { FlowBoundaryInterceptor } from '../../lib/request/flow-boundary.js';

const contextOf = (type: string): ArgumentsHost =>
  ({
    getType: () => type,
    switchToHttp: () => ({ getResponse: () => 'response' }),
    switchToRpc: () => ({ getContext: () => undefined }),
  }) as ArgumentsHost;

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
        retryAfter: 5,
        message: expect.stringContaining(message),
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
      retryAfter: 29_000.5,
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
