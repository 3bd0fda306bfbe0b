import { PassThrough, Readable } from 'node:stream';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { StreamableFile } from '@nestjs/common';
import { of } from 'rxjs';
import {
  LockNotAcquiredError,
  LockQueueFullError,
  LockUnavailableError,
  RedisLockService,
  lockName,
} from 'nestjs-redis-lock';
import { createLockClient } from 'nestjs-redis-lock/client';
import { MemoryLockBackend } from 'nestjs-redis-lock/testing';
import { lockDefaults, type ResolvedLockOptions } from '../../lib/core/options.js';
import type { LockConnection } from '../../lib/connection/lock.connection.js';

/** A service whose connection refuses every call, and the options of those calls. */
function refusing(error: Error) {
  const asked: ResolvedLockOptions[] = [];
  const acquire = async (_name: string, options: ResolvedLockOptions): Promise<never> => {
    asked.push(options);
    throw error;
  };
  const connection = { defaults: lockDefaults, acquire } as unknown as LockConnection;
  return { asked, locks: new RedisLockService(connection) };
}

describe('tryAcquire', () => {
  it('tries once without the option `wait`, with any default, and waits with it', async () => {
    const { asked, locks } = refusing(new LockNotAcquiredError('taken'));
    await locks.tryAcquire('a');
    await locks.tryAcquire('a', { lease: '5s' });
    await locks.tryAcquire('a', { wait: '2s' });
    expect(asked.map(({ wait }) => wait)).toEqual([0, 0, 2000]);
  });

  it('returns null for contention only: overload and outage are errors', async () => {
    await expect(refusing(new LockNotAcquiredError('taken')).locks.tryAcquire('a')).resolves.toBeNull();
    for (const error of [new LockQueueFullError('full'), new LockUnavailableError('away'), new Error('other')]) {
      await expect(refusing(error).locks.tryAcquire('a')).rejects.toBe(error);
    }
  });
});

describe('a function in `using` and `adopt`', () => {
  async function* steps(): AsyncGenerator<string> {
    yield 'a step';
  }
  const lazy: Array<[string, () => unknown]> = [
    ['an async generator', steps],
    [
      'a generator',
      function* () {
        yield 'a step';
      },
    ],
    ['an Observable', () => of(1)],
    ['a stream', () => Readable.from(steps())],
    ['a stream', () => Readable.from(steps()).pipe(new PassThrough())],
    ['a stream', () => new StreamableFile(Readable.from(steps()))],
  ];

  it.each(lazy)('that returns %s is refused: its work would be done outside of the lock', async (kind, make) => {
    await using locks = createLockClient({ backend: new MemoryLockBackend() });
    const refused = (call: string) => ({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining(`RedisLockClient.${call}: the function returned ${kind}, whose work`),
    });
    await expect(locks.using('a', make)).rejects.toMatchObject(refused('using'));
    await expect(locks.using('a', async () => make())).rejects.toMatchObject(refused('using'));
    const ticket = await (await locks.acquire('a')).export();
    await expect(locks.adopt(ticket, async () => make())).rejects.toMatchObject(refused('adopt'));
    expect((await locks.inspect('a')).holders).toEqual([]);
  });

  it('may return what has done its work, a connection, and any other object', async () => {
    await using locks = createLockClient({ backend: new MemoryLockBackend() });
    const read = Readable.from(['all of it']);
    for await (const _ of read);
    const others: unknown[] = [read, new Socket(), { subscribe: () => 1 }, [1], null, 'text', new Response('x')];
    for (const other of others) expect(await locks.using('a', () => other)).toBe(other);
  });

  it('may return an object of its own that can open a stream: none is opened', async () => {
    await using locks = createLockClient({ backend: new MemoryLockBackend() });
    let opened = 0;
    const file = { getStream: () => Readable.from([`opened ${++opened}`]) };
    expect(await locks.using('a', () => file)).toBe(file);
    expect(opened).toBe(0);
  });

  it('may return an object that throws for properties that it does not have', async () => {
    await using locks = createLockClient({ backend: new MemoryLockBackend() });
    const settings = new Proxy<Record<string | symbol, unknown>>(
      { port: 80 },
      {
        get(target, property) {
          if (property === 'then' || property in target) return target[property];
          throw new Error(`There is no setting ${String(property)}.`);
        },
      },
    );
    expect((await locks.using('a', () => settings))['port']).toBe(80);
  });
});

describe('an export', () => {
  it('shortens no lease: its ticket works for the rest of the present one', async () => {
    await using locks = createLockClient({ backend: new MemoryLockBackend() });
    const ticket = await (await locks.acquire('a')).export(10);
    expect((await locks.inspect('a')).holders[0]!.leaseLeft).toBeGreaterThan(20_000);
    await (await locks.adopt(ticket)).release();
  });
});

describe('a name in a call', () => {
  const locks = () => createLockClient({ backend: new MemoryLockBackend() });
  const order: { id?: string; key?: () => string } = { key: () => '7' };

  it.each([
    ['product:${id}', 'in quotes'],
    ['product:#{id}', 'is a template'],
    ['product:' + order.id, 'is not set'],
    [String(null), 'is not set'],
    [`s3://${String(undefined)}/x`, 'is not set'],
    ['product:[object Object]', 'is an object'],
    ['product:' + String(order.key), 'a function'],
    ['product:', 'is not set'],
  ])('%s is refused: all such calls would share one lock', async (name, words) => {
    await using client = locks();
    const refused = { code: 'LOCK_CONFIGURATION', message: expect.stringContaining(words) };
    await expect(client.using(name, () => 1)).rejects.toMatchObject(refused);
    await expect(client.acquire(['a', name])).rejects.toMatchObject(refused);
    expect(() => client.election(name)).toThrow(words);
  });

  it.each(['null-device', 'user:Null', 'undefined-behaviour', 'a::b', '{shop}:42', 'fee:$9', 'C#', '[7]', 'x:{}'])(
    '%s is a name as any other',
    async (name) => {
      await using client = locks();
      await expect(client.using(name, () => 1)).resolves.toBe(1);
    },
  );

  it('may have a value whose text is `undefined` or `null`, when `lockName` has made it', async () => {
    await using client = locks();
    for (const value of ['undefined', 'null', '[object Object]']) {
      await expect(client.using(lockName`user:${value}`, () => 1)).resolves.toBe(1);
      await expect(client.using([lockName`a:${value}`, 'b'], () => 1)).resolves.toBe(1);
    }
  });

  it('that is a template is refused in calls that only look; what a slip has locked can be looked at and released', async () => {
    await using client = locks();
    for (const name of ['product:#{id}', 'product:${id}']) {
      const refused = { code: 'LOCK_CONFIGURATION', message: expect.stringContaining('lockName`product:${id}`') };
      await expect(client.inspect(name)).rejects.toMatchObject(refused);
      await expect(client.forceRelease(name)).rejects.toMatchObject(refused);
      expect(() => client.current(name)).toThrow('lockName');
    }
    await expect(client.forceRelease('product:undefined')).resolves.toBe(false);
  });
});
