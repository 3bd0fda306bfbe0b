import 'reflect-metadata';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Cluster } from 'ioredis';
import {
  DistributedLock,
  getRedisLockToken,
  InjectRedisLock,
  LockConfigurationError,
  RedisLockModule,
  type RedisLockModuleOptions,
  type RedisLockOptionsFactory,
  RedisLockService,
} from 'nestjs-redis-lock';
import { closing, onSharedRedis } from './fixtures.js';

const start = async (...imports: NonNullable<Parameters<typeof Test.createTestingModule>[0]['imports']>) =>
  closing(
    await (
      await Test.createTestingModule({ imports })
        // Nest would print what is expected here.
        .setLogger(false as never)
        .compile()
    ).init(),
  );

const taking = async (locks: RedisLockService): Promise<string> => locks.using('a', (lock) => lock.key);

@Injectable()
class Factory implements RedisLockOptionsFactory {
  createRedisLockOptions() {
    return onSharedRedis();
  }
}
@Module({ providers: [Factory], exports: [Factory] })
class FactoryModule {}

describe('RedisLockModule', () => {
  it.each([
    ['forRoot', () => RedisLockModule.forRoot(onSharedRedis())],
    ['forRootAsync with a factory', () => RedisLockModule.forRootAsync({ useFactory: async () => onSharedRedis() })],
    [
      'forRootAsync with injected dependencies',
      () =>
        RedisLockModule.forRootAsync({
          imports: [FactoryModule],
          inject: [Factory],
          useFactory: (factory: Factory) => factory.createRedisLockOptions(),
        }),
    ],
    ['forRootAsync with a class', () => RedisLockModule.forRootAsync({ useClass: Factory })],
    [
      'forRootAsync with an existing provider',
      () => RedisLockModule.forRootAsync({ imports: [FactoryModule], useExisting: Factory }),
    ],
  ])('gives every module the service through %s', async (_how, configure) => {
    @Injectable()
    class User {
      constructor(readonly locks: RedisLockService) {}
    }
    @Module({ providers: [User] })
    class Feature {}
    await using app = await start(configure(), Feature);
    await expect(taking(app.get(User, { strict: false }).locks)).resolves.toBe('a');
  });

  it('keeps several named connections side by side', async () => {
    const events: unknown[] = [];
    @Injectable()
    class User {
      constructor(
        readonly locks: RedisLockService,
        @InjectRedisLock('billing') readonly billing: RedisLockService,
        @InjectRedisLock() readonly same: RedisLockService,
      ) {}
      @DistributedLock({ key: 'a', connection: 'billing' })
      async pay() {
        events.push(this.locks.current()?.key, this.billing.current()?.key);
        // The same name on another connection is another lock.
        return this.locks.using('a', () => events.push(this.locks.current()?.key));
      }
    }
    await using app = await start(
      { module: class Root {}, providers: [User] },
      RedisLockModule.forRoot(onSharedRedis()),
      RedisLockModule.forRoot(onSharedRedis({ name: 'billing' })),
    );
    const user = app.get(User, { strict: false });
    expect(user.same).toBe(user.locks);
    expect(user.billing).not.toBe(user.locks);
    await user.pay();
    expect(events).toEqual([undefined, 'a', 'a']);
  });

  it('has a token for each connection: for get, inject and overrideProvider', async () => {
    const injected = {
      provide: 'injected',
      useFactory: (given: unknown) => given,
      inject: [getRedisLockToken('billing')],
    };
    const imports = [
      RedisLockModule.forRoot(onSharedRedis()),
      RedisLockModule.forRoot(onSharedRedis({ name: 'billing' })),
    ];
    await using app = await start({ module: class Root {}, providers: [injected] }, ...imports);
    const billing = app.get(getRedisLockToken('billing'));
    expect(billing).toBeInstanceOf(RedisLockService);
    expect(app.get('injected', { strict: false })).toBe(billing);
    expect(app.get(getRedisLockToken())).toBe(app.get(RedisLockService));
    expect(app.get(getRedisLockToken())).not.toBe(billing);
    const fake = { using: () => 'fake' };
    const other = await Test.createTestingModule({ imports, providers: [injected] })
      .overrideProvider(getRedisLockToken('billing'))
      .useValue(fake)
      .compile();
    expect([other.get('injected'), other.get(RedisLockService) === (fake as unknown)]).toEqual([fake, false]);
    await other.close();
  });

  it('refuses two connections of the same name', async () => {
    const twice = (name?: string) =>
      [1, 2].map(() => RedisLockModule.forRoot(onSharedRedis(name === undefined ? {} : { name })));
    await expect(start(...twice())).rejects.toThrow(/connection 'default' exists twice/);
    await expect(start(...twice('billing'))).rejects.toThrow(/connection 'billing' exists twice/);
  });

  it('may be imported by several modules', async () => {
    const locks = RedisLockModule.forRoot(onSharedRedis({ isGlobal: false }));
    @Module({ imports: [locks] })
    class A {}
    @Module({ imports: [locks] })
    class B {}
    await using app = await start(A, B);
    await expect(taking(app.get(RedisLockService, { strict: false }))).resolves.toBe('a');
  });

  it('passes `replicas` on to Redis: without a replica no lock is granted', async () => {
    await using app = await start(RedisLockModule.forRoot(onSharedRedis({ replicas: { count: 1, timeout: 50 } })));
    await expect(app.get(RedisLockService).acquire('a', { wait: 0 })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
  });

  it('stays private to the modules that import it with isGlobal: false', async () => {
    @Injectable()
    class User {
      @DistributedLock('a')
      async m() {}
    }
    @Module({ providers: [User] })
    class Feature {}
    await expect(start(RedisLockModule.forRoot(onSharedRedis({ isGlobal: false })), Feature)).rejects.toThrow(
      /import RedisLockModule\.forRoot\(\)/,
    );
  });

  it('does not start without the module, and the error of Nest names what is missing', async () => {
    class User {
      @DistributedLock('a')
      async m() {}
    }
    class Payer {
      @DistributedLock({ key: 'a', connection: 'billing' })
      async m() {}
    }
    await expect(start({ module: class Root {}, providers: [User] })).rejects.toThrow(
      /User.*nestjs-redis-lock: import RedisLockModule\.forRoot\(\)/,
    );
    await expect(
      start({ module: class Root {}, providers: [Payer] }, RedisLockModule.forRoot(onSharedRedis())),
    ).rejects.toThrow(/Payer.*RedisLockModule\.forRoot\(\{ name: 'billing' \}\)/);
    // Nest does not inject into objects of a factory; they are found at start.
    await expect(
      start(
        { module: class Root {}, providers: [{ provide: Payer, useFactory: () => new Payer() }] },
        RedisLockModule.forRoot(onSharedRedis()),
      ),
    ).rejects.toThrow(/Payer: a decorator names the connection 'billing'/);
  });

  const wrong: Array<[string, unknown, string]> = [
    ['a misspelt option', { leese: '5s' }, "Did you mean 'lease'?"],
    ['an unknown option', { clusters: { nodes: [] } }, "no option 'clusters'"],
    ['a wrong lease', { lease: 0 }, 'lease: 0'],
    ['an endless lease', { lease: Infinity }, 'lease: Infinity'],
    ['a wrong wait', { wait: -1 }, 'wait: -1'],
    ['a wrong maxHold', { maxHold: true }, 'maxHold: true'],
    ['a wrong fairness', { fairness: 'none' }, 'fairness:'],
    ['a wrong onLost', { onLost: 'ignore' }, 'onLost:'],
    ['a wrong maxWaiters', { maxWaiters: 0 }, 'maxWaiters: 0'],
    ['a wrong commandTimeout', { commandTimeout: 'soon' }, "commandTimeout: 'soon'"],
    ['a cluster without nodes', { cluster: { nodes: [] } }, 'cluster.nodes'],
    ['an invalid node', { cluster: { nodes: [true] } }, 'cluster.nodes: true'],
    ['an unknown option of a cluster', { cluster: { nodes: [7000], optoins: {} } }, "'options'"],
    ['invalid options of a cluster', { cluster: { nodes: [7000], options: 1 } }, 'cluster.options: 1'],
    ['a cluster by SRV records', { cluster: { nodes: ['a'], options: { useSRVRecords: true } } }, 'useSRVRecords'],
    [
      'a cluster and a server',
      { cluster: { nodes: [7000] }, redis: 'redis://127.0.0.1:1' },
      "cannot be combined with 'redis'",
    ],
    ['replicas of a cluster', { cluster: { nodes: [7000] }, replicas: { count: 1, timeout: 100 } }, 'replicas: works'],
    ['a client as cluster', { cluster: new Cluster([7000], { lazyConnect: true }) }, 'give it as redis'],
    [
      'a quorum in the format of Redisson',
      { quorum: { nodes: [] }, redisson: true },
      "redisson: cannot be combined with 'quorum'",
    ],
    ['a wrong redisson', { redisson: 'yes' }, 'redisson: a string given'],
    ['a wrong source of tokens', { redisson: { tokens: 'java' } }, "redisson.tokens: 'java' given"],
    ['an unknown option of redisson', { redisson: { token: 'own' } }, "Did you mean 'tokens'?"],
    ['no replica', { replicas: { count: 0, timeout: 100 } }, 'replicas.count: 0'],
    ['no time for replicas', { replicas: { count: 1 } }, 'replicas.timeout'],
    ['too much time for replicas', { replicas: { count: 1, timeout: '1s' } }, 'replicas.timeout: 1000 ms'],
    ['a wrong shutdownTimeout', { shutdownTimeout: Number.NaN }, 'shutdownTimeout: NaN'],
    ['a wrong strict', { strict: 'yes' }, "strict: 'yes'"],
    ['a wrong httpErrors', { httpErrors: 1 }, 'httpErrors: 1'],
    ['a wrong keyPrefix', { keyPrefix: 7 }, 'keyPrefix: 7'],
    ['a redis that is no URL', { redis: 'localhost' }, 'redis: this string'],
    ['a redis that is a port', { redis: 6379 }, 'redis: 6379'],
    ['a url inside redis', { redis: { url: 'redis://:secret@host' } }, "redis: ioredis has no option 'url'"],
    ['a uri inside redis', { redis: { uri: 'redis://host' } }, 'Write redis: url'],
    ['a type inside redis', { redis: { type: 'single', host: 'h' } }, "redis: ioredis has no option 'type'"],
    ['a config inside redis', { redis: { config: { host: 'h' } } }, "redis: ioredis has no option 'config'"],
    ['nodes inside redis', { redis: { nodes: [7000] } }, 'cluster: { nodes }'],
    [
      'a url inside a node of a quorum',
      { quorum: { nodes: [{ host: 'a' }, { host: 'b' }, { url: 'redis://c' }] } },
      "quorum.nodes: ioredis has no option 'url'",
    ],
    ['a quorum of one', { quorum: { nodes: ['redis://a'] } }, 'quorum.nodes: 1 given; a quorum has 3, 5 or 7'],
    ['a quorum of two', { quorum: { nodes: ['redis://a', 'redis://b'] } }, 'quorum.nodes: 2 given'],
    [
      'a quorum of four',
      { quorum: { nodes: ['a', 'b', 'c', 'd'].map((host) => `redis://${host}`) } },
      'An even number',
    ],
    ['a quorum without servers', { quorum: {} }, 'quorum.nodes: undefined given'],
    ['a quorum with an invalid node', { quorum: { nodes: ['redis://a', 'b', 'c'] } }, 'quorum.nodes: this string'],
    ['a misspelt option of a quorum', { quorum: { nodes: [], restartguard: 5 } }, "Did you mean 'restartGuard'?"],
    [
      'a dropped option of a quorum',
      { quorum: { nodes: [], fencing: true } },
      "there is no option 'fencing'. Known: nodes, nodeTimeout, restartGuard",
    ],
    ['maxLocalHandoffs', { maxLocalHandoffs: 16 }, "there is no option 'maxLocalHandoffs'"],
    [
      'a wrong restartGuard',
      { quorum: { nodes: [1, 2, 3].map((host) => `redis://${host}`), restartGuard: -1 } },
      'quorum.restartGuard: -1',
    ],
    ['a commandTimeout of zero', { commandTimeout: 0 }, 'commandTimeout: 0'],
    ['a wrong commandTimeout', { commandTimeout: Number.NaN }, 'commandTimeout: NaN'],
    ['a quorum beside redis', { quorum: { nodes: [] }, redis: 'redis://h' }, "redis: cannot be combined with 'quorum'"],
    ['commandTimeout beside a quorum', { quorum: { nodes: [] }, commandTimeout: 100 }, 'set quorum.nodeTimeout'],
    [
      'replicas beside a quorum',
      { quorum: { nodes: [] }, replicas: { count: 1 } },
      'replicas: cannot be combined with quorum',
    ],
    [
      'a restartGuard that is shorter than the lease',
      { quorum: { nodes: ['redis://a', 'redis://b', 'redis://c'], restartGuard: '10s' } },
      'shorter than the lease (30000 ms)',
    ],
    ['an invalid backend', { backend: {} }, 'backend: an object'],
    [
      'a backend beside redis',
      { backend: { acquire() {} }, redis: 'redis://h' },
      "redis: cannot be combined with 'backend'",
    ],
    ['an empty name', { name: '' }, "name: ''"],
    ['the name of the default connection', { name: 'default' }, "name: 'default'"],
    ['a wrong isGlobal', { isGlobal: 0 }, 'isGlobal: 0'],
    ['null', null, 'null given'],
  ];
  it.each(wrong)('refuses %s at once', (_what, options, problem) => {
    let caught: unknown;
    try {
      RedisLockModule.forRoot(options as RedisLockModuleOptions);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(LockConfigurationError);
    expect((caught as Error).message).toContain(problem);
  });

  it('never shows a password in an error about redis', () => {
    expect(() => RedisLockModule.forRoot({ redis: 'user:secret@host' })).toThrow(/^(?!.*secret)/);
    expect(() => RedisLockModule.forRoot({ redis: { url: 'redis://:secret@host' } as never })).toThrow(/^(?!.*secret)/);
  });

  it.each([
    ['has a # in the password', 'redis://:secret#1@host:6379'],
    ['has a / in the password', 'redis://:a/secret@host:6379'],
    ['has a wrong percent sign in the password', 'redis://:secret%zz@host:6379'],
    ['names a database that is no number', 'redis://:secret@host/shop'],
  ])('refuses a URL that %s, and shows nothing of it, not even in a field of the error', (_what, url) => {
    const places = { redis: url, quorum: { nodes: [url, 'redis://b', 'redis://c'] }, cluster: { nodes: [url] } };
    const shown = Object.entries(places).map(([place, given]) => {
      try {
        return RedisLockModule.forRoot({ [place]: given });
      } catch (error) {
        expect(error).toBeInstanceOf(LockConfigurationError);
        return inspect(error, { showHidden: true });
      }
    });
    expect(shown).toEqual(
      ['redis', 'quorum.nodes', 'cluster.nodes'].map((place) =>
        expect.stringContaining(`${place}: this URL cannot be read`),
      ),
    );
    expect(inspect(shown)).not.toContain('secret');
  });

  it('refuses at start wrong options of a factory', async () => {
    await expect(start(RedisLockModule.forRootAsync({ useFactory: () => ({ leese: 5 }) as never }))).rejects.toThrow(
      /Did you mean 'lease'/,
    );
    await expect(
      start(RedisLockModule.forRootAsync({ useFactory: () => ({ name: 'billing' }) as never })),
    ).rejects.toThrow(/name.*beside/);
    await expect(start(RedisLockModule.forRootAsync({ useFactory: () => undefined as never }))).rejects.toThrow(
      /forRootAsync: the factory returned undefined; let it return the options/,
    );
  });

  it('refuses a wrong forRootAsync at once', () => {
    expect(() => RedisLockModule.forRootAsync({ useFactori: () => ({}) } as never)).toThrow(
      /Did you mean 'useFactory'/,
    );
    expect(() => RedisLockModule.forRootAsync({})).toThrow(/one of useFactory, useClass and useExisting/);
    expect(() => RedisLockModule.forRootAsync({ useFactory: () => ({}), useClass: Factory })).toThrow(/one of/);
    expect(() => RedisLockModule.forRootAsync({ useFactory: () => ({}), name: '' })).toThrow(/name: ''/);
  });
});

describe('RedisLockService', () => {
  it('tryAcquire returns null after one try when the lock is held', async () => {
    await using app = await start(RedisLockModule.forRoot(onSharedRedis()));
    const locks = app.get(RedisLockService, { strict: false });
    await using lock = await locks.acquire('a');
    expect(lock.isHeld).toBe(true);
    await expect(locks.tryAcquire('a')).resolves.toBeNull();
    await using other = await locks.tryAcquire('b');
    expect(other?.key).toBe('b');
  });

  it('acquire rejects with LOCK_CONTENDED after one try, and with LOCK_WAIT_TIMEOUT after waiting', async () => {
    await using app = await start(RedisLockModule.forRoot(onSharedRedis()));
    const locks = app.get(RedisLockService, { strict: false });
    await using _lock = await locks.acquire('a');
    await expect(locks.acquire('a', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED', key: 'a' });
    await expect(locks.acquire('a', { wait: 20 })).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT', key: 'a' });
    await expect(locks.tryAcquire('a', { wait: 20 })).resolves.toBeNull();
  });

  it('using returns the result, rethrows the error, and provides currentLock() only inside', async () => {
    await using app = await start(RedisLockModule.forRoot(onSharedRedis()));
    const locks = app.get(RedisLockService, { strict: false });
    const inside = await locks.using('a', { lease: '5s' }, async (lock) => [
      lock.key,
      locks.current() === locks.current('a'),
      locks.current('b'),
    ]);
    expect(inside).toEqual(['a', true, undefined]);
    await expect(
      locks.using('a', () => {
        throw new Error('business');
      }),
    ).rejects.toThrow('business');
    expect(locks.current()).toBeUndefined();
    expect(await locks.tryAcquire('a').then((lock) => lock?.release().then(() => 'free'))).toBe('free');
  });

  it.each([undefined, null, '', 7, {}, [], Symbol('a'), 'a\ud800', 'x'.repeat(1025)])(
    'rejects the key %p, and does not throw',
    async (key) => {
      await using app = await start(RedisLockModule.forRoot(onSharedRedis()));
      const locks = app.get(RedisLockService, { strict: false });
      for (const call of [
        locks.acquire(key as string),
        locks.tryAcquire(key as string),
        locks.using(key as string, () => 1),
      ]) {
        await expect(call).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
      }
    },
  );

  it('rejects wrong options, and work that is no function, before it takes the lock', async () => {
    await using app = await start(RedisLockModule.forRoot(onSharedRedis()));
    const locks = app.get(RedisLockService, { strict: false });
    await expect(locks.acquire('a', { leese: 1 } as never)).rejects.toThrow(/Did you mean 'lease'/);
    await expect(locks.using('a', { wait: 0 }, undefined as never)).rejects.toThrow(
      /RedisLockService.using: undefined given/,
    );
    await expect(locks.using('a', undefined as never)).rejects.toThrow(/RedisLockService.using: undefined given/);
    const reason = new Error('gone');
    await expect(locks.acquire('a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await using lock = await locks.tryAcquire('a');
    expect(lock).not.toBeNull();
  });
});
