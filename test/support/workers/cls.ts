/**
 * An HTTP application with nestjs-cls, in a process of its own: jest cannot load nestjs-cls, which is CommonJS, beside Nest 12, which is not.
 * Many requests at once want one lock; tells `{ answers: [{ id, seen }], traced }`: the id of each request and what CLS said on its way, and
 * what CLS said while ioredis sent commands and connected.
 */
import 'reflect-metadata';
import { tracingChannel } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Get, Injectable, Module, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClsModule, ClsService, ClsServiceManager } from 'nestjs-cls';
import { DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { lastValueFrom, Observable } from 'rxjs';

const { redis, keyPrefix } = JSON.parse(process.env['CLS'] ?? '{}') as Record<string, string>;

@Injectable()
class Shop {
  constructor(
    readonly cls: ClsService,
    readonly locks: RedisLockService,
  ) {}

  get id(): unknown {
    return this.cls.get('id');
  }

  @DistributedLock('product')
  async buy(seen: unknown[]) {
    seen.push(this.id);
    await sleep(2);
    seen.push(this.id);
    // Taken together, inside the other one.
    await this.locks.using(['b', 'a'], async () => seen.push(this.id));
  }

  @DistributedLock('watched')
  watch(seen: unknown[]): Observable<unknown> {
    return new Observable((subscriber) => {
      seen.push(this.id);
      setTimeout(() => {
        subscriber.next(this.id);
        subscriber.complete();
      }, 2);
    });
  }
}

@Controller()
class Things {
  constructor(readonly shop: Shop) {}

  @Get('things/:id')
  async take(@Param('id') id: string) {
    const seen: unknown[] = [];
    await this.shop.buy(seen);
    seen.push(this.shop.id, await lastValueFrom(this.shop.watch(seen)), this.shop.id);
    await using _lock = await this.shop.locks.acquire('last');
    seen.push(this.shop.id);
    return { id, seen };
  }
}

@Module({
  imports: [
    ClsModule.forRoot({
      global: true,
      middleware: {
        mount: true,
        setup: (cls, request: { url: string }) => cls.set('id', request.url.split('/').at(-1)),
      },
    }),
    RedisLockModule.forRoot({ redis: redis!, keyPrefix: keyPrefix! }),
  ],
  controllers: [Things],
  providers: [Shop],
})
class AppModule {}

const traced = new Set<unknown>();
for (const channel of ['ioredis:command', 'ioredis:connect']) {
  tracingChannel(channel).start.subscribe(() => {
    const cls = ClsServiceManager.getClsService();
    traced.add(cls.isActive() ? cls.get('id') : 'no request');
  });
}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
await app.listen(0, '127.0.0.1');
const url = await app.getUrl();
const answers = await Promise.all(
  Array.from({ length: 30 }, async (_, id) => (await fetch(`${url}/things/${id}`)).json()),
);
process.send!({ answers, traced: [...traced] });
await app.close();
