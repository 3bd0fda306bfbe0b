import { describe, expect, it } from '@jest/globals';
import type { ArgumentsHost } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { LockErrorFilter, LockNotAcquiredError, LockUnavailableError } from 'nestjs-redis-lock';
import { firstValueFrom, isObservable } from 'rxjs';

const contextOf = (type: string): ArgumentsHost =>
  ({ getType: () => type, switchToHttp: () => ({ getResponse: () => 'response' }) }) as ArgumentsHost;

describe('LockErrorFilter', () => {
  const error = new LockUnavailableError('Redis is away');

  it('answers microservices with an Observable of the error itself, as Nest asks for', async () => {
    const result = new LockErrorFilter({} as HttpAdapterHost).catch(error, contextOf('rpc'));
    if (!isObservable(result)) throw new Error('no Observable');
    await expect(firstValueFrom(result)).rejects.toBe(error);
  });

  it.each(['graphql', 'ws', 'something new'])('throws the error on in the context %p', (type) => {
    expect(() => new LockErrorFilter({} as HttpAdapterHost).catch(error, contextOf(type))).toThrow(error);
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
