import 'reflect-metadata';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type ArgumentsHost,
  BadRequestException,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  type INestApplication,
  Param,
  Res,
  UseGuards,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  currentLock,
  DistributedLock,
  LockInterceptor,
  LockLostError,
  RedisLockModule,
  type RedisLockModuleOptions,
  RedisLockService,
} from 'nestjs-redis-lock';
import { Observable, of } from 'rxjs';
import { freePort } from '../../support/redis-server.js';
import { type Deferred, deferred, onSharedRedis } from '../nest/fixtures.js';
import { adapters, httpApplication } from './http-servers.js';

/** Lets a request in that is outside of every lock. */
class Outside implements CanActivate {
  canActivate(): boolean {
    return currentLock() === undefined;
  }
}

@Controller()
class Products {
  constructor(private readonly locks: RedisLockService) {}

  static inside: Deferred;
  static leave: Deferred;

  @Get('buy/:id')
  @DistributedLock({ key: 'product:#{_id}', wait: 0, lease: '3500ms' })
  async buy(@Param('id') _id: string) {
    Products.inside.resolve();
    await Products.leave.promise;
    return 'bought';
  }

  @Get('wait/:id')
  @DistributedLock({ key: 'product:#{_id}', wait: 30 })
  async patient(@Param('id') _id: string) {}

  @Get('queue/:id')
  @DistributedLock({ key: 'product:#{_id}', wait: '1h' })
  async queue(@Param('id') _id: string) {}

  @Get('lost')
  async lost() {
    throw new LockLostError('product:secret was lost', { key: 'product:secret', reason: 'expired' });
  }

  @Get('wrong')
  @DistributedLock('product:#{id}')
  async wrong(_id?: string, id?: string) {
    return id;
  }

  @Get('bad')
  @DistributedLock('bad')
  async bad() {
    throw new BadRequestException('no such product');
  }

  @Get('begun')
  @DistributedLock('begun')
  async begun(@Res() response: { raw?: NodeJS.WritableStream } & NodeJS.WritableStream) {
    (response.raw ?? response).write('begun ');
    throw new LockLostError('late', { reason: 'expired' });
  }

  @Get('observable/:id')
  @DistributedLock('observable:#{id}')
  values(@Param('id') id: string): Observable<unknown> {
    return of({ id, held: currentLock()?.key });
  }

  @Get('constant')
  @DistributedLock('constant')
  async constant() {
    return [currentLock()?.key, await this.locks.tryAcquire('product:1')];
  }

  @Get('outside')
  @UseGuards(Outside)
  async outside() {
    return `${currentLock()?.key}`;
  }
}

describe.each(adapters)('%s', (_name, adapter) => {
  let app: INestApplication;
  const start = async (options: RedisLockModuleOptions = {}, providers: object[] = []) => {
    app = await httpApplication(adapter, { controllers: [Products], providers: providers as never }, options);
    await app.listen(0, '127.0.0.1');
  };
  const get = async (path: string) => fetch(`${await app.getUrl()}/${path}`);

  beforeEach(() => {
    Products.inside = deferred();
    Products.leave = deferred();
  });
  afterEach(async () => {
    Products.leave.resolve();
    await app.close();
  });

  describe('lock errors', () => {
    it('become 409 with Retry-After: 1 while the lease of the holder has 3 s left, without internals', async () => {
      await start();
      const first = get('buy/1');
      await Products.inside.promise;
      const refused = await get('buy/1');
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([409, '1']);
      const body = await refused.text();
      expect(JSON.parse(body)).toEqual({
        statusCode: 409,
        error: 'Conflict',
        code: 'LOCK_CONTENDED',
        message: expect.any(String),
      });
      expect(body).not.toContain('product');
      const waited = await get('wait/1');
      expect([waited.status, ((await waited.json()) as { code: string }).code]).toEqual([409, 'LOCK_WAIT_TIMEOUT']);
      Products.leave.resolve();
      await expect((await first).text()).resolves.toBe('bought');
      expect((await get('buy/1')).status).toBe(200);
    });

    it('become 503 with Retry-After when too many callers wait already', async () => {
      await start({ maxWaiters: 1 });
      const first = get('buy/1');
      await Products.inside.promise;
      const queued = get('queue/1');
      let refused = await get('queue/1');
      // The second request may have been first in the queue.
      if (refused.status === 200) refused = await queued;
      expect([refused.status, Number(refused.headers.get('retry-after')) >= 1]).toEqual([503, true]);
      expect(((await refused.json()) as { code: string }).code).toBe('LOCK_QUEUE_FULL');
      Products.leave.resolve();
      await Promise.all([first, queued]);
    });

    it('become 503 with Retry-After when Redis is unavailable', async () => {
      await start({ redis: `redis://127.0.0.1:${await freePort()}` });
      const refused = await get('buy/1');
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
      expect(((await refused.json()) as { code: string }).code).toBe('LOCK_UNAVAILABLE');
    });

    it('become 500 for a lost lock and for a wrong configuration, without their messages', async () => {
      await start();
      for (const [path, code] of [
        ['lost', 'LOCK_LOST'],
        ['wrong', 'LOCK_CONFIGURATION'],
      ] as const) {
        const response = await get(path);
        expect([response.status, response.headers.get('retry-after')]).toEqual([500, null]);
        expect(await response.json()).toEqual({
          statusCode: 500,
          error: 'Internal Server Error',
          code,
          message: 'Internal server error',
        });
      }
    });

    it('are handled, and every other error is left to Nest', async () => {
      await start();
      const response = await get('bad');
      expect([response.status, await response.json()]).toEqual([
        400,
        expect.objectContaining({ message: 'no such product' }),
      ]);
    });

    it('end a response that had begun, instead of failing on its headers', async () => {
      await start();
      const response = await get('begun');
      expect([response.status, await response.text()]).toEqual([200, 'begun ']);
    });

    it("are left to the application's own filters with httpErrors: false", async () => {
      @Catch()
      class Everything implements ExceptionFilter {
        catch(error: { code: string }, host: ArgumentsHost) {
          app
            .get(HttpAdapterHost)
            .httpAdapter.reply(host.switchToHttp().getResponse<unknown>(), `own ${error.code}`, 418);
        }
      }
      await start({ httpErrors: false }, [{ provide: APP_FILTER, useClass: Everything }]);
      const response = await get('lost');
      expect([response.status, await response.text()]).toEqual([418, 'own LOCK_LOST']);
    });

    it.each([
      ['the first', [false, undefined]],
      ['the second', [undefined, false]],
      ['a later one whose factory returns it', [undefined, async () => false]],
    ] as const)('are left to Nest with httpErrors: false at %s of two connections', async (_which, given) => {
      const [own, billing] = given.map((httpErrors, index) => {
        const options = (value: boolean | undefined) => {
          const { redis, keyPrefix } = onSharedRedis();
          return { redis: redis!, keyPrefix: keyPrefix!, ...(value !== undefined && { httpErrors: value }) };
        };
        const name = index === 0 ? {} : { name: 'billing' };
        return typeof httpErrors === 'function'
          ? RedisLockModule.forRootAsync({ ...name, useFactory: async () => options(await httpErrors()) })
          : RedisLockModule.forRoot({ ...name, ...options(httpErrors) });
      });
      const module = await Test.createTestingModule({ imports: [own!, billing!], controllers: [Products] }).compile();
      app = module.createNestApplication(adapter(), { logger: false });
      await app.listen(0, '127.0.0.1');
      const response = await get('lost');
      expect(await response.json()).toEqual({ statusCode: 500, message: 'Internal Server Error' });
    });

    it('are handled like unknown errors by Nest with httpErrors: false and no filter', async () => {
      await start({ httpErrors: false });
      const response = await get('lost');
      expect([response.status, await response.json()]).toEqual([
        500,
        { statusCode: 500, message: 'Internal Server Error' },
      ]);
    });
  });

  describe('flows', () => {
    it('two requests never share a hold, also when the server was started inside one', async () => {
      app = await httpApplication(adapter, { controllers: [Products] });
      await app.init();
      const locks = app.get(RedisLockService);
      await locks.using('product:1', async () => {
        await app.listen(0, '127.0.0.1');
        expect((await get('buy/1')).status).toBe(409);
        expect(await (await get('observable/5')).json()).toEqual({ id: '5', held: 'observable:5' });
        // Guards run before interceptors.
        await expect((await get('outside')).text()).resolves.toBe('undefined');
      });
      Products.leave.resolve();
      expect((await get('buy/1')).status).toBe(200);
    });

    it.each([
      ['alone', []],
      ['with LockInterceptor before everything else', [{ provide: APP_INTERCEPTOR, useClass: LockInterceptor }]],
    ])(
      'two requests never share a hold when a test tool opened the server by itself (%s)',
      async (_what, providers) => {
        app = await httpApplication(adapter, { controllers: [Products], providers });
        await app.init();
        // Fastify's routes exist when it is ready.
        await (app.getHttpAdapter().getInstance() as { ready?(): PromiseLike<unknown> }).ready?.();
        const server = app.getHttpServer() as Server;
        await app.get(RedisLockService).using('product:1', async () => {
          server.listen(0, '127.0.0.1');
          await once(server, 'listening');
          const { port } = server.address() as AddressInfo;
          expect((await fetch(`http://127.0.0.1:${port}/buy/1`)).status).toBe(409);
          expect(await (await fetch(`http://127.0.0.1:${port}/constant`)).json()).toEqual(['constant', null]);
        });
      },
    );

    it('the value of an Observable is produced inside the lock', async () => {
      await start();
      expect(await (await get('observable/7')).json()).toEqual({ id: '7', held: 'observable:7' });
    });
  });
});
