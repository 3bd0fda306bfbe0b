import 'reflect-metadata';
import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';

@Injectable()
class Shop {
  private sold = 0;

  async plain(id: number): Promise<number> {
    return (this.sold += id);
  }

  @DistributedLock('bench:product:#{id}')
  async buy(id: number): Promise<number> {
    return (this.sold += id);
  }
}

/** How a method is called in the measured loop. */
export type Manner = 'plain' | 'using' | 'decorated';

export interface DecoratedSettings {
  readonly url: string;
  readonly manner: Manner;
  /** Whether the flow holds the lock already: then no request is sent to Redis. */
  readonly entered: boolean;
  readonly time?: number;
  readonly calls?: number;
}

let opened: Promise<{ locks: RedisLockService; shop: Shop }> | undefined;

async function open(redis: string): Promise<{ locks: RedisLockService; shop: Shop }> {
  const production = { strict: true, ignoreFindings: 'all', checkNesting: false } as const;
  const app = await NestFactory.createApplicationContext(
    { module: class Bench {}, imports: [RedisLockModule.forRoot({ redis, ...production })], providers: [Shop] },
    { logger: ['error', 'warn'], abortOnError: false },
  );
  return { locks: app.get(RedisLockService), shop: app.get(Shop) };
}

/** Calls the same method one after the other. Returns calls per second. */
export async function decorated(_: unknown, settings: DecoratedSettings): Promise<number> {
  const { locks, shop } = await (opened ??= open(settings.url));
  const { manner, entered, time = Number.POSITIVE_INFINITY, calls = Number.POSITIVE_INFINITY } = settings;
  const key = 'bench:product:1';
  const manners: Record<Manner, () => Promise<number>> = {
    plain: () => shop.plain(1),
    using: () => locks.using(key, () => shop.plain(1)),
    decorated: () => shop.buy(1),
  };
  const call = manners[manner];
  const loop = async () => {
    const start = performance.now();
    let done = 0;
    // The clock is read once for several calls: it would cost as much as a plain one.
    while (performance.now() - start < time && done < calls) {
      for (let index = 0; index < 16; index++) await call();
      done += 16;
    }
    return (done * 1000) / (performance.now() - start);
  };
  return entered ? locks.using(key, loop) : loop();
}
