import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type DynamicModule, Injectable, Logger, Module, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import {
  currentLock,
  DistributedLock,
  getRedisLockToken,
  InjectRedisLock,
  RedisLockModule,
  RedisLockService,
} from 'nestjs-redis-lock';
import { LockTestBed, lockTestBedToken, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { closing } from '../nest/fixtures.js';

@Injectable()
class Orders {
  constructor(
    readonly locks: RedisLockService,
    @InjectRedisLock('billing') readonly billing: RedisLockService,
  ) {}

  @DistributedLock({ key: 'order:#{id}', wait: '2s' })
  async place(id: string) {
    return `${currentLock()?.key} ${id}`;
  }
  @DistributedLock({ key: 'order:#{id}', connection: 'billing', wait: 0 })
  async pay(id: string) {
    return `${currentLock()?.key} ${id}`;
  }
}

/** No server listens there: an application that uses it does not start with `strict`. */
const nowhere = { redis: 'redis://127.0.0.1:1', strict: true };

/** An application as users write it, with the lock module inline. */
const applicationWith = (...locks: DynamicModule[]) => {
  @Module({ imports: locks, providers: [Orders] })
  class AppModule {}
  return AppModule;
};
const inline = () =>
  applicationWith(RedisLockModule.forRoot(nowhere), RedisLockModule.forRoot({ ...nowhere, name: 'billing' }));
const inlineAsync = () =>
  applicationWith(
    RedisLockModule.forRootAsync({ useFactory: async () => nowhere }),
    RedisLockModule.forRootAsync({ name: 'billing', useFactory: () => nowhere }),
  );
const notGlobal = () =>
  applicationWith(
    RedisLockModule.forRoot({ ...nowhere, isGlobal: false }),
    RedisLockModule.forRoot({ ...nowhere, isGlobal: false, name: 'billing' }),
  );

const testing = () => RedisLockTestingModule.forRoot();
const testingBilling = () => RedisLockTestingModule.forRoot({ name: 'billing' });

type Way = (application: NonNullable<ModuleMetadata['imports']>[number]) => TestingModuleBuilder;
const beside: Way = (application) => Test.createTestingModule({ imports: [application, testing(), testingBilling()] });
const before: Way = (application) => Test.createTestingModule({ imports: [testing(), testingBilling(), application] });
const overriding: Way = (application) =>
  Test.createTestingModule({ imports: [application, testingBilling()] })
    .overrideModule(RedisLockModule)
    .useModule(testing());

// Lost locks are logged.
beforeAll(() => void jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined));
afterAll(() => void jest.restoreAllMocks());

describe('RedisLockTestingModule, for an application with its RedisLockModule inline', () => {
  it.each([
    ['beside it, forRoot', beside, inline],
    ['beside it, forRootAsync', beside, inlineAsync],
    ['beside it, isGlobal: false', beside, notGlobal],
    ['before it, forRoot', before, inline],
    ['before it, forRootAsync', before, inlineAsync],
    ['by overrideModule(RedisLockModule), forRoot', overriding, inline],
    ['by overrideModule(RedisLockModule), forRootAsync', overriding, inlineAsync],
    ['by overrideModule(RedisLockModule), isGlobal: false', overriding, notGlobal],
  ])('takes over every connection of the same name: %s', async (_what, way, application) => {
    const module = await way(application()).compile();
    await using app = closing(module.createNestApplication({ logger: false }));
    await app.init();
    const orders = app.get(Orders);
    const bed = app.get(LockTestBed);
    const billing = app.get<LockTestBed>(lockTestBedToken('billing'));
    await expect(orders.place('1')).resolves.toBe('order:1 1');

    // Service and decorator are one process, on the bed.
    await using held = await orders.locks.acquire('order:2');
    expect(bed.inspect('order:2').holders[0]).toMatchObject({ client: 'default', fencingToken: held.fencingToken });
    expect(billing.inspect('order:2').holders[0]).toBeUndefined();
    await expect(bed.until(orders.place('2'))).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });

    await expect(orders.pay('2')).resolves.toBe('order:2 2');
    await using _rival = await billing.otherProcess().acquire('order:3');
    await expect(orders.pay('3')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await expect(app.get(getRedisLockToken('billing')).tryAcquire('order:3')).resolves.toBeNull();
  });

  it('closes in virtual time, even if work hangs inside a lock', async () => {
    const app = await (await beside(inline()).compile()).init();
    const lock = await app.get(RedisLockService).acquire('a');
    await app.close();
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
  });

  it('does not change a connection of another name', async () => {
    const module = await Test.createTestingModule({ imports: [inline(), testing()] }).compile();
    await expect(module.init()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await module.close();
  });

  it('works in a module that mocks missing providers', async () => {
    const mocked: unknown[] = [];
    const module = await Test.createTestingModule({
      imports: [RedisLockModule.forRoot()],
    })
      .useMocker((token) => {
        mocked.push(token);
        return { mock: token };
      })
      .compile();
    expect(mocked).toContain('RedisLockStandIn:default');
    expect(module.get(RedisLockService)).toBeInstanceOf(RedisLockService);
    await module.close();
  });

  it('is missed by a locked method whose connection is a mock: the error says what to write', async () => {
    const module = await Test.createTestingModule({ providers: [Orders] })
      .useMocker(() => ({ using: () => undefined }))
      .compile();
    await expect(module.get(Orders).place('1')).rejects.toThrow(
      /Orders\.place: this object has no lock connection.*In a unit test: new LockTestBed\(\)\.connect\(object\)/,
    );
    await module.close();
  });
});

describe('a unit test without Nest', () => {
  it('connects the locked methods of an object created in the test, in one process with bed.locks()', async () => {
    const [bed, billing] = [new LockTestBed(), new LockTestBed()];
    const orders = bed.connect(billing.connect(new Orders(bed.locks(), billing.locks()), 'billing'));
    await expect(orders.place('1')).resolves.toBe('order:1 1');
    await using _held = await orders.locks.acquire('order:1');
    expect(bed.inspect('order:1').holders[0]?.client).toBe('default');
    await expect(bed.until(orders.place('1'))).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    await expect(orders.pay('1')).resolves.toBe('order:1 1');
    const rival = await bed.otherProcess().acquire('order:2');
    const waiting = orders.place('2');
    await bed.advance('1s');
    await rival.release();
    await expect(waiting).resolves.toBe('order:2 2');
    // Inside its lock, as everywhere.
    await orders.locks.using('order:3', async () => expect(await orders.place('3')).toBe('order:3 3'));
  });

  it('gets the solution in the error of an object that is not connected, and in that of Nest if the module is missing', async () => {
    await expect(new Orders(undefined as never, undefined as never).place('1')).rejects.toThrow(
      /this object has no lock connection.*In a unit test: new LockTestBed\(\)\.connect\(object\), of nestjs-redis-lock\/testing/,
    );
    const locks = [RedisLockService, getRedisLockToken('billing')].map((provide) => ({ provide, useValue: {} }));
    await expect(Test.createTestingModule({ providers: [Orders, ...locks] }).compile()).rejects.toThrow(
      /import RedisLockModule\.forRoot\(.*\); in a test RedisLockTestingModule\.forRoot\(.*\) of nestjs-redis-lock\/testing/,
    );
  });

  it('gets an error for an object that has no locked methods', () => {
    class Plain {
      @DistributedLock({ key: 'a', connection: 'billing' })
      async pay() {}
    }
    const bed = new LockTestBed();
    expect(() => bed.connect(new Plain())).toThrow(
      /Plain has no method with @DistributedLock or @LeaderOnly on the connection 'default'/,
    );
    expect(() => bed.connect({}, 'billing')).toThrow(/Object has no method.*'billing'/);
    expect(bed.connect(new Plain(), 'billing')).toBeInstanceOf(Plain);
  });

  it('gets one warning when a call waits in real time and no virtual time passes', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    try {
      const bed = new LockTestBed();
      const orders = bed.connect(new Orders(bed.locks(), bed.locks()));
      await bed.otherProcess().acquire('order:1');
      const forgotten = orders.place('1');
      const also = orders.locks.acquire('order:1', { wait: '1s' });
      // The bed checks after two seconds.
      await new Promise((resolve) => setTimeout(resolve, 2100));
      expect(warned.mock.calls).toEqual([
        [expect.stringMatching(/the lock 'order:1'.*virtual time stands still/), { code: 'LOCK_TIME_STANDS_STILL' }],
      ]);
      await expect(bed.until(Promise.allSettled([forgotten, also]))).resolves.toHaveLength(2);
    } finally {
      warned.mockRestore();
    }
  });
});
