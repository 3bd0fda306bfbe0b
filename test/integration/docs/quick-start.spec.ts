import 'reflect-metadata';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import Database from 'libsql';
import { LockTestBed, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { deferred } from '../nest/fixtures.js';

/** Two applications that share the locks and the table, as two processes do. */
describe('the service of the quick start', () => {
  let directory: string;
  let table: Database.Database;
  let bed: LockTestBed;
  let quickStart: typeof import('../../../examples/quick-start/stock.js');
  let apps: TestingModule[];

  const stockService = (index: number) => apps[index]!.get(quickStart.StockService);
  const onCharge = (index: number, charge: () => Promise<void>) =>
    jest.spyOn(apps[index]!.get(quickStart.Payments), 'charge').mockImplementation(charge);
  const stock = () => (table.prepare('SELECT stock FROM product').get() as { stock: number }).stock;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'quick-start-'));
    const file = join(directory, 'stock.sqlite');
    process.env['DATABASE_FILE'] = file;
    quickStart = await import('../../../examples/quick-start/stock.js');
    table = new Database(file, { timeout: 5000 });
    // A lost lock is a line in the log; here it is expected.
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });

  beforeEach(async () => {
    table.exec('UPDATE product SET stock = 10, fence = 0');
    bed = new LockTestBed();
    const start = async () => {
      const app = await Test.createTestingModule({
        imports: [RedisLockTestingModule.forRoot({ bed })],
        providers: [quickStart.StockService, quickStart.Payments],
      }).compile();
      return app.init();
    };
    apps = [await start(), await start()];
  });

  afterEach(() => Promise.all(apps.map((app) => app.close())));

  afterAll(async () => {
    jest.restoreAllMocks();
    delete process.env['DATABASE_FILE'];
    table.close();
    await rm(directory, { recursive: true });
  });

  it('sells ten tickets to twelve buyers: one at a time, and never more than the stock', async () => {
    for (const index of [0, 1]) onCharge(index, () => bed.sleep('100ms'));
    const sales = Array.from({ length: 12 }, (_, buyer) => stockService(buyer % 2).take('tea'));
    const results = await bed.until(Promise.allSettled(sales));
    const sold = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(new Set(sold)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    const refused = results.flatMap((result) =>
      result.status === 'rejected' ? [(result.reason as Error).message] : [],
    );
    expect([sold.length, refused]).toEqual([10, ['sold out', 'sold out']]);
  });

  describe('in a process that is paused past its lease while it takes a payment', () => {
    it('has its late write refused when the next holder has sold', async () => {
      onCharge(0, async () => {
        bed.stall('31s');
        await stockService(1).take('tea');
      });
      await expect(stockService(0).take('tea')).rejects.toThrow('a later holder was here');
      expect(stock()).toBe(9);
    });

    it('has its late write refused when the next holder has read the stock and not yet written it', async () => {
      const [hasRead, paid] = [deferred(), deferred()];
      onCharge(1, () => {
        hasRead.resolve();
        return paid.promise;
      });
      let next: Promise<number> | undefined;
      onCharge(0, async () => {
        bed.stall('31s');
        next = stockService(1).take('tea');
        await hasRead.promise;
      });
      await expect(stockService(0).take('tea')).rejects.toThrow('a later holder was here');
      expect(stock()).toBe(10);
      paid.resolve();
      await expect(next).resolves.toBe(9);
      expect(stock()).toBe(9);
    });
  });
});
