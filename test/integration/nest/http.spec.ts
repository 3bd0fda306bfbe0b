import 'reflect-metadata';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type ArgumentsHost,
  BadRequestException,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  type INestApplication,
  Param,
  Res,
  Sse,
  StreamableFile,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  currentLock,
  DistributedLock,
  LockLostError,
  RedisLockModule,
  type RedisLockModuleOptions,
  RedisLockService,
} from 'nestjs-redis-lock';
import { Observable, of } from 'rxjs';
import { freePort } from '../../support/redis-server.js';
import { type Deferred, deferred, onSharedRedis } from './fixtures.js';

interface HttpResponse {
  write(text: string): void;
}

@Controller()
class Products {
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
  async begun(@Res() response: HttpResponse) {
    response.write('begun ');
    throw new LockLostError('late', { reason: 'expired' });
  }

  @Get('observable/:id')
  @DistributedLock('observable:#{id}')
  values(@Param('id') id: string): Observable<unknown> {
    return of({ id, held: currentLock()?.key });
  }

  @Get('file/:id')
  @DistributedLock('file:#{id}')
  async file(@Param('id') id: string): Promise<StreamableFile> {
    const stream = new Readable({ read() {} });
    stream.push(`${id} `);
    void Products.leave.promise.then(() => stream.push('end') && stream.push(null));
    return new StreamableFile(stream);
  }

  @Sse('events/:id')
  @DistributedLock('events:#{id}')
  events(@Param('id') id: string): Observable<{ data: string }> {
    return new Observable((subscriber) => {
      subscriber.next({ data: `${id} ${currentLock()?.key}` });
      return () => Products.leave.resolve();
    });
  }
}

let app: INestApplication;
const start = async (options: RedisLockModuleOptions = {}, providers: object[] = []) => {
  const module = await Test.createTestingModule({
    imports: [RedisLockModule.forRoot(onSharedRedis(options))],
    controllers: [Products],
    providers: providers as never,
  }).compile();
  app = module.createNestApplication({ logger: false, forceCloseConnections: true });
  await app.listen(0, '127.0.0.1');
};
const get = async (path: string, signal?: AbortSignal) =>
  fetch(`${await app.getUrl()}/${path}`, signal ? { signal } : {});

beforeEach(() => {
  Products.inside = deferred();
  Products.leave = deferred();
});
afterEach(async () => {
  Products.leave.resolve();
  await app.close();
});

describe('lock errors over HTTP', () => {
  it("answers 409 with Retry-After from the rest of the holder's lease, and no internals", async () => {
    await start();
    const first = get('buy/1');
    await Products.inside.promise;
    const refused = await get('buy/1');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([409, '4']);
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
  });

  it('answers 503 with Retry-After when too many wait already', async () => {
    await start({ maxWaiters: 1 });
    const first = get('buy/1');
    await Products.inside.promise;
    const queued = get('queue/1');
    let refused = await get('queue/1');
    // The one that was sent second may have been first at the queue.
    if (refused.status === 200) refused = await queued;
    expect([refused.status, Number(refused.headers.get('retry-after')) >= 1]).toEqual([503, true]);
    expect(((await refused.json()) as { code: string }).code).toBe('LOCK_QUEUE_FULL');
    Products.leave.resolve();
    await Promise.all([first, queued]);
  });

  it('answers 503 with Retry-After when Redis is away', async () => {
    await start({ redis: `redis://127.0.0.1:${await freePort()}` });
    const refused = await get('buy/1');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(((await refused.json()) as { code: string }).code).toBe('LOCK_UNAVAILABLE');
  });

  it('answers 500 for a lost lock and for a wrong configuration, without their messages', async () => {
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

  it('leaves every other error to Nest', async () => {
    await start();
    const response = await get('bad');
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ message: 'no such product' }),
    ]);
  });

  it('ends a response that had begun, instead of failing on its headers', async () => {
    await start();
    const response = await get('begun');
    expect([response.status, await response.text()]).toEqual([200, 'begun ']);
  });

  it("lets the application's own filters have the errors with httpErrors: false", async () => {
    @Catch()
    class Everything implements ExceptionFilter {
      catch(error: { code: string }, host: ArgumentsHost) {
        host
          .switchToHttp()
          .getResponse<{ status(code: number): { send(body: string): void } }>()
          .status(418)
          .send(`own ${error.code}`);
      }
    }
    await start({ httpErrors: false }, [{ provide: APP_FILTER, useClass: Everything }]);
    const response = await get('lost');
    expect([response.status, await response.text()]).toEqual([418, 'own LOCK_LOST']);
  });

  it.each([
    ['the first', [false, undefined]],
    ['the second', [undefined, false]],
    ['a later one whose factory answers it', [undefined, async () => false]],
  ] as const)('leaves them to Nest with httpErrors: false at %s of two connections', async (_which, given) => {
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
    app = module.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    const response = await get('lost');
    expect(await response.json()).toEqual({ statusCode: 500, message: 'Internal server error' });
  });

  it('answers what Nest does for unknown errors with httpErrors: false and no filter', async () => {
    await start({ httpErrors: false });
    const response = await get('lost');
    expect([response.status, await response.json()]).toEqual([
      500,
      { statusCode: 500, message: 'Internal server error' },
    ]);
  });
});

describe('requests and flows', () => {
  it('two requests never share a hold, also when the server was started inside one', async () => {
    const module = await Test.createTestingModule({
      imports: [RedisLockModule.forRoot(onSharedRedis())],
      controllers: [Products],
    }).compile();
    app = module.createNestApplication({ logger: false, forceCloseConnections: true });
    await app.init();
    const locks = app.get(RedisLockService);
    await locks.using('product:1', async () => {
      await app.listen(0, '127.0.0.1');
      expect((await get('buy/1')).status).toBe(409);
      expect(await (await get('observable/5')).json()).toEqual({ id: '5', held: 'observable:5' });
    });
    Products.leave.resolve();
    expect((await get('buy/1')).status).toBe(200);
  });

  it('answers the value of an Observable, produced inside the lock', async () => {
    await start();
    expect(await (await get('observable/7')).json()).toEqual({ id: '7', held: 'observable:7' });
  });

  it('gives the lock of an event stream back when its client goes', async () => {
    await start();
    const client = new AbortController();
    const response = await get('events/1', client.signal);
    let text = '';
    for await (const chunk of response.body!.values({ preventCancel: true })) {
      text += new TextDecoder().decode(chunk);
      if (text.includes('data:')) break;
    }
    expect(text).toContain('1 events:1');
    const locks = app.get(RedisLockService);
    await expect(locks.tryAcquire('events:1')).resolves.toBeNull();
    client.abort();
    await Products.leave.promise;
    await using lock = await locks.acquire('events:1');
    expect(lock.isHeld).toBe(true);
  });

  it('holds the lock of a StreamableFile until it was sent', async () => {
    await start();
    const locks = app.get(RedisLockService);
    const response = await get('file/1');
    await expect(locks.tryAcquire('file:1')).resolves.toBeNull();
    Products.leave.resolve();
    await expect(response.text()).resolves.toBe('1 end');
    await using lock = await locks.acquire('file:1');
    expect(lock.isHeld).toBe(true);
  });

  it('gives the lock of a StreamableFile back when its client goes', async () => {
    await start();
    const locks = app.get(RedisLockService);
    const client = new AbortController();
    const response = await get('file/1', client.signal);
    client.abort();
    await expect(response.text()).rejects.toBeDefined();
    await using lock = await locks.acquire('file:1');
    expect(lock.isHeld).toBe(true);
  });
});
