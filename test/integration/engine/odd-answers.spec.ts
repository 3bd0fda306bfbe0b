import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Lock, lockDefaults, readTicket } from 'nestjs-redis-lock/backend';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { Engine, unique, until } from './engine.js';

/** Replies of a middlebox, or of a server that differs from Redis: as bytes of the protocol. */
const answers: ReadonlyArray<readonly [string, string]> = [
  ['+OK', '+OK\r\n'],
  ['nil', '$-1\r\n'],
  ['a number', ':7\r\n'],
  ['an empty list', '*0\r\n'],
  ['a list of nil', '*2\r\n$-1\r\n$-1\r\n'],
  ['a time, and nothing else', '*1\r\n:1795000000000000\r\n'],
  ['an invalid time, and a grant', '*2\r\n+now\r\n:1795000000000000\r\n'],
  ['a grant without a lease', '*2\r\n:1795000000000000\r\n$25\r\ngranted 1795000000000000 \r\n'],
  ['a lease that is no number', '*2\r\n:1795000000000000\r\n$13\r\nten seconds 0\r\n'],
  ['a refusal with half of a holder', '*2\r\n:1795000000000000\r\n$25\r\ncontended 500 a.b.1:0 17 \r\n'],
  ['lists in lists', '*2\r\n*1\r\n*0\r\n*1\r\n*0\r\n'],
];

interface Stage {
  readonly a: Engine;
  readonly held: Lock;
  readonly ticket: string;
}

const unavailable = { code: 'LOCK_UNAVAILABLE', uncertain: true, message: expect.stringContaining('does not know') };

/** Each call, and what it ends with. */
const calls: ReadonlyArray<readonly [string, (stage: Stage) => Promise<unknown>]> = [
  ['an exclusive lock', ({ a }) => expect(a.acquire(unique(), { wait: 0 })).rejects.toMatchObject(unavailable)],
  ['a shared lock', ({ a }) => expect(a.acquire(unique(), { shared: true })).rejects.toMatchObject(unavailable)],
  ['a renewal', ({ held }) => expect(held.renew()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' })],
  ['a release', ({ held }) => expect(held.release()).resolves.toBeUndefined()],
  ['inspect', ({ a }) => expect(a.operators.views.inspect(unique())).rejects.toMatchObject(unavailable)],
  [
    'an adoption',
    ({ a, ticket }) =>
      expect(a.client.adopt(readTicket(ticket), { ...lockDefaults, wait: 0 })).rejects.toMatchObject(unavailable),
  ],
];

describe('a reply that no script returns', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    proxy = await TcpProxy.to(server.port);
    process.on('unhandledRejection', note);
  });
  afterEach(async () => {
    process.off('unhandledRejection', note);
    await proxy.close();
  });

  it.each(calls.flatMap(([what, call]) => answers.map(([title, bytes]) => ({ what, call, title, bytes }))))(
    'to $what ($title) is an error of that call alone; later calls work',
    async ({ call, bytes }) => {
      await using a = await Engine.start({ redis: proxy.url, commandTimeout: 500 });
      const name = unique();
      const [held, moving] = [await a.acquire(name), await a.acquire(unique())];
      const ticket = await moving.export();
      proxy.answer('evalsha', bytes);
      await call({ a, held, ticket });
      await proxy.heal();
      // What was taken or released without a reply is released in the background.
      await held.release();
      await until(async () => (await a.operators.views.inspect(name)).holders.length === 0);
      await (await a.acquire(name)).release();
      expect(unhandled).toEqual([]);
    },
  );

  it.each([
    ['the first', 0],
    ['the last', 1],
  ])('to %s of two calls of one command is an error of that call alone', async (_, wrong) => {
    await using a = await Engine.start({ redis: proxy.url, commandTimeout: 500 });
    const replies = ['$13\r\ncontended 500\r\n', '$13\r\ncontended 500\r\n'].with(wrong, '+OK\r\n');
    proxy.answer('evalsha', `*3\r\n:1795000000000000\r\n${replies.join('')}`);
    const ends = await Promise.allSettled([unique(), unique()].map((name) => a.acquire(name, { wait: 0 })));
    await proxy.heal();
    const codes = ends.map((end) => end.status === 'rejected' && (end.reason as { code: string }).code);
    expect(codes).toEqual(['LOCK_CONTENDED', 'LOCK_CONTENDED'].with(wrong, 'LOCK_UNAVAILABLE'));
    expect(unhandled).toEqual([]);
  });

  it.each([
    ['TIME', 'time', '+OK\r\n'],
    ['SCAN', 'scan', '*2\r\n:0\r\n+OK\r\n'],
  ])('to %s is an error, and the connection works again by itself', async (_, command, bytes) => {
    await using a = await Engine.start({ redis: proxy.url, commandTimeout: 300 });
    proxy.answer(command, bytes);
    proxy.reset();
    const names = async (): Promise<string[]> => {
      const found: string[] = [];
      for await (const name of a.operators.views.list()) found.push(name);
      return found;
    };
    await expect(names()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await proxy.heal();
    await until(async () => (await names().catch(() => undefined)) !== undefined);
    expect(unhandled).toEqual([]);
  });
});
