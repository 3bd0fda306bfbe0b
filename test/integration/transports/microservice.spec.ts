import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Injectable, Scope, SetMetadata, UseFilters } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import {
  type ClientProxy,
  ClientProxyFactory,
  type ClientOptions,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, LockErrorFilter, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { Observable, concat, defer, lastValueFrom, of, throwError, toArray } from 'rxjs';
import { closing, deferred, onSharedRedis } from '../nest/fixtures.js';
import { transports } from './fixtures.js';
import { KeptLogger } from './kept-logger.js';

/** Over Redis a pattern is a channel, and the server is shared with other tests. */
const run = randomUUID();

@Injectable()
class Meeting {
  inside = deferred();
  leave = deferred();
  seen: unknown[] = [];
}

@Controller()
class Orders {
  constructor(readonly meeting: Meeting) {}

  @MessagePattern(`order:${run}`)
  @SetMetadata('role', 'buyer')
  @DistributedLock({ key: 'order:#{order.id}', wait: 0 })
  async order(@Payload() order: { id: string }) {
    return { ...order, held: currentLock()?.key };
  }

  @DistributedLock('stream:#{id}')
  @MessagePattern(`stream:${run}`)
  stream(@Payload() id: string): Observable<string> {
    return defer(() => of(id, `${currentLock()?.key}`));
  }

  @MessagePattern(`broken:${run}`)
  @DistributedLock('broken:#{id}')
  broken(@Payload() id: string): Observable<string> {
    return concat(
      of(id),
      throwError(() => new Error('business')),
    );
  }

  @MessagePattern(`meet:${run}`)
  @DistributedLock({ key: 'meeting', wait: 0 })
  async meet() {
    this.meeting.inside.resolve();
    await this.meeting.leave.promise;
    return currentLock()?.depth;
  }

  /** Not locked itself. */
  @MessagePattern(`plain:${run}`)
  async plain() {
    return [currentLock()?.key];
  }

  @DistributedLock({ key: 'placed:#{order.id}', wait: 0 })
  @EventPattern<string>(`placed:${run}`)
  async placed(@Payload() order: { id: string }) {
    this.meeting.seen.push({ ...order, held: currentLock()?.key });
    this.meeting.inside.resolve();
  }

  @EventPattern<string>(`noted:${run}`)
  @DistributedLock({ key: 'noted', wait: 0 })
  noted(): Observable<string> {
    return of('noted');
  }

  @MessagePattern(`wrong:${run}`)
  @DistributedLock('wrong:#{id}')
  async wrong(@Payload() _id: undefined, id?: string) {
    return id;
  }

  @Get('meet')
  @DistributedLock({ key: 'meeting', wait: 0 })
  async overHttp() {
    return 'met';
  }
}

@Controller({ scope: Scope.REQUEST })
class Scoped {
  constructor(@Inject(REQUEST) readonly request: { data: unknown }) {}

  @MessagePattern(`scoped:${run}`)
  @DistributedLock({ key: 'scoped:#{id}', wait: 0 })
  async scoped(@Payload() id: string) {
    return [id, currentLock()?.key, this.request.data];
  }
}

/** What the message controllers of a hybrid application need if it does not share its global filters. */
@Controller()
@UseFilters(LockErrorFilter)
class Filtered {
  @MessagePattern(`filtered:${run}`)
  @DistributedLock({ key: 'filtered', wait: 0 })
  async filtered() {}
}

const compile = async (logger = new KeptLogger()) => {
  const module = await Test.createTestingModule({
    imports: [RedisLockModule.forRoot(onSharedRedis())],
    controllers: [Orders, Scoped, Filtered],
    providers: [Meeting],
  })
    .setLogger(logger)
    .compile();
  return { module, logger, meeting: module.get(Meeting), locks: module.get(RedisLockService) };
};

const clientOf = (options: MicroserviceOptions) => {
  const client = ClientProxyFactory.create(options as ClientOptions);
  return Object.assign(client, { [Symbol.asyncDispose]: async () => void (await client.close()) });
};

const ask = (client: ClientProxy, pattern: string, data: unknown = '') =>
  lastValueFrom(client.send<unknown>(`${pattern}:${run}`, data).pipe(toArray()));
const tell = (client: ClientProxy, pattern: string, data: unknown = '') =>
  lastValueFrom(client.emit(`${pattern}:${run}`, data), { defaultValue: undefined });

describe.each(transports)('a %s microservice', (_name, transport) => {
  const start = async () => {
    const options = await transport();
    const { module, ...parts } = await compile();
    const app = closing(module.createNestMicroservice(options));
    return { app, ...parts, client: clientOf(options), module };
  };

  it('locks message handlers, promises and Observables, and keeps their patterns and metadata', async () => {
    const { app, client } = await start();
    await using _app = app;
    await using _client = client;
    await app.listen();
    await expect(ask(client, 'order', { id: '7' })).resolves.toEqual([{ id: '7', held: 'order:7' }]);
    await expect(ask(client, 'stream', '8')).resolves.toEqual(['8', 'stream:8']);
    await expect(ask(client, 'scoped', '9')).resolves.toEqual([['9', 'scoped:9', '9']]);
    expect(Reflect.getMetadata('role', app.get(Orders).order)).toBe('buyer');
  });

  it('sends the client of a lock error its code, key, message, and when to try again', async () => {
    const { app, client, locks, logger } = await start();
    await using _app = app;
    await using _client = client;
    await app.listen();
    await using _order = await locks.acquire('order:7', { lease: '20s' });
    await using _scoped = await locks.acquire('scoped:7');
    const refusal = {
      status: 'error',
      name: 'LockNotAcquiredError',
      code: 'LOCK_CONTENDED',
      key: 'order:7',
      message: expect.stringContaining("Lock 'order:7' is held by another caller."),
    };
    const refused: unknown = await ask(client, 'order', { id: '7' }).catch((error: unknown) => error);
    expect(refused).toEqual({ ...refusal, leaseLeft: expect.any(Number), retryAfter: 1000 });
    await expect(ask(client, 'scoped', '7')).rejects.toMatchObject({ code: 'LOCK_CONTENDED', key: 'scoped:7' });
    await expect(ask(client, 'order', { id: '8' })).resolves.toEqual([{ id: '8', held: 'order:8' }]);
    // The client has got the error: the server does not log it.
    expect(logger.errors).toEqual([]);
    await expect(ask(client, 'wrong', '1')).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining('Orders.wrong'),
    });
    expect(logger.errors).toEqual([expect.stringContaining('Orders.wrong')]);
  });

  it('leaves business errors of a locked Observable to Nest, after the values sent before', async () => {
    const { app, client, locks } = await start();
    await using _app = app;
    await using _client = client;
    await app.listen();
    await expect(ask(client, 'broken', '1')).rejects.toEqual({ status: 'error', message: 'Internal server error' });
    await using lock = await locks.acquire('broken:1');
    expect(lock.isHeld).toBe(true);
  });

  it('makes each message a flow of its own, also if the server was started inside the lock', async () => {
    const { app, client, locks, meeting } = await start();
    await using _app = app;
    await using _client = client;
    await locks.using('meeting', async () => {
      await app.listen();
      await expect(ask(client, 'meet')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    });
    const first = ask(client, 'meet');
    await meeting.inside.promise;
    await expect(ask(client, 'meet')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    meeting.leave.resolve();
    await expect(first).resolves.toEqual([1]);
  });

  it('locks event handlers, and logs the lock error that no client gets', async () => {
    const { app, client, locks, meeting, logger } = await start();
    await using _app = app;
    await using _client = client;
    await app.listen();
    await client.connect();
    await using _placed = await locks.acquire('placed:7');
    await using _noted = await locks.acquire('noted');
    await tell(client, 'placed', { id: '7' });
    await expect(logger.errorWith('placed:7')).resolves.toContain(`process ${process.pid}, for `);
    await tell(client, 'noted');
    await expect(logger.errorWith('noted')).resolves.toContain(`process ${process.pid}, for `);
    await tell(client, 'placed', { id: '8' });
    await meeting.inside.promise;
    expect(meeting.seen).toEqual([{ id: '8', held: 'placed:8' }]);
  });
});

describe.each(transports)('a hybrid application with %s', (_name, transport) => {
  const start = async (inheritAppConfig: boolean) => {
    const options = await transport();
    const { module, ...parts } = await compile();
    const app = closing(module.createNestApplication({ forceCloseConnections: true }));
    app.connectMicroservice(options, { inheritAppConfig });
    const listen = async () => {
      await app.startAllMicroservices();
      await app.listen(0, '127.0.0.1');
    };
    const get = async (path: string) => fetch(`${await app.getUrl()}/${path}`);
    return { app, listen, get, ...parts, client: clientOf(options) };
  };
  const inherited = [true, false];

  it.each(inherited)('locks the same over HTTP and by message (inheritAppConfig: %s)', async (inheritAppConfig) => {
    const { app, listen, get, client, meeting } = await start(inheritAppConfig);
    await using _app = app;
    await using _client = client;
    await listen();
    const meetingNow = ask(client, 'meet');
    await meeting.inside.promise;
    const refused = await get('meet');
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([409, 'LOCK_CONTENDED']);
    meeting.leave.resolve();
    await expect(meetingNow).resolves.toEqual([1]);
    expect(await (await get('meet')).text()).toBe('met');
  });

  it('sends a lock error to the client with inheritAppConfig', async () => {
    const { app, listen, client, locks } = await start(true);
    await using _app = app;
    await using _client = client;
    await listen();
    await using _lock = await locks.acquire('order:7');
    await expect(ask(client, 'order', { id: '7' })).rejects.toMatchObject({ code: 'LOCK_CONTENDED', key: 'order:7' });
  });

  it('sends it without inheritAppConfig if the controller uses LockErrorFilter, and otherwise logs it', async () => {
    const { app, listen, client, locks, logger } = await start(false);
    await using _app = app;
    await using _client = client;
    await listen();
    await using _lock = await locks.acquire('filtered');
    await using _order = await locks.acquire('order:7');
    await expect(ask(client, 'filtered')).rejects.toMatchObject({ code: 'LOCK_CONTENDED', key: 'filtered' });
    await expect(ask(client, 'order', { id: '7' })).rejects.toEqual({
      status: 'error',
      message: 'Internal server error',
    });
    await expect(logger.errorWith('order:7')).resolves.toContain('RpcExceptionsHandler');
  });

  it.each(inherited)(
    'makes each message a flow of its own, also if the server was started inside the lock (inheritAppConfig: %s)',
    async (inheritAppConfig) => {
      const { app, listen, client, locks } = await start(inheritAppConfig);
      await using _app = app;
      await using _client = client;
      await locks.using('meeting', async () => {
        await listen();
        await expect(ask(client, 'meet')).rejects.toMatchObject({ status: 'error' });
        await expect(ask(client, 'plain')).resolves.toEqual([[null]]);
      });
    },
  );
});
