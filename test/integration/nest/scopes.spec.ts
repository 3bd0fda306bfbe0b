import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Injectable, type ModuleMetadata, Scope } from '@nestjs/common';
import {
  type ContextId,
  ContextIdFactory,
  type ContextIdStrategy,
  type HostComponentInfo,
  ModuleRef,
  REQUEST,
} from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, lockName, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { closing, deferred, onSharedRedis } from './fixtures.js';

const start = async (metadata: ModuleMetadata) => {
  const module = await Test.createTestingModule({
    ...metadata,
    imports: [RedisLockModule.forRoot(onSharedRedis())],
  }).compile();
  const app = closing(module.createNestApplication({ logger: false, forceCloseConnections: true }));
  await app.listen(0, '127.0.0.1');
  const get = async (path: string, tenant = ''): Promise<unknown> =>
    (await fetch(`${await app.getUrl()}/${path}`, { headers: { tenant } })).json();
  return { app, get };
};

const held = () => [currentLock()?.key, currentLock()?.depth];

let instances = 0;
afterEach(() => void (instances = 0));

describe('request-scoped providers', () => {
  @Injectable({ scope: Scope.REQUEST })
  class Cart {
    readonly number = ++instances;
    static inside = deferred();
    static leave = deferred();
    constructor(@Inject(REQUEST) readonly request: { headers: { tenant: string } }) {}

    @DistributedLock({ key: 'cart:#{id}', wait: 0 })
    async open(id: string) {
      return [this.number, this.request.headers.tenant, id, ...held()];
    }

    @DistributedLock({
      key(this: Cart, id: string) {
        return lockName`cart:${this.request.headers.tenant}:${id}`;
      },
      signal(this: Cart) {
        return this.request.headers.tenant === 'gone' ? AbortSignal.abort(new Error('gone')) : undefined;
      },
    })
    async ofTenant(_id: string) {
      return held();
    }

    @DistributedLock({ key: 'cart:#{id}', wait: 0 })
    async keep(id: string) {
      Cart.inside.resolve();
      await Cart.leave.promise;
      return id;
    }
  }
  @Controller('carts')
  class Carts {
    constructor(readonly cart: Cart) {}
    @Get('open')
    async open() {
      return this.cart.open('1');
    }
    @Get('tenant')
    async ofTenant() {
      return this.cart.ofTenant('1');
    }
    @Get('keep')
    @DistributedLock('keeping')
    async keep() {
      return { kept: await this.cart.keep('1') };
    }
  }

  it('and their controllers are locked: each instance excludes those of other requests', async () => {
    const { app, get } = await start({ controllers: [Carts], providers: [Cart] });
    await using _app = app;
    await expect(get('carts/open', 'a')).resolves.toEqual([1, 'a', '1', 'cart:1', 1]);
    await expect(get('carts/open', 'b')).resolves.toEqual([2, 'b', '1', 'cart:1', 1]);
    const kept = get('carts/keep', 'c');
    await Cart.inside.promise;
    await expect(get('carts/open', 'd')).resolves.toMatchObject({ statusCode: 409, code: 'LOCK_CONTENDED' });
    Cart.leave.resolve();
    await expect(kept).resolves.toEqual({ kept: '1' });
  });

  it('use their own fields for keys and signals: the functions of the options are called on the instance', async () => {
    const { app, get } = await start({ controllers: [Carts], providers: [Cart] });
    await using _app = app;
    await expect(Promise.all([get('carts/tenant', 'a'), get('carts/tenant', 'b')])).resolves.toEqual([
      ['cart:a:1', 1],
      ['cart:b:1', 1],
    ]);
    await expect(get('carts/tenant', 'gone')).resolves.toMatchObject({ statusCode: 500 });
  });

  it('may be many: their class is wrapped once, around a decorator above', async () => {
    let calls = 0;
    function Counted(): MethodDecorator {
      return (_target, _property, descriptor: PropertyDescriptor) => {
        const original = descriptor.value as (...args: unknown[]) => unknown;
        descriptor.value = function (this: unknown, ...args: unknown[]) {
          calls++;
          return original.apply(this, args);
        };
      };
    }
    @Injectable({ scope: Scope.REQUEST })
    class Job {
      @Counted()
      @DistributedLock('job')
      async run() {
        return held();
      }
    }
    const standing = () => Object.getOwnPropertyDescriptor(Job.prototype, 'run')!.value as unknown;
    const decorated = standing();
    const { app } = await start({ providers: [Job] });
    await using _app = app;
    await app.resolve(Job);
    const wrapped = standing();
    expect(wrapped).not.toBe(decorated);
    for (let i = 0; i < 5; i++) await expect((await app.resolve(Job)).run()).resolves.toEqual(['job', 1]);
    expect([standing() === wrapped, calls]).toEqual([true, 5]);
  });
});

describe('transient providers', () => {
  it('share one lock, made for singletons, requests, resolve() or create()', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Meter {
      readonly number = ++instances;
      @DistributedLock({ key: 'meter', wait: 0 })
      async read(within: () => Promise<unknown> = async () => this.number): Promise<unknown> {
        return [...held(), await within()];
      }
    }
    @Injectable()
    class House {
      constructor(readonly meter: Meter) {}
    }
    @Injectable({ scope: Scope.REQUEST })
    class Visit {
      constructor(readonly meter: Meter) {}
    }
    const { app } = await start({ providers: [Meter, House, Visit] });
    await using _app = app;
    const meters = [
      app.get(House).meter,
      (await app.resolve(Visit)).meter,
      await app.resolve(Meter),
      await app.get(ModuleRef).create(Meter),
    ];
    expect(new Set(meters).size).toBe(4);
    for (const meter of meters) await expect(meter.read()).resolves.toEqual(['meter', 1, meter.number]);
    await using _held = await app.get(RedisLockService).acquire('meter');
    for (const meter of meters) await expect(meter.read()).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  });
});

describe('durable providers', () => {
  /** As in Nest's documentation: one tree of durable instances for each tenant. */
  class ByTenant implements ContextIdStrategy<{ headers?: { tenant?: string } }> {
    private readonly tenants = new Map<string, ContextId>();
    attach(contextId: ContextId, request: { headers?: { tenant?: string } }) {
      const tenant = request.headers?.tenant;
      if (!tenant) return () => contextId;
      let ofTenant = this.tenants.get(tenant);
      if (!ofTenant) this.tenants.set(tenant, (ofTenant = ContextIdFactory.create()));
      return { resolve: (info: HostComponentInfo) => (info.isTreeDurable ? ofTenant : contextId), payload: { tenant } };
    }
  }

  @Injectable({ scope: Scope.REQUEST, durable: true })
  class Tenant {
    readonly number = ++instances;
    constructor(@Inject(REQUEST) readonly payload: { tenant: string }) {}

    @DistributedLock({ key: (id: string) => `invoice:${id}`, wait: 0 })
    async invoice(id: string) {
      return [this.payload.tenant, this.number, id, ...held()];
    }
  }
  @Controller('invoices')
  class Invoices {
    constructor(readonly tenant: Tenant) {}
    @Get()
    @DistributedLock('invoices')
    async get() {
      return [...held(), await this.tenant.invoice('1')];
    }
  }

  it('are locked, one instance for a tenant, with one lock for all tenants', async () => {
    ContextIdFactory.apply(new ByTenant());
    const { app, get } = await start({ controllers: [Invoices], providers: [Tenant] });
    await using _app = app;
    const answer = (tenant: string, number: number) => ['invoices', 1, [tenant, number, '1', 'invoice:1', 1]];
    await expect(get('invoices', 'red')).resolves.toEqual(answer('red', 1));
    await expect(get('invoices', 'blue')).resolves.toEqual(answer('blue', 2));
    await expect(get('invoices', 'red')).resolves.toEqual(answer('red', 1));
    await using _held = await app.get(RedisLockService).acquire('invoice:1');
    await expect(get('invoices', 'blue')).resolves.toMatchObject({ statusCode: 409, code: 'LOCK_CONTENDED' });
  });
});
