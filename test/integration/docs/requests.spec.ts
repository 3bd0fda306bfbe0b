import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it, jest } from '@jest/globals';
import { Controller, type ModuleMetadata } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import {
  type ClientOptions,
  ClientProxyFactory,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  Transport,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import Database from 'libsql';
import { DistributedLock, RedisLockService } from 'nestjs-redis-lock';
import { LockTestBed, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { lastValueFrom } from 'rxjs';
import { ReportsController } from '../../../examples/client-gone.js';
import { events, ProductsController, TransactionInterceptor } from '../../../examples/lock-interceptor.js';
import { ProductSales } from '../../../examples/own-decorator.js';
import { Ledger, Webhooks, WrongWebhooks } from '../../../examples/recipes/webhook.js';
import { LockDesk } from '../../../examples/views.js';
import { freePort } from '../../support/redis-server.js';
import { closing, deferred } from '../nest/fixtures.js';
import { KeptLogger } from '../transports/kept-logger.js';

const output = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../examples/output/${name}.json`, import.meta.url), 'utf8'));

const start = async (metadata: ModuleMetadata) => {
  const bed = new LockTestBed();
  const module = await Test.createTestingModule({ ...metadata, imports: [RedisLockTestingModule.forRoot({ bed })] })
    .setLogger(new KeptLogger())
    .compile();
  const app = closing(module.createNestApplication(new ExpressAdapter(), { forceCloseConnections: true }));
  await app.listen(0, '127.0.0.1');
  const request = async (method: string, path: string, body?: object, signal?: AbortSignal) =>
    fetch(`${await app.getUrl()}${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  return { app, bed, request, [Symbol.asyncDispose]: () => app.close() };
};

describe("the guide's examples for requests", () => {
  it('own-decorator.ts: a route gets its lock by a decorator of the application, and a job runs on the leader', async () => {
    await using server = await start({ controllers: [ProductSales] });
    const { app, request } = server;
    expect(await (await request('POST', '/products/42/sale')).text()).toBe('sold 42 under product:42');
    const sales = app.get(ProductSales);
    const nightly = app.get(RedisLockService).election('nightly');
    while (!nightly.isLeader) await new Promise(setImmediate);
    await sales.clean();
    expect(sales.cleaned).toBe(1);
  });

  it('client-gone.ts: a call whose client hangs up leaves the queue', async () => {
    await using server = await start({ controllers: [ReportsController] });
    const { bed, request } = server;
    const lock = await bed.otherProcess().acquire('report:a');
    const client = new AbortController();
    const answer = request('GET', '/reports/a', undefined, client.signal);
    while (bed.inspect('report:a').waiters.length === 0) await new Promise(setImmediate);
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    while (bed.inspect('report:a').waiters.length > 0) await new Promise(setImmediate);
    await lock.release();
    expect(await (await request('GET', '/reports/a')).text()).toBe('report a');
  });

  it('lock-interceptor.ts: the lock is around the interceptor behind it', async () => {
    await using server = await start({ controllers: [ProductsController], providers: [TransactionInterceptor] });
    expect(await (await server.request('PUT', '/products/a:b', { stock: 3 })).text()).toBe('a:b: 3');
    expect(events).toEqual(['begin', 'update', 'commit'].map((event) => `${event}, lock product:a%3Ab`));
  });

  it('views.ts: shows holders and waiters as in the guide, lists locks, and releases one by force', async () => {
    @Controller()
    class ReportBuilder {
      readonly inside = deferred();
      @DistributedLock('report:#{day}')
      async build(day: string, until: Promise<unknown>): Promise<string> {
        this.inside.resolve();
        await until;
        return day;
      }
    }
    await using server = await start({ controllers: [ReportBuilder], providers: [LockDesk] });
    const { app, bed } = server;
    const leave = deferred();
    const built = expect(app.get(ReportBuilder).build('daily', leave.promise)).rejects.toMatchObject({
      reason: 'revoked',
    });
    await app.get(ReportBuilder).inside.promise;
    const waiting = expect(bed.otherProcess().acquire('report:daily')).resolves.toBeDefined();
    await bed.advance('4s');
    const desk = app.get(LockDesk);
    const info = JSON.parse(JSON.stringify(await desk.look('report:daily'))) as Record<string, Party[]>;
    const shown = output('inspect') as Record<string, Party[]>;
    expect(withoutProcess(info)).toEqual(withoutProcess(shown));
    expect(await desk.held()).toEqual(['report:daily']);
    const [holder] = (await desk.look('report:daily')).holders;
    expect(await desk.takeAway('report:daily', holder!, 'anna', 'hangs')).toBe(true);
    expect(await desk.takeAway('report:daily', holder!, 'anna', 'hangs')).toBe(false);
    leave.resolve();
    await Promise.all([built, waiting]);
  });

  it('a refused message of a microservice gets the response that the guide shows', async () => {
    const pattern = `pay:${randomUUID()}`;
    @Controller()
    class Ms {
      @MessagePattern(pattern)
      @DistributedLock({ key: 'order:#{id}', wait: 0 })
      async pay(@Payload() id: string): Promise<string> {
        return id;
      }
    }
    const options = { transport: Transport.TCP, options: { port: await freePort() } } satisfies MicroserviceOptions;
    const bed = new LockTestBed();
    const module = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot({ bed })],
      controllers: [Ms],
    })
      .setLogger(new KeptLogger())
      .compile();
    await using app = closing(module.createNestMicroservice<MicroserviceOptions>(options));
    await app.listen();
    await bed.otherProcess().acquire('order:7', { lease: 1800 });
    const client = ClientProxyFactory.create(options as ClientOptions);
    const refused = await lastValueFrom(client.send(pattern, '7')).catch((error: unknown) => error);
    client.close();
    expect(refused).toEqual(output('refused-message'));
  });
});

interface Party {
  client: string;
  host: string;
  pid: number;
  fencingToken?: number;
}

/** What differs from process to process, by its type. */
const withoutProcess = (info: Record<string, Party[]>): unknown => ({
  ...info,
  ...Object.fromEntries(
    ['holders', 'waiters'].map((name) => [
      name,
      info[name]!.map(({ client, host, pid, fencingToken, ...rest }) => ({
        ...rest,
        process: [client.length, typeof host, typeof pid, typeof fencingToken],
      })),
    ]),
  ),
});

describe("the recipe's webhook", () => {
  const database = () => {
    const created = new Database(':memory:');
    created.exec('CREATE TABLE processed (id TEXT PRIMARY KEY)');
    return created;
  };

  it('books an event once, even if it is delivered several times; a failed one is booked by the next delivery', async () => {
    await using server = await start({
      controllers: [Webhooks],
      providers: [Ledger, { provide: 'database', useFactory: database }],
    });
    const { app, request } = server;
    const book = jest.spyOn(app.get(Ledger), 'book').mockRejectedValueOnce(new Error('the ledger is down'));
    const deliver = async () => (await request('POST', '/webhooks', { id: 'e1', amount: 5 })).status;
    expect(await deliver()).toBe(500);
    expect(await Promise.all([deliver(), deliver(), deliver()])).toEqual([200, 200, 200]);
    expect(book).toHaveBeenCalledTimes(2);
  });

  it("with 'skip' the sender gets a success response while the event is lost", async () => {
    await using server = await start({ controllers: [WrongWebhooks], providers: [Ledger] });
    const { app, request } = server;
    const [begun, fail] = [deferred(), deferred()];
    jest.spyOn(app.get(Ledger), 'book').mockImplementation(async () => {
      begun.resolve();
      await fail.promise;
      throw new Error('the ledger is down');
    });
    const first = request('POST', '/wrong-webhooks', { id: 'e1', amount: 5 });
    await begun.promise;
    expect((await request('POST', '/wrong-webhooks', { id: 'e1', amount: 5 })).status).toBe(200);
    fail.resolve();
    expect((await first).status).toBe(500);
    await app.get(RedisLockService).using('webhook:e1', () => undefined);
  });
});
