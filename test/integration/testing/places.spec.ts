import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, RedisLockService } from 'nestjs-redis-lock';
import { LockTestBed, RedisLockTestingModule, type RedisLockTestingOptions } from 'nestjs-redis-lock/testing';
import { KeptLog } from '../../../conformance/kept-log.js';

@Injectable()
class Office {
  @DistributedLock({ key: 'event:#{id}', wait: '2s' })
  async buy(id: number, work?: () => unknown) {
    await work?.();
    return id;
  }
  @DistributedLock({ key: 'event:#{id}', wait: 0 })
  async look(id: number) {
    return id;
  }
}

async function start(options: RedisLockTestingOptions = {}) {
  const log = new KeptLog();
  const module = await Test.createTestingModule({
    imports: [RedisLockTestingModule.forRoot(options)],
    providers: [Office],
  })
    .setLogger(log)
    .compile();
  const app = Object.assign(await module.init(), { [Symbol.asyncDispose]: () => module.close() });
  return { app, log, office: app.get(Office), bed: app.get(LockTestBed), locks: app.get(RedisLockService) };
}

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'nothing',
    (error: Error) => error.message,
  );

describe('an error of a locked method names its class and method', () => {
  it('when the lock is not available', async () => {
    const { app, office, bed } = await start({ maxWaiters: 1 });
    await using _app = app;
    const elsewhere = await bed.otherProcess().acquire('event:1');
    expect(await messageOf(office.look(1))).toMatch(/^Office\.look: Lock 'event:1' is held/);
    const waiting = messageOf(office.buy(1));
    await bed.advance(1);
    expect(await messageOf(office.buy(1))).toMatch(/^Office\.buy: Lock 'event:1': 1 callers/);
    expect(await bed.until(waiting)).toMatch(/^Office\.buy: Lock 'event:1' was not free within 2000 ms/);
    await elsewhere.release();
  });

  it('when it was lost, in the log as well', async () => {
    const { app, office, bed, log } = await start();
    await using _app = app;
    const message = await messageOf(office.buy(1, () => bed.stall('1m')));
    expect(message).toMatch(/^Office\.buy: Lock 'event:1' was lost: its lease ran out/);
    expect(log.lines).toContain(`error ${message}`);
    const held = await new Promise<ReturnType<typeof currentLock>>((resolve) => {
      void office.buy(2, () => resolve(currentLock()));
    });
    await bed.advance(1);
    expect(() => held?.assertHeld()).toThrow(/^Office\.buy: Lock 'event:2' was lost: it was released before/);
  });

  it('when its options do not fit those of the module', async () => {
    class Jobs {
      @DistributedLock({ key: 'nightly', minHold: '1m', renew: false })
      async run() {}
    }
    const module = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot()],
      providers: [Jobs],
    }).compile();
    expect(await messageOf(module.init())).toMatch(
      /^@DistributedLock on Jobs\.run: minHold: 60000 ms given, and the lease/,
    );
    await module.close().catch(() => undefined);
  });

  it('and an error of the service names the lock', async () => {
    const { app, locks, bed } = await start();
    await using _app = app;
    await bed.otherProcess().acquire('event:1');
    expect(await messageOf(locks.acquire('event:1', { wait: 0 }))).toMatch(/^Lock 'event:1' is held/);
  });
});
