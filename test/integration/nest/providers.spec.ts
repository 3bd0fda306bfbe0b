import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Injectable, type ModuleMetadata, Param, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { closing, deferred, onSharedRedis } from './fixtures.js';

const start = async (metadata: ModuleMetadata, options = onSharedRedis()) =>
  closing(
    await (
      await Test.createTestingModule({
        ...metadata,
        imports: [RedisLockModule.forRoot(options), ...(metadata.imports ?? [])],
      }).compile()
    ).init(),
  );

/** What a locked method sees of its lock. */
const held = (): string | undefined => currentLock()?.key;

class Plain {
  constructor(readonly label = 'plain') {}
  @DistributedLock('plain:#{id}')
  async m(id: string) {
    return `${this.label} ${held()} ${id}`;
  }
}

describe('@DistributedLock in Nest', () => {
  it('locks methods of singletons', async () => {
    await using app = await start({ providers: [Plain] });
    await expect(app.get(Plain).m('1')).resolves.toBe('plain plain:1 1');
  });

  it('locks providers of useFactory and useValue', async () => {
    await using app = await start({
      providers: [
        { provide: 'factory', useFactory: async () => new Plain('factory') },
        { provide: 'value', useValue: new Plain('value') },
        { provide: 'alias', useExisting: 'value' },
      ],
    });
    for (const [token, label] of [
      ['factory', 'factory'],
      ['value', 'value'],
      ['alias', 'value'],
    ] as const) {
      await expect(app.get<Plain>(token).m('1')).resolves.toBe(`${label} plain:1 1`);
    }
  });

  it('locks transient and request-scoped providers, each instance', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient {
      @DistributedLock('t')
      async m() {
        return held();
      }
    }
    @Injectable({ scope: Scope.REQUEST })
    class OfRequest {
      constructor(@Inject(REQUEST) readonly request: unknown) {}
      @DistributedLock('r')
      async m() {
        return [held(), this.request];
      }
    }
    await using app = await start({
      providers: [Transient, OfRequest, { provide: 'user', useFactory: (t: Transient) => t, inject: [Transient] }],
    });
    await expect(app.get<Transient>('user').m()).resolves.toBe('t');
    await expect((await app.resolve(Transient)).m()).resolves.toBe('t');
    const [one, other] = [await app.resolve(OfRequest), await app.resolve(OfRequest)];
    expect(one).not.toBe(other);
    await expect(one.m()).resolves.toEqual(['r', undefined]);
    await expect(other.m()).resolves.toEqual(['r', undefined]);
  });

  it('never runs methods of a request-scoped factory unlocked: the call is refused', async () => {
    await using app = await start({
      providers: [{ provide: 'scoped', scope: Scope.REQUEST, useFactory: () => new Plain() }],
    });
    const plain = await app.resolve<Plain>('scoped');
    await expect(plain.m('1')).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  });

  it('locks inherited methods and constructor injection side by side', async () => {
    @Injectable()
    class Dependency {
      readonly value = 42;
    }
    class Base {
      constructor(readonly dependency: Dependency) {}
      @DistributedLock('base:#{id}')
      async m(id: string) {
        return `${held()} ${this.dependency.value} ${id}`;
      }
    }
    @Injectable()
    class Sub extends Base {
      constructor(dependency: Dependency) {
        super(dependency);
      }
      @DistributedLock('sub:#{id}')
      async n(id: string) {
        return [held(), await this.m(id)];
      }
    }
    await using app = await start({ providers: [Dependency, Sub] });
    await expect(app.get(Sub).n('1')).resolves.toEqual(['sub:1', 'base:1 42 1']);
  });

  it('keeps two applications in one process apart, with the same class', async () => {
    @Injectable()
    class Shared {
      @DistributedLock('same')
      async m(work: () => Promise<void>) {
        await work();
        return held();
      }
    }
    await using one = await start({ providers: [Shared] });
    await using two = await start({ providers: [Shared] });
    const [inside, leave] = [deferred(), deferred()];
    const first = one.get(Shared).m(async () => {
      inside.resolve();
      await leave.promise;
    });
    await inside.promise;
    // Another prefix: with the first application's lock this would wait.
    await expect(two.get(Shared).m(async () => {})).resolves.toBe('same');
    leave.resolve();
    await first;
  });

  it('locks for hooks of other modules and for factories that run before the application has started', async () => {
    const seen: unknown[] = [];
    class Early {
      constructor(readonly locks: RedisLockService) {}
      async onModuleInit() {
        seen.push(await this.locks.using('init', held));
      }
    }
    await using _app = await start({
      providers: [
        {
          provide: 'early',
          inject: [RedisLockService],
          useFactory: async (locks: RedisLockService) => {
            seen.push(await locks.using('factory', held));
            return new Early(locks);
          },
        },
      ],
    });
    expect(seen).toEqual(['factory', 'init']);
  });

  it('works in a module that was compiled but never initialised, as in unit tests', async () => {
    const module = closing(
      await Test.createTestingModule({
        imports: [RedisLockModule.forRoot(onSharedRedis())],
        providers: [Plain],
      }).compile(),
    );
    await using _closed = module;
    await expect(module.get(Plain).m('1')).resolves.toBe('plain plain:1 1');
  });

  it('serializes the calls for one key, and lets calls for another key run', async () => {
    const order: string[] = [];
    @Injectable()
    class Products {
      @DistributedLock('product:#{id}')
      async buy(id: string, work: () => Promise<void>) {
        order.push(`in ${id}`);
        await work();
        order.push(`out ${id}`);
      }
    }
    await using app = await start({ providers: [Products] });
    const products = app.get(Products);
    const [inside, leave] = [deferred(), deferred()];
    const first = products.buy('1', async () => {
      inside.resolve();
      await leave.promise;
    });
    await inside.promise;
    const second = products.buy('1', async () => {});
    await products.buy('2', async () => {});
    leave.resolve();
    await Promise.all([first, second]);
    expect(order).toEqual(['in 1', 'in 2', 'out 2', 'out 1', 'in 1', 'out 1']);
  });

  it('locks controller methods with all their metadata: route, parameters, status', async () => {
    @Controller('things')
    class Things {
      @Get(':id')
      @DistributedLock('thing:#{id}')
      async above(@Param('id') id: string) {
        return { id, held: held() };
      }

      @DistributedLock('other:#{id}')
      @Get('other/:id')
      async below(@Param('id') id: string) {
        return { id, held: held() };
      }
    }
    const module = await Test.createTestingModule({
      imports: [RedisLockModule.forRoot(onSharedRedis())],
      controllers: [Things],
    }).compile();
    await using app = closing(module.createNestApplication({ logger: false }));
    await app.listen(0, '127.0.0.1');
    const get = async (path: string) => (await fetch(`${await app.getUrl()}/things/${path}`)).json();
    await expect(get('7')).resolves.toEqual({ id: '7', held: 'thing:7' });
    await expect(get('other/8')).resolves.toEqual({ id: '8', held: 'other:8' });
  });
});
