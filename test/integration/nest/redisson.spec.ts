import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { DistributedLock, RedisLockModule, type RedisLockModuleOptions, RedisLockService } from 'nestjs-redis-lock';
import { slotOfKey, withPoll } from '../../support/backends.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { ClusterGroup } from '../../support/cluster-group.js';
import { sharedRedisUrl, startRedis } from '../../support/redis-server.js';
import { closing } from './fixtures.js';

let redis: Redis;
beforeAll(() => void (redis = new Redis(sharedRedisUrl())));
afterAll(() => redis.quit());

@Injectable()
class Products {
  @DistributedLock('product:#{id}')
  async take(id: string): Promise<string[]> {
    return [...(await redis.hkeys(`product:${id}`)), ...(await redis.hkeys(`shop:product:${id}`))];
  }

  @DistributedLock({ key: 'product:#{id}', wait: '1m' })
  async during(id: string, work: () => Promise<void>): Promise<void> {
    await work();
  }
}

@Injectable()
class Readers {
  @DistributedLock({ key: 'product:#{id}', shared: true })
  async read(id: string): Promise<string> {
    return id;
  }
}

@Injectable()
class Gateway {
  @DistributedLock({ key: 'gateway', limit: 3 })
  async call(): Promise<void> {}
}

async function start(
  options: RedisLockModuleOptions,
  ...providers: Type[]
): Promise<{ app: AsyncDisposable & TestingModule; log: KeptLog }> {
  const log = new KeptLog();
  const module = await Test.createTestingModule({
    imports: [RedisLockModule.forRoot({ redis: sharedRedisUrl(), redisson: true, ...options })],
    providers,
  })
    .setLogger(log)
    .compile();
  return { app: closing(await module.init()), log };
}

describe("an application with locks in Redisson's format", () => {
  it.each([
    ['no prefix', {}],
    ['keyPrefix, as a NameMapper of Redisson adds it,', { keyPrefix: 'shop:' }],
  ])('locks the name itself, with %s in front', async (_, options) => {
    await using app = (await start(options, Products)).app;
    const id = randomUUID();
    expect(await app.get(Products).take(id)).toEqual([expect.stringMatching(/:Products\.take@\d+$/)]);
    expect(await redis.exists(`product:${id}`, `shop:product:${id}`)).toBe(0);
  });

  it('locks on a cluster, where a thread of Java keeps a method waiting until its message', async () => {
    await using group = await ClusterGroup.start();
    const { backend } = withPoll(600_000, { cluster: group.connection, redisson: true });
    await using app = (await start({ redis: undefined, redisson: undefined, backend }, Products)).app;
    const id = randomUUID();
    const name = `product:${id}`;
    const server = group.admin(await group.ownerOf(slotOfKey(name)));
    await server.multi().hset(name, '8743c9c0-0795-4907-87fd-6c719a6b4586:47', 1).pexpire(name, 3_600_000).exec();
    let isInside = false;
    const taking = app.get(Products).during(id, async () => {
      isInside = true;
      expect(await server.hkeys(name)).toEqual([expect.stringMatching(/:Products\.during@\d+$/)]);
    });
    const channel = `redisson_lock__channel:{${name}}`;
    while (Number(((await server.call('PUBSUB', 'SHARDNUMSUB', channel)) as unknown[])[1]) === 0);
    expect(isInside).toBe(false);
    await server.multi().del(name).call('SPUBLISH', channel, '0').exec();
    await taking;
    expect(isInside).toBe(true);
  }, 60_000);

  it.each([
    ['shared', Readers, 'Readers.read: shared:'],
    ['with permits', Gateway, 'Gateway.call: limit:'],
  ])('does not start with a lock that is %s, and says where it is', async (_, type, place) => {
    await expect(start({}, type)).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining(`@DistributedLock on ${place}`),
    });
  });

  it('starts with such locks on another connection', async () => {
    const log = new KeptLog();
    @Injectable()
    class Reports {
      @DistributedLock({ key: 'report', shared: true, connection: 'own' })
      async read(): Promise<string> {
        return 'read';
      }
    }
    const module = await Test.createTestingModule({
      imports: [
        RedisLockModule.forRoot({ redis: sharedRedisUrl(), redisson: true }),
        RedisLockModule.forRoot({ redis: sharedRedisUrl(), name: 'own' }),
      ],
      providers: [Reports],
    })
      .setLogger(log)
      .compile();
    await using app = closing(await module.init());
    expect(await app.get(Reports).read()).toBe('read');
  });

  it('is warned that shared tokens begin again with a Redis that may lose its data; own tokens do not', async () => {
    await using server = await startRedis({ args: ['--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru'] });
    const linesOf = async (tokens: 'own' | 'fenced'): Promise<string[]> => {
      const { app, log } = await start({ redis: server.url, redisson: { tokens } });
      await using _app = app;
      return log.lines.filter((line) => line.includes('LOCK_DOCTOR'));
    };
    const again = (code: string) => expect.stringMatching(new RegExp(`^warn .*begin again at 1.*\\[${code}\\]$`));
    expect(await linesOf('fenced')).toEqual([again('LOCK_DOCTOR_EVICTION'), again('LOCK_DOCTOR_PERSISTENCE')]);
    expect((await linesOf('own')).join()).not.toContain('begin again');
  });

  it('takes several names, and is refused a call that is shared', async () => {
    await using app = (await start({})).app;
    const locks = app.get(RedisLockService);
    const names = [randomUUID(), randomUUID()];
    await using _ = await locks.acquire(names);
    for (const name of names) expect(await redis.hvals(name)).toEqual(['1']);
    await expect(locks.acquire(names[0]!, { shared: true })).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining("kind 'shared'"),
    });
  });
});
