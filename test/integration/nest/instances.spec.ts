import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, type ModuleMetadata, Scope } from '@nestjs/common';
import { LazyModuleLoader, ModuleRef } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { closing, deferred, onSharedRedis } from './fixtures.js';

const compile = async (metadata: ModuleMetadata, options = onSharedRedis()) =>
  closing(
    await Test.createTestingModule({
      ...metadata,
      imports: [RedisLockModule.forRoot(options), ...(metadata.imports ?? [])],
    }).compile(),
  );
const start = async (...args: Parameters<typeof compile>) => closing(await (await compile(...args)).init());

const held = (): string | undefined => currentLock()?.key;

class Plain {
  constructor(readonly label: string) {}
  @DistributedLock({ key: 'plain:#{id}', wait: 0 })
  async m(id: string, work: () => unknown = () => undefined) {
    await work();
    return `${this.label} ${held()}`;
  }
}

describe('instances that Nest did not create', () => {
  it('are locked in a module that was compiled but never initialised', async () => {
    await using app = await compile({
      providers: [
        { provide: 'value', useValue: new Plain('value') },
        { provide: 'factory', useFactory: () => new Plain('factory') },
      ],
    });
    await expect(app.get<Plain>('value').m('1')).resolves.toBe('value plain:1');
    await expect(app.get<Plain>('factory').m('1')).resolves.toBe('factory plain:1');
  });

  it('are locked in lazy modules, as classes are', async () => {
    @Injectable()
    class Lazy {
      @DistributedLock('lazy')
      async m() {
        return held();
      }
    }
    @Module({
      providers: [
        Lazy,
        { provide: 'value', useValue: new Plain('value') },
        { provide: 'factory', useFactory: async () => new Plain('factory') },
      ],
    })
    class LazyModule {}
    await using app = await start({});
    const lazy = await app.get(LazyModuleLoader).load(() => LazyModule);
    await expect(lazy.get(Lazy).m()).resolves.toBe('lazy');
    await expect(lazy.get<Plain>('value').m('1')).resolves.toBe('value plain:1');
    await expect(lazy.get<Plain>('factory').m('1')).resolves.toBe('factory plain:1');
  });

  it('are locked when a transient factory made them, one for each consumer', async () => {
    await using app = await start({
      providers: [
        { provide: 'plain', scope: Scope.TRANSIENT, useFactory: () => new Plain('transient') },
        { provide: 'one', inject: ['plain'], useFactory: (plain: Plain) => plain },
        { provide: 'other', inject: ['plain'], useFactory: (plain: Plain) => plain },
      ],
    });
    const [one, other] = [app.get<Plain>('one'), app.get<Plain>('other')];
    expect(one).not.toBe(other);
    await expect(one.m('1')).resolves.toBe('transient plain:1');
    await expect(other.m('1')).resolves.toBe('transient plain:1');
  });

  it('reject when a factory makes them for each request, and the error says what to do instead', async () => {
    const plain = { provide: 'label', useValue: 'made' };
    @Injectable()
    class Made {
      @DistributedLock('made')
      async m() {
        return held();
      }
    }
    await using app = await start({
      providers: [
        plain,
        { provide: 'rejects', scope: Scope.REQUEST, useFactory: () => new Made() },
        {
          provide: 'works',
          scope: Scope.REQUEST,
          inject: [ModuleRef],
          useFactory: (nest: ModuleRef) => nest.create(Made),
        },
      ],
    });
    await expect((await app.resolve<Made>('rejects')).m()).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining('ModuleRef.create'),
    });
    await expect((await app.resolve<Made>('works')).m()).resolves.toBe('made');
  });

  it('are locked by the next application after the first one has closed', async () => {
    const value = new Plain('value');
    const providers = [{ provide: 'value', useValue: value }];
    for (const application of ['first', 'second', 'third']) {
      await using app = await (application === 'second' ? compile : start)({ providers });
      await app.get(RedisLockService).using('plain:1', async () => {
        // Re-entered: the lock is that of this application.
        await expect(value.m('1')).resolves.toBe('value plain:1');
      });
    }
    await expect(value.m('1')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });

  it('are locked even if they are frozen', async () => {
    @Injectable()
    class Frozen extends Plain {
      constructor() {
        super('frozen');
        Object.freeze(this);
      }
    }
    @Injectable({ scope: Scope.REQUEST })
    class FrozenOfRequest extends Frozen {}
    await using app = await start({
      providers: [Frozen, FrozenOfRequest, { provide: 'value', useValue: Object.freeze(new Plain('value')) }],
    });
    await expect((await app.resolve(FrozenOfRequest)).m('1')).resolves.toBe('frozen plain:1');
    await expect(app.get(Frozen).m('1')).resolves.toBe('frozen plain:1');
    await expect(app.get<Plain>('value').m('1')).resolves.toBe('value plain:1');
  });

  it('are locked once behind a Proxy, whether `this` is the Proxy or the object', async () => {
    const bound = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (object, property) => {
          const value: unknown = Reflect.get(object, property);
          return typeof value === 'function' ? (value.bind(object) as unknown) : value;
        },
      });
    @Injectable()
    class Wrapped extends Plain {
      constructor() {
        super('wrapped');
        return new Proxy(this, {});
      }
    }
    @Injectable()
    class Inner extends Plain {
      constructor() {
        super('inner');
      }
    }
    await using app = await start({
      providers: [
        Wrapped,
        Inner,
        { provide: 'transparent', inject: [Inner], useFactory: (inner: Inner) => new Proxy(inner, {}) },
        { provide: 'binding', inject: [Inner], useFactory: bound },
        { provide: 'own', useFactory: () => bound(new Plain('own')) },
      ],
    });
    for (const [token, label] of [
      [Wrapped, 'wrapped'],
      ['transparent', 'inner'],
      ['binding', 'inner'],
      ['own', 'own'],
    ] as const) {
      const depth = deferred();
      const plain = app.get<Plain>(token);
      await expect(plain.m('1', () => (currentLock()?.depth === 1 ? depth.resolve() : undefined))).resolves.toBe(
        `${label} plain:1`,
      );
      await depth.promise;
    }
  });
});

describe('two applications in one process', () => {
  @Injectable()
  class Service extends Plain {
    constructor() {
      super('class');
    }
  }
  const providers = () => [
    Service,
    { provide: 'factory', useFactory: () => new Plain('factory') },
    { provide: 'value', useValue: new Plain('value') },
  ];
  const tokens = [Service, 'factory', 'value'];

  it('with common classes use their own locks: neither sees nor ends the locks of the other', async () => {
    const [options, others] = [onSharedRedis(), onSharedRedis()];
    await using one = await start({ providers: providers() }, options);
    const other = await start({ providers: providers() }, others);
    for (const token of tokens) {
      const ofOne = one.get(RedisLockService);
      await ofOne.using('plain:1', async () => {
        // Held in one application, free in the other: no wait, no re-entry.
        await expect(other.get<Plain>(token).m('1')).resolves.toContain('plain:1');
        expect(other.get(RedisLockService).current()).toBeUndefined();
      });
      await using _held = await other.get(RedisLockService).acquire('plain:1');
      await expect(other.get<Plain>(token).m('1')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await expect(one.get<Plain>(token).m('1')).resolves.toContain('plain:1');
    }
    await other.close();
    for (const token of tokens) {
      await expect(other.get<Plain>(token).m('1')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      await expect(one.get<Plain>(token).m('1')).resolves.toContain('plain:1');
    }
  });

  it('exclude each other if they share a prefix', async () => {
    const options = onSharedRedis();
    await using one = await start({ providers: providers() }, options);
    await using other = await start({ providers: providers() }, options);
    for (const token of tokens) {
      await one.get<Plain>(token).m('1', async () => {
        await expect(other.get<Plain>(token).m('1')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      });
    }
  });
});
