import { describe, expect, it, jest } from '@jest/globals';
import { type ArgumentsHost, Logger } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { LockErrorFilter, LockLostError, LockNotAcquiredError, LockUnavailableError } from 'nestjs-redis-lock';
import { firstValueFrom, isObservable } from 'rxjs';

const contextOf = (type: string): ArgumentsHost =>
  ({
    getType: () => type,
    switchToHttp: () => ({ getResponse: () => 'response' }),
    switchToRpc: () => ({ getContext: () => undefined }),
  }) as ArgumentsHost;

describe('LockErrorFilter', () => {
  const error = new LockUnavailableError('Redis is away');

  it('answers microservices with an Observable of a plain object, which every serializer keeps as it is', async () => {
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
      // Of a transport that does not say whether anybody waits for the answer: told here as well.
      expect(log.mock.calls).toEqual([['gone', lost.stack]]);
    } finally {
      log.mockRestore();
    }
  });

  it('throws the error on as it is in a context that it does not know', () => {
    expect(() => new LockErrorFilter({} as HttpAdapterHost).catch(error, contextOf('something new'))).toThrow(error);
  });

  it('throws in GraphQL what its servers send: general words, and the code among the extensions', () => {
    const taken = new LockNotAcquiredError('Lock secret is taken', { key: 'secret', retryAfter: 1000.5 });
    const thrown = (() => {
      try {
        return new LockErrorFilter({} as HttpAdapterHost).catch(taken, contextOf('graphql'));
      } catch (caught) {
        return caught as Error;
      }
    })() as Error;
    expect(thrown).toMatchObject({ cause: taken, extensions: { code: 'LOCK_CONTENDED', retryAfter: 1001 } });
    expect(thrown.message).not.toContain('secret');
  });

  it.each([
    ['a WebSocket, whose own emit stays in this process', true],
    ['a client of socket.io', false],
  ])('sends the event "exception" to %s', (_what, isNative) => {
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
    expect(new LockErrorFilter({} as HttpAdapterHost).catch(error, host)).toBeUndefined();
    const data = {
      status: 'error',
      code: 'LOCK_UNAVAILABLE',
      message: 'The service cannot handle the request now. Try again later.',
      cause: { pattern: 'buy', data: { id: 1 } },
    };
    expect([sent, emitted]).toEqual(isNative ? [[{ event: 'exception', data }], []] : [[], [['exception', data]]]);
  });

  it.each([
    [undefined, '1'],
    [0, '1'],
    [1, '1'],
    [1000, '1'],
    [1001, '2'],
    [29_999.5, '30'],
  ])('rounds a rest of %p ms up to Retry-After: %s', (retryAfter, seconds) => {
    const headers: unknown[] = [];
    const httpAdapter = {
      isHeadersSent: () => false,
      setHeader: (...header: unknown[]) => headers.push(header),
      reply: () => {},
    };
    new LockErrorFilter({ httpAdapter } as unknown as HttpAdapterHost).catch(
      new LockNotAcquiredError('taken', { retryAfter }),
      contextOf('http'),
    );
    expect(headers).toEqual([['response', 'Retry-After', seconds]]);
  });

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
