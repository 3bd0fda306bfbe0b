import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { type DynamicModule, Injectable, type LoggerService, Module, type Type } from '@nestjs/common';
import { Cron, CronExpression, Interval, ScheduleModule, Timeout } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { Observable, of } from 'rxjs';
import { closing, deferred, onSharedRedis } from '../nest/fixtures.js';
import { KeptLogger } from './kept-logger.js';

type Imports = (DynamicModule | Type)[];

const start = async (imports: Imports, logger: LoggerService = new KeptLogger()) =>
  closing(await (await Test.createTestingModule({ imports }).setLogger(logger).compile()).init());

const held = (): string | undefined => currentLock()?.key;

/** A decorator that replaces the method by its own function, as many do, and records the lock held around it. */
function Traced(): MethodDecorator {
  return (_target, property, descriptor: PropertyDescriptor) => {
    const original = descriptor.value as (...args: unknown[]) => unknown;
    descriptor.value = function (this: { seen: Map<string, unknown> }, ...args: unknown[]) {
      this.seen.set(`around ${String(property)}`, held());
      return original.apply(this, args);
    };
    for (const key of Reflect.getMetadataKeys(original) as unknown[])
      Reflect.defineMetadata(key, Reflect.getMetadata(key, original), descriptor.value as object);
  };
}

@Injectable()
class Jobs {
  readonly seen = new Map<string, unknown>();
  readonly done = { cron: deferred(), interval: deferred(), timeout: deferred() };

  @Cron(CronExpression.EVERY_SECOND)
  @DistributedLock('cron')
  async cron() {
    this.note('cron');
  }

  @Traced()
  @DistributedLock('interval')
  @Interval(10)
  async interval() {
    this.note('interval');
  }

  @DistributedLock('timeout')
  @Traced()
  @Timeout(1)
  async timeout() {
    this.note('timeout');
  }

  private note(job: 'cron' | 'interval' | 'timeout'): void {
    this.seen.set(job, held());
    this.done[job].resolve();
  }
}

const locked = {
  cron: 'cron',
  'around interval': 'interval',
  interval: 'interval',
  'around timeout': 'timeout',
  timeout: 'timeout',
};

@Module({ providers: [Jobs] })
class ClassModule {}
@Module({ providers: [{ provide: Jobs, useFactory: () => new Jobs() }] })
class FactoryModule {}

describe('jobs of @nestjs/schedule', () => {
  const locks = () => RedisLockModule.forRoot(onSharedRedis());
  const schedule = () => ScheduleModule.forRoot();
  const orders: [string, (feature: Type) => Imports][] = [
    ['ScheduleModule, RedisLockModule, the jobs', (feature) => [schedule(), locks(), feature]],
    ['RedisLockModule, ScheduleModule, the jobs', (feature) => [locks(), schedule(), feature]],
    ['the jobs, ScheduleModule, RedisLockModule', (feature) => [feature, schedule(), locks()]],
  ];

  it.each(orders)('run locked, the lock around all decorators, when imported as: %s', async (_order, imports) => {
    const run = async (feature: Type) => {
      await using app = await start(imports(feature));
      const { done, seen } = app.get(Jobs, { strict: false });
      await Promise.all(Object.values(done).map(({ promise }) => promise));
      return Object.fromEntries(seen);
    };
    // One after the other would wait for twice as many whole seconds.
    await expect(Promise.all([run(ClassModule), run(FactoryModule)])).resolves.toEqual([locked, locked]);
  });

  it('of two applications exclude each other', async () => {
    const options = onSharedRedis();
    const enough = deferred();
    let inside = 0;
    let most = 0;
    const runs = new Map<unknown, number>();
    @Injectable()
    class Job {
      @Interval(1)
      @DistributedLock({ key: 'job', fairness: 'strict' })
      async run() {
        most = Math.max(most, ++inside);
        runs.set(this, (runs.get(this) ?? 0) + 1);
        await new Promise((resolve) => setImmediate(resolve));
        inside--;
        if (runs.size === 2 && [...runs.values()].every((count) => count >= 5)) enough.resolve();
      }
    }
    @Module({ providers: [Job] })
    class Feature {}
    const application = () => start([ScheduleModule.forRoot(), RedisLockModule.forRoot(options), Feature]);
    await using _one = await application();
    await using _other = await application();
    await enough.promise;
    expect(most).toBe(1);
  });

  it('log a lock error and go on: the next run has the lock', async () => {
    const runs = { cron: deferred(), interval: deferred(), timeout: 0 };
    @Injectable()
    class Jobs {
      @Cron(CronExpression.EVERY_SECOND)
      @DistributedLock({ key: 'nightly', wait: 0 })
      async cron() {
        runs.cron.resolve();
      }
      @DistributedLock({ key: 'hourly', wait: 0 })
      @Interval(10)
      async interval() {
        runs.interval.resolve();
      }
      @Timeout(1)
      @DistributedLock({ key: 'once', wait: 0 })
      async timeout() {
        runs.timeout++;
      }
    }
    @Module({ providers: [Jobs] })
    class Feature {}
    const keys = ['nightly', 'hourly', 'once'];
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const options = onSharedRedis();
      await using other = await start([RedisLockModule.forRoot(options)]);
      const locks = await Promise.all(keys.map((key) => other.get(RedisLockService).acquire(key)));
      const logger = new KeptLogger();
      await using _app = await start([RedisLockModule.forRoot(options), ScheduleModule.forRoot(), Feature], logger);
      for (const key of keys) {
        await expect(logger.errorWith(`Lock '${key}' is held`)).resolves.toContain('[Scheduler]');
      }
      await Promise.all(locks.map((lock) => lock.release()));
      await Promise.all([runs.cron.promise, runs.interval.promise]);
      expect([runs.timeout, unhandled]).toEqual([0, []]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('are refused at start when they return an Observable or an iterable, which has no subscriber', async () => {
    class Streams {
      @Cron(CronExpression.EVERY_SECOND)
      @DistributedLock('a')
      cron(): Observable<string> {
        return of('never');
      }
    }
    class Iterates {
      @DistributedLock('a')
      @Interval(1000)
      async *interval() {
        yield 'never';
      }
    }
    for (const [type, message] of [
      [Streams, /Streams\.cron: .*an observable, which a job of @nestjs\/schedule never subscribes to.*lastValueFrom/],
      [Iterates, /Iterates\.interval: .*an iterable, which a job of @nestjs\/schedule never iterates.*Make it async/],
    ] as const) {
      const feature = { module: class Feature {}, providers: [type] };
      await expect(
        start([feature, ScheduleModule.forRoot(), RedisLockModule.forRoot(onSharedRedis())]),
      ).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION', message: expect.stringMatching(message) });
    }
  });
});
