import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { type Lock, type LockOptions, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { quorumOf } from '../../../examples/quorum.js';
import { snippet } from '../../../scripts/write-snippets.mjs';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { closing } from '../nest/fixtures.js';
import { KeptLogger } from '../transports/kept-logger.js';

const text = readFileSync(new URL('../../../examples/redis-cli.sh', import.meta.url), 'utf8');

/** The words of each command line, as a shell splits them. */
const commands = (region: string): string[][] =>
  snippet(text, region)!
    .trim()
    .split('\n')
    .map((line) =>
      [...line.replace(/ +# .*/, '').matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!),
    )
    .map(([program, ...words]) => {
      expect(program).toBe('redis-cli');
      return words;
    });

/** redis-cli.sh on a server of its own: the prefix and the name are those of the page. */
describe("docs/operate/diagnostics.md's commands for redis-cli", () => {
  let server: RedisServer;
  let redis: Redis;
  let apps: TestingModule[];
  let held: Lock;
  let waiting: Promise<Lock>;

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    await redis.quit();
    await server.stop();
  });

  const start = async () => {
    const module = await Test.createTestingModule({ imports: [RedisLockModule.forRoot({ redis: server.url })] })
      .setLogger(new KeptLogger())
      .compile();
    return module.init();
  };
  /** One application holds the lock, another one waits for it. */
  const contend = async (options: LockOptions) => {
    const [one, other] = apps.map((app) => app.get(RedisLockService));
    held = await one!.acquire('product:42', options);
    waiting = other!.acquire('product:42');
    while ((await one!.inspect('product:42')).waiters.length === 0);
    // Its messages arrive on a channel of its own.
    while ((await redis.pubsub('CHANNELS', 'lock:1:client:*')).length === 0);
  };
  const run = async (region: string) =>
    Promise.all(commands(region).map(([command, ...args]) => redis.call(command!, ...args)));

  beforeEach(async () => {
    apps = [await start(), await start()];
  });
  afterEach(async () => {
    await held.release();
    await (await waiting).release();
    await Promise.all(apps.map((app) => app.close()));
  });

  it('show the holder and the waiters of a lock for one', async () => {
    await contend({});
    const [record, queue, waiters, register, channels] = await run('exclusive');
    expect(record).toMatch(/^\S+ \d{16} \d{13} full v1$/);
    expect(queue).toEqual([expect.stringMatching(/^\S+$/)]);
    expect(waiters).toEqual([
      (queue as string[])[0],
      expect.stringMatching(/^\d{13} \d{13} \d{13} \d+ \d+ (listening|polling) \d{16}$/),
    ]);
    expect(register).toMatch(/^\d{16}$/);
    expect(channels).toEqual([expect.stringMatching(/^lock:1:client:/)]);
  });

  it('show the holders of a shared lock, whose record is a sorted set', async () => {
    await contend({ shared: true });
    const [members, waiters] = (await run('shared')) as [(string | string[])[], string[]];
    // In pairs, where the client speaks RESP3.
    const record = members.flat();
    expect(record).toEqual([expect.stringMatching(/^\S+$/), expect.stringMatching(/^\d{13}$/)]);
    const entries = Object.fromEntries(
      waiters.flatMap((word, index) => (index % 2 === 0 ? [[word, waiters[index + 1]]] : [])),
    );
    expect(entries[`=${record[0]}`]).toMatch(/^\d{16} full 1$/);
    expect(entries['']).toMatch(/^shared/);
  });
});

describe("the guide's quorum", () => {
  it('takes a lock with the votes of three servers', async () => {
    const servers = await Promise.all([1, 2, 3].map(() => startRedis()));
    try {
      const [one, two, three] = servers.map(({ url }) => url);
      const module = await Test.createTestingModule({ imports: [quorumOf(one!, two!, three!)] })
        .setLogger(new KeptLogger())
        .compile();
      await using app = closing(await module.init());
      await using lock = await app.get(RedisLockService).acquire('a');
      expect(lock.isHeld).toBe(true);
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  });
});
