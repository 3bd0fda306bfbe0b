import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Controller, Get, Injectable, Logger, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  currentLock,
  DistributedLock,
  InjectRedisLock,
  LockConfigurationError,
  RedisLockModule,
  RedisLockService,
} from 'nestjs-redis-lock';
import type { LockBackend } from 'nestjs-redis-lock/backend';
import {
  LockTestBed,
  lockTestBedToken,
  MemoryLockBackend,
  MemoryLockServer,
  RedisLockTestingModule,
  type RedisLockTestingOptions,
  VirtualClock,
} from 'nestjs-redis-lock/testing';
import { closing, deferred } from '../nest/fixtures.js';

@Injectable()
class Shop {
  constructor(
    readonly locks: RedisLockService,
    @InjectRedisLock() readonly same: RedisLockService,
  ) {}
  @DistributedLock('product:#{id}')
  async buy(id: string, work: () => unknown = () => undefined) {
    await work();
    return `${currentLock()?.key} ${id}`;
  }
}

const start = async (options: RedisLockTestingOptions = {}) => {
  const module = await Test.createTestingModule({
    imports: [RedisLockTestingModule.forRoot(options)],
    providers: [Shop],
  }).compile();
  return closing(await module.init());
};
const partsOf = (app: TestingModule) => ({ shop: app.get(Shop), bed: app.get(LockTestBed) });

// Losses and refusals are logged; here they are expected.
beforeAll(() => void jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined));
afterAll(() => void jest.restoreAllMocks());

describe('RedisLockTestingModule', () => {
  it('provides the same as RedisLockModule: the service by class and by name, locked methods, and the bed', async () => {
    await using app = await start();
    const { shop, bed } = partsOf(app);
    expect(shop.same).toBe(shop.locks);
    await expect(shop.buy('1')).resolves.toBe('product:1 1');
    await using lock = await shop.locks.acquire('product:2');
    expect(bed.inspect('product:2')).toMatchObject({
      holders: [{ client: 'default', fencingToken: lock.fencingToken }],
    });
  });

  it('works in a module that was compiled but never initialised or closed', async () => {
    const module = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot()],
      providers: [Shop],
    }).compile();
    await expect(module.get(Shop).buy('1')).resolves.toBe('product:1 1');
  });

  it('gives every application its own bed, also from the same definition', async () => {
    const locks = RedisLockTestingModule.forRoot();
    const compiled = async () =>
      closing(await Test.createTestingModule({ imports: [locks], providers: [Shop] }).compile());
    await using one = await compiled();
    await using other = await compiled();
    expect(one.get(LockTestBed)).not.toBe(other.get(LockTestBed));
    await using _held = await one.get(RedisLockService).acquire('a');
    await using _same = await other.get(RedisLockService).acquire('a', { wait: 0 });
  });

  it('lets applications with the same bed contend, like processes on one Redis', async () => {
    const bed = new LockTestBed();
    await using one = await start({ bed });
    await using other = await start({ bed });
    const [inside, leave] = [deferred(), deferred()];
    const first = one.get(Shop).buy('1', async () => {
      inside.resolve();
      await leave.promise;
    });
    await inside.promise;
    const second = other.get(Shop).buy('1');
    await bed.advance('5s');
    expect(bed.inspect('product:1').waiters).toHaveLength(1);
    leave.resolve();
    await expect(Promise.all([first, second])).resolves.toEqual(['product:1 1', 'product:1 1']);
  });

  it('stands in for the RedisLockModule of an application by overrideModule', async () => {
    const locks = RedisLockModule.forRoot({ redis: 'redis://127.0.0.1:1', strict: true });
    @Module({ imports: [locks], providers: [Shop] })
    class AppModule {}
    const module = await Test.createTestingModule({ imports: [AppModule] })
      .overrideModule(locks)
      .useModule(RedisLockTestingModule.forRoot())
      .compile();
    await using app = closing(await module.init());
    await expect(app.get(Shop, { strict: false }).buy('1')).resolves.toBe('product:1 1');
  });

  it('keeps named connections separate, each with its own bed', async () => {
    @Injectable()
    class Payer {
      @DistributedLock({ key: 'a', connection: 'billing' })
      async pay() {
        return currentLock()?.key;
      }
    }
    const module = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot(), RedisLockTestingModule.forRoot({ name: 'billing' })],
      providers: [Payer],
    }).compile();
    await using app = closing(await module.init());
    const billing = app.get<LockTestBed>(lockTestBedToken('billing'));
    await using _held = await app.get(RedisLockService).acquire('a');
    await expect(app.get(Payer).pay()).resolves.toBe('a');
    await using _rival = await billing.otherProcess().acquire('a');
    await expect(billing.until(app.get(Payer).pay())).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
  });

  it('maps lock errors to HTTP, and keeps the flows of two requests separate, as RedisLockModule does', async () => {
    @Controller()
    class Things {
      constructor(readonly locks: RedisLockService) {}
      @Get('locked')
      @DistributedLock({ key: 'thing', wait: 0 })
      async locked() {
        return { held: currentLock()?.key };
      }
    }
    const module = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot()],
      controllers: [Things],
    }).compile();
    await using app = closing(module.createNestApplication({ logger: false }));
    const get = async () => fetch(`${await app.getUrl()}/locked`);
    // A server that was started inside a hold passes its context on to every request.
    const inside = await app.get(RedisLockService).using('thing', async () => {
      await app.listen(0, '127.0.0.1');
      return (await get()).status;
    });
    expect(inside).toBe(409);
    await expect((await get()).json()).resolves.toEqual({ held: 'thing' });
    app.get(LockTestBed).faults.unavailable('5s');
    expect((await get()).status).toBe(503);
  });

  it('accepts the options of the application unchanged, and its own', async () => {
    await using app = await start({
      ...{ redis: 'redis://127.0.0.1:1', keyPrefix: 'x:', commandTimeout: '2s' },
      ...{ lease: '3s', wait: '7s', httpErrors: false },
    });
    const { shop, bed } = partsOf(app);
    const rival = await bed.otherProcess().acquire('product:1', { lease: '1h' });
    const begin = bed.clock.now();
    await expect(bed.until(shop.buy('1'))).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    expect(bed.clock.now() - begin).toBe(7_000);
    await rival.release();
    await shop.buy('1', () => expect(bed.inspect('product:1').holders[0]?.leaseLeft).toBe(3_000));
    bed.faults.delayCommands('1900ms');
    await expect(bed.until(shop.buy('1'))).resolves.toBe('product:1 1');
    const waiting = deferred();
    const held = await bed.otherProcess().acquire('product:1');
    bed.faults.loseHandOffs();
    const bought = shop.buy('1', waiting.resolve);
    await bed.advance(0);
    await held.release();
    await bed.advance('5s');
    await Promise.all([waiting.promise, bought]);
  });

  it.each([
    ['a misspelt option', { leese: 1 }, /Did you mean 'lease'/],
    ['a backend', { backend: new MemoryLockBackend() }, /no option 'backend'/],
    ['a wrong redis', { redis: 'localhost' }, /redis:/],
  ])('refuses %s at once', (_what, options, message) => {
    expect(() => RedisLockTestingModule.forRoot(options as never)).toThrow(LockConfigurationError);
    expect(() => RedisLockTestingModule.forRoot(options as never)).toThrow(message);
  });

  describe('when it closes', () => {
    it('lets running work end first', async () => {
      const app = await start();
      const { shop, bed } = partsOf(app);
      const inside = deferred();
      const work = shop.buy('1', async () => {
        inside.resolve();
        await bed.sleep('9s');
        currentLock()!.assertHeld();
      });
      await inside.promise;
      await app.close();
      await expect(work).resolves.toBe('product:1 1');
    });

    it('releases the locks of work that hangs, without real time', async () => {
      const app = await start();
      const { shop, bed } = partsOf(app);
      const lock = await shop.locks.acquire('a');
      const [inside, leave] = [deferred(), deferred()];
      const work = shop.buy('1', () => {
        inside.resolve();
        return leave.promise;
      });
      await inside.promise;
      await app.close();
      expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
      expect([bed.inspect('a'), bed.inspect('product:1'), bed.clock.pending]).toMatchObject([
        { holders: [], waiters: [] },
        { holders: [], waiters: [] },
        0,
      ]);
      leave.resolve();
      await expect(work).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
    });

    it('lets no time pass when no work is left', async () => {
      const app = await start();
      const { shop, bed } = partsOf(app);
      await shop.buy('1');
      const before = bed.clock.now();
      await app.close();
      expect(bed.clock.now()).toBe(before);
    });
  });
});

describe('MemoryLockBackend', () => {
  it('is a backend for RedisLockModule: several applications share its server', async () => {
    const server = new MemoryLockServer();
    const compiled = async () =>
      closing(
        await Test.createTestingModule({
          imports: [RedisLockModule.forRoot({ backend: new MemoryLockBackend({ server }) })],
          providers: [Shop],
        }).compile(),
      );
    await using one = await compiled();
    await using other = await compiled();
    const lock = await one.get(RedisLockService).acquire('product:1');
    await expect(other.get(RedisLockService).tryAcquire('product:1')).resolves.toBeNull();
    const bought = other.get(Shop).buy('1');
    await lock.release();
    await expect(bought).resolves.toBe('product:1 1');
  });

  it('is a backend for RedisLockModule in virtual time, too', async () => {
    const clock = new VirtualClock();
    const backend = new MemoryLockBackend({ server: new MemoryLockServer({ clock }) });
    const module = await Test.createTestingModule({ imports: [RedisLockModule.forRoot({ backend })] }).compile();
    await using app = closing(module);
    const lock = await app.get(RedisLockService).acquire('a', { lease: '5s' });
    await clock.advance('4s');
    expect(lock.isHeld).toBe(true);
    await clock.advance('1s');
    expect(lock.isHeld).toBe(false);
    // Only the testing module lets time pass while it closes.
    await lock.release();
    expect(clock.pending).toBe(0);
  });

  it('rejects a second application while the first one uses it, and accepts it afterwards', async () => {
    const locks = RedisLockModule.forRoot({ backend: new MemoryLockBackend() });
    const compiled = () => Test.createTestingModule({ imports: [locks], providers: [Shop] }).compile();
    const one = await (await compiled()).init();
    const other = await compiled();
    await expect(other.init()).rejects.toThrow(/another client uses it already/);
    await expect(one.get(Shop).buy('1')).resolves.toBe('product:1 1');
    await one.close();
    await using next = closing(await (await compiled()).init());
    await expect(next.get(Shop).buy('1')).resolves.toBe('product:1 1');
  });
});

describe('a custom backend', () => {
  /** It does not record its users, unlike MemoryLockBackend. */
  const careless = () => {
    const backend = new MemoryLockBackend();
    const calls: string[] = [];
    const own: LockBackend = new Proxy<LockBackend>(backend, {
      get(target, property) {
        if (property === 'start' || property === 'close') calls.push(property);
        if (property === 'start' && calls.length > 1) return async () => {};
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    return { own, calls };
  };
  const compiled = (backend: LockBackend) =>
    Test.createTestingModule({ imports: [RedisLockModule.forRoot({ backend })], providers: [Shop] }).compile();

  it('serves the first application, even if others with the same backend start or close', async () => {
    const { own, calls } = careless();
    await using one = closing(await (await compiled(own)).init());
    const refused = await compiled(own);
    await expect(refused.init()).rejects.toThrow(/connection 'default'.* another client uses it already.*forRootAsync/);
    const unstarted = await compiled(own);
    await expect(unstarted.get(Shop).buy('1')).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    await Promise.all([refused.close(), unstarted.close(), (await compiled(own)).close()]);
    expect(calls).toEqual(['start']);
    await expect(one.get(Shop).buy('1')).resolves.toBe('product:1 1');
  });

  it('is closed once, with the application that it serves', async () => {
    const { own, calls } = careless();
    const one = await (await compiled(own)).init();
    await one.close();
    expect(calls).toEqual(['start', 'close']);
    await expect(one.get(Shop).buy('1')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });
});

describe('two beds', () => {
  it('with one clock have the same time', async () => {
    const clock = new VirtualClock();
    const [one, other] = [new LockTestBed({ clock }), new LockTestBed({ clock })];
    const locks = await Promise.all([one, other].map((bed) => bed.otherProcess().acquire('a', { lease: '5s' })));
    await one.advance('5s');
    expect(locks.map(({ isHeld }) => isHeld)).toEqual([false, false]);
  });
});
