import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger, type ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import Database from 'libsql';
import { currentLock, RedisLockService } from 'nestjs-redis-lock';
import { createLockClient } from 'nestjs-redis-lock/client';
import { LockTestBed, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { Search } from '../../../examples/calls.js';
import { AppModule as TwoConnections, Invoices } from '../../../examples/connections.js';
import { Gateway } from '../../../examples/gateway.js';
import { LocksInMemory } from '../../../examples/in-memory.js';
import { Files, Transfers } from '../../../examples/keys.js';
import { Imports, Pictures } from '../../../examples/leases.js';
import { AppModule } from '../../../examples/locks.module.js';
import { recordWaits } from '../../../examples/metrics.js';
import { CachedReports, Cache, Warehouse } from '../../../examples/recipes/stampede.js';
import { Invoices as InvoicesOfTenants, tenants } from '../../../examples/recipes/tenants.js';
import { ReportService, ReportStore } from '../../../examples/reports.js';
import { importFeeds } from '../../../examples/script.js';
import { Accounts } from '../../../examples/several-keys.js';
import { snippet } from '../../../scripts/write-snippets.mjs';
import { sharedRedisUrl } from '../../support/redis-server.js';
import { closing } from '../nest/fixtures.js';
import { KeptLogger } from '../transports/kept-logger.js';

const start = async (metadata: ModuleMetadata, bed = new LockTestBed()) => {
  const imports = [RedisLockTestingModule.forRoot({ bed }), ...(metadata.imports ?? [])];
  const module = await Test.createTestingModule({ ...metadata, imports }).compile();
  return Object.assign(closing(await module.init()), { bed });
};

beforeEach(() => {
  // A lost lock is a line in the log; here it is expected.
  jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
});
afterEach(() => {
  jest.restoreAllMocks();
});

describe("the guide's examples", () => {
  it('script.ts: loads under the lock of the application, with its token, and leaves the lock free', async () => {
    const loaded: Array<[string, number]> = [];
    await importFeeds(['a', 'b'], async (feed, token) => {
      await using other = createLockClient({ redis: sharedRedisUrl() });
      const [holder] = (await other.inspect('feeds:import')).holders;
      expect(holder).toMatchObject({ label: 'nightly', fencingToken: token });
      loaded.push([feed, token]);
    });
    expect(loaded.map(([feed]) => feed)).toEqual(['a', 'b']);
    await using other = createLockClient({ redis: sharedRedisUrl() });
    expect((await other.inspect('feeds:import')).holders).toEqual([]);
  });

  it('keys.ts: both directions have the same name, and no values produce the name of others', async () => {
    await using app = await start({ providers: [Transfers] });
    const name = async (from: string, to: string) => (await app.get(Transfers).transfer(from, to)).split(' under ')[1];
    expect(await name('a', 'b')).toBe('transfer:a:b');
    expect(await name('b', 'a')).toBe('transfer:a:b');
    expect(await name('a', 'b:c')).not.toBe(await name('a:b', 'c'));
  });

  it('keys.ts: a name built with lockName equals that of the template, also for a value with a colon', async () => {
    await using app = await start({ providers: [Files] });
    const path = 's3://bucket/x';
    expect(await app.get(Files).writeAll(path, ['a', 'b'])).toEqual(
      ['a', 'b'].map((text) => `${text} under file:s3%3A//bucket/x`),
    );
    await app.bed.otherProcess().acquire('file:s3%3A//bucket/x');
    await expect(app.bed.until(app.get(Files).write(path, 'c'))).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    await expect(app.bed.until(app.get(Files).writeAll(path, []))).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
  });

  it('several-keys.ts: transfers in opposite directions do not deadlock, and each name has a token', async () => {
    await using one = await start({ providers: [Accounts] });
    await using other = await start({ providers: [Accounts] }, one.bed);
    const seven = { id: '7', balance: 10 };
    const nine = { id: '9', balance: 10 };
    const transfers = [
      one.get(Accounts).transfer(seven, nine, 1),
      other.get(Accounts).transfer(nine, seven, 4),
      one.get(Accounts).transfer(seven, nine, 2),
    ];
    await one.bed.until(Promise.all(transfers));
    expect([seven.balance, nine.balance]).toEqual([11, 9]);
    expect(await one.get(Accounts).close(['9', '7'])).toBe('closed 2 under account:7, account:9');
    expect(await one.get(Accounts).audit()).toBeGreaterThan(0);
  });

  it('several-keys.ts: more names than one call takes are taken in steps, in any order, without a deadlock', async () => {
    await using one = await start({ providers: [Accounts] });
    await using other = await start({ providers: [Accounts] }, one.bed);
    const names = Array.from({ length: 600 }, (_, index) => `account:${index}`);
    let inside = 0;
    const work = async (): Promise<number> => {
      expect(++inside).toBe(1);
      await one.bed.sleep('1s');
      expect(currentLock()!.isHeld).toBe(true);
      return --inside;
    };
    const calls = [one, other, one].map((app, index) =>
      app.get(Accounts).usingAll(index === 1 ? names.toReversed() : names, work),
    );
    expect(await one.bed.until(Promise.all(calls))).toEqual([0, 0, 0]);
    expect(await one.get(Accounts).usingAll([], async () => 'worked')).toBe('worked');
  });

  it('reports.ts: readers read side by side, and wait for the writer', async () => {
    await using app = await start({ providers: [ReportStore] });
    const store = app.get(ReportStore);
    const reader = await app.bed.otherProcess().acquire('report:daily', { shared: true });
    expect(await store.read('daily')).toBeUndefined();
    const written = store.write({ id: 'daily', pages: 3 });
    const read = store.read('daily');
    await reader.release();
    await app.bed.until(written);
    expect(await read).toEqual({ id: 'daily', pages: 3 });
  });

  it('reports.ts: a contended call is skipped, or returns something else', async () => {
    await using app = await start({ providers: [ReportService] });
    const service = app.get(ReportService);
    await service.warm();
    expect(service.warmed).toBe(1);
    await app.bed.otherProcess().acquire('cache:warm');
    await app.bed.otherProcess().acquire('report:daily');
    await service.warm();
    expect(service.warmed).toBe(1);
    expect(await app.bed.until(service.report('daily'))).toEqual({ id: 'daily', pages: 11 });
    expect(await service.report('weekly')).toEqual({ id: 'weekly', pages: 12 });
  });

  it('gateway.ts: at most ten permits are in use, with any number of permits per call', async () => {
    await using app = await start({ providers: [Gateway] });
    const gateway = app.get(Gateway);
    const work = () => app.bed.sleep('100ms');
    const calls = Array.from({ length: 30 }, (_, index) =>
      index % 5 === 0 ? gateway.callInBulk(work) : gateway.call(work),
    );
    await app.bed.until(Promise.all(calls));
    expect([gateway.most, gateway.inUse]).toEqual([10, 0]);
  });

  it('gateway.ts: at most five calls start in any second, and each starts as early as that allows', async () => {
    await using app = await start({ providers: [Gateway] });
    const started: number[] = [];
    const calls = Array.from({ length: 12 }, () =>
      app.get(Gateway).callInTurn(async () => void started.push(app.bed.clock.now())),
    );
    await app.bed.until(Promise.all(calls));
    // To the millisecond, apart from the time that a server takes to end a lease.
    expect(started.map((at) => Math.round((at - started[0]!) / 100))).toEqual([
      0, 0, 0, 0, 0, 10, 10, 10, 10, 10, 20, 20,
    ]);
  });

  it('calls.ts: each call takes the lock and releases it; one try returns undefined while it is held', async () => {
    await using app = await start({ providers: [Search] });
    const search = app.get(Search);
    expect(await search.rebuild()).toBe(1);
    expect(await search.check()).toBe(2);
    expect(await search.checkWithoutUsing()).toBe(3);
    expect(await search.rebuildUnlessRunning()).toBe(4);
    expect(search.built.toSorted((a, b) => a! - b!)).toEqual(search.built);
    const lock = await app.bed.otherProcess().acquire('search:index');
    expect(await search.rebuildUnlessRunning()).toBeUndefined();
    const built = [search.whenBuilt(), search.whenBuilt()];
    await lock.release();
    expect(await Promise.all(built)).toEqual([4, 4].map(() => search.built.at(-1)));
    expect(app.bed.inspect('search:index').holders[0]).toBeUndefined();
  });

  it('leases.ts: work of half a minute is safe with a renewed lease, and loses a fixed lease of 10 s', async () => {
    await using app = await start({ providers: [Imports, Pictures] });
    const imports = app.get(Imports);
    const work = () => app.bed.sleep('35s');
    await app.bed.until(imports.defaults('a', work));
    await app.bed.until(imports.renewed('a', work));
    // In virtual time nothing blocks: a worker has nothing to do.
    await app.bed.until(app.get(Pictures).resized('a', () => undefined));
    await expect(app.bed.until(imports.fixed('a', work))).rejects.toMatchObject({
      code: 'LOCK_LOST',
      reason: 'expired',
    });
  });

  it('connections.ts: the named connection has its own Redis, prefix and service', async () => {
    process.env['BILLING_REDIS_URL'] = sharedRedisUrl();
    const module = await Test.createTestingModule({ imports: [TwoConnections] })
      .setLogger(new KeptLogger())
      .compile();
    await using app = closing(await module.init());
    const invoices = app.get(Invoices);
    expect(await invoices.send('i-1')).toBe('i-1 under invoice:i-1');
    expect(await invoices.isFree('i-1')).toBe(true);
  });

  it('in-memory.ts: locks without Redis', async () => {
    const module = await Test.createTestingModule({ imports: [LocksInMemory] }).compile();
    await using app = closing(await module.init());
    await using lock = await app.get(RedisLockService).acquire('a');
    expect(lock.isHeld).toBe(true);
  });

  it('locks.module.ts: an inline lock module is replaced in a test', async () => {
    const bed = new LockTestBed();
    // #region whole-application
    const module = await Test.createTestingModule({
      imports: [AppModule, RedisLockTestingModule.forRoot({ bed })],
    }).compile();
    // #endregion
    await using app = closing(await module.init());
    await app.get(Imports).defaults('a', async () => expect(bed.inspect('import:a').holders[0]).toBeDefined());
    expect.assertions(1);
  });

  it('locks.module.ts: without a test it uses the Redis of its configuration', async () => {
    const module = await Test.createTestingModule({ imports: [AppModule] })
      .setLogger(new KeptLogger())
      .compile();
    await using app = closing(await module.init());
    await app.get(Imports).defaults('b', async () => undefined);
  });

  it('metrics.ts: waits are recorded by kind of lock', async () => {
    await using app = await start({ providers: [Files] });
    const record = jest.fn();
    const stop = recordWaits({ record });
    await app.get(Files).write('a', 'x');
    stop();
    await app.get(Files).write('b', 'x');
    expect(record.mock.calls).toEqual([[expect.any(Number), { lock: 'file:#{path}', outcome: 'acquired' }]]);
  });
});

describe('fencing.sql', () => {
  it('lets a holder write more than once, and refuses every earlier one before and after the later one has written', () => {
    const text = readFileSync(new URL('../../../examples/fencing.sql', import.meta.url), 'utf8');
    const statements = (region: string) =>
      snippet(text, region)!
        .split('\n')
        .map((line) => line.replace(/ *--.*/, ''))
        .filter((line) => line !== '');
    const database = new Database(':memory:');
    database.exec('CREATE TABLE product (id TEXT, stock INTEGER)');
    database.exec(`INSERT INTO product VALUES ('tea', 10)`);
    database.exec(statements('column')[0]!);
    const [raise, read, write] = statements('steps').map((sql) => database.prepare(sql));
    const raised = (token: number) => raise!.run({ id: 'tea', token }).changes;
    const written = (stock: number, token: number) => write!.run({ id: 'tea', stock, token }).changes;
    expect([raised(1), raised(2)]).toEqual([1, 1]);
    expect([raised(1), written(9, 1)]).toEqual([0, 0]);
    expect([written(8, 2), written(7, 2)]).toEqual([1, 1]);
    expect([raised(1), written(9, 1)]).toEqual([0, 0]);
    expect(read!.get({ id: 'tea' })).toMatchObject({ stock: 7 });
    database.close();
  });
});

describe("the recipes' examples", () => {
  it('stampede.ts: a hundred calls in two processes load a report once', async () => {
    const cache = new Cache();
    const providers = [CachedReports, { provide: Cache, useValue: cache }, Warehouse];
    await using one = await start({ providers });
    await using other = await start({ providers }, one.bed);
    const queries = [one, other].map((app) => jest.spyOn(app.get(Warehouse), 'query'));
    const calls = Array.from({ length: 100 }, (_, index) =>
      (index % 2 === 0 ? one : other).get(CachedReports).get('a'),
    );
    const reports = await one.bed.until(Promise.all(calls));
    expect(new Set(reports)).toEqual(new Set(['report a']));
    expect(queries.flatMap((query) => query.mock.calls)).toEqual([['a']]);
  });

  it('tenants.ts: each tenant has locks of its own, and a call without a tenant is refused', async () => {
    await using app = await start({ providers: [InvoicesOfTenants] });
    const invoices = app.get(InvoicesOfTenants);
    const name = (tenant: string, id: string) => tenants.run(tenant, () => invoices.send(id));
    expect(await name('acme', '7')).toBe('7 under tenant:acme:invoice:7');
    expect(await name('a:b', '7')).toBe('7 under tenant:a%3Ab:invoice:7');
    await expect(invoices.send('7')).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  });
});
