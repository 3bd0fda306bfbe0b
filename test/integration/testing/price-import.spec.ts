import 'reflect-metadata';
import { once } from 'node:events';
import { type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import Database from 'libsql';
import { LockTestBed, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { deferred } from '../nest/fixtures.js';
import { Exchange, PriceImport, PriceTable } from './price-import.js';

/** The worked example of the guide: `fetch` gets the signal of the lock, SQL gets its token. */
describe('a price import', () => {
  let server: Server;
  let database: Database.Database;
  let app: TestingModule;
  let prices: PriceImport;
  let bed: LockTestBed;

  const nextRequest = async () => ((await once(server, 'request')) as [unknown, ServerResponse])[1];
  const stored = () => (database.prepare('SELECT cents FROM price').get() as { cents: number }).cents;

  beforeEach(async () => {
    server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    database = new Database(':memory:');
    app = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot()],
      providers: [
        PriceImport,
        PriceTable,
        Exchange,
        { provide: 'database', useValue: database },
        { provide: 'shop', useValue: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
      ],
    }).compile();
    await app.init();
    prices = app.get(PriceImport);
    bed = app.get(LockTestBed);
    database.exec("INSERT INTO price (product, cents) VALUES ('tea', 100)");
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await app.close();
    database.close();
    server.closeAllConnections();
    server.close();
  });

  it('writes the price of the shop', async () => {
    const refreshed = prices.refresh('tea');
    (await nextRequest()).end('2.49');
    await refreshed;
    expect(stored()).toBe(249);
  });

  it('aborts the request to the shop when its lock is lost, and rejects with the reason', async () => {
    const refreshed = prices.refresh('tea');
    const response = await nextRequest();
    const hungUp = once(response, 'close');
    bed.faults.lose('price:tea');
    const failed = expect(refreshed).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    await bed.advance('10s');
    await Promise.all([failed, hungUp]);
    expect(stored()).toBe(100);
  });

  it('is refused by the database when a later holder has written, even if it does not know of its loss', async () => {
    const exchange = app.get(Exchange);
    const [reached, goOn] = [deferred(), deferred()];
    jest.spyOn(exchange, 'toCents').mockImplementation(async () => {
      reached.resolve();
      await goOn.promise;
      return 199;
    });
    const slow = prices.refresh('tea');
    (await nextRequest()).end('1.99');
    await reached.promise;
    // Redis forgets the holder, which learns it at its next renewal.
    bed.faults.lose('price:tea');
    const other = await bed.otherProcess().acquire('price:tea');
    app.get(PriceTable).write('tea', 349, other.fencingToken);
    goOn.resolve();
    await expect(slow).rejects.toThrow('Too late');
    expect(stored()).toBe(349);
  });
});
