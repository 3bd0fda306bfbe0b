import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import Database from 'libsql';
import { lockName, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { onSharedRedis } from './fixtures.js';
import { forkWorker, type Worker } from '../../support/worker.js';

/** The worker writes in transactions; this process is another application, with its own connections to the database and to Redis. */
let directory: string;
let worker: Worker;
let database: Database.Database;
let app: TestingModule;
let locks: RedisLockService;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'redis-lock-transactions-'));
  const file = join(directory, 'rows.db');
  const { redis, keyPrefix } = onSharedRedis();
  worker = forkWorker('transactions', { env: { TRANSACTIONS: JSON.stringify({ redis, keyPrefix, database: file }) } });
  await worker.message();
  database = new Database(file);
  app = await Test.createTestingModule({
    imports: [RedisLockModule.forRoot({ redis: redis!, keyPrefix: keyPrefix! })],
  }).compile();
  locks = app.get(RedisLockService);
});
afterAll(async () => {
  await app.close();
  database.close();
  await worker.kill();
  rmSync(directory, { recursive: true });
});

const rows = (id: string): unknown[] => database.prepare('SELECT writer FROM rows WHERE id = ?').all(id);

const orders = [
  ['ClsLockAbove', '@DistributedLock above @Transactional of nestjs-cls'],
  ['ClsLockBelow', '@DistributedLock below @Transactional of nestjs-cls'],
  ['OwnLockAbove', '@DistributedLock above a decorator for transactions of TypeORM'],
  ['OwnLockBelow', '@DistributedLock below a decorator for transactions of TypeORM'],
  ['Inherited', '@DistributedLock below it, inherited, of an object that a factory made'],
] as const;

describe.each(orders)('%s', (service, title) => {
  it(`${title}: the next holder, over another connection, sees the committed data`, async () => {
    const id = randomUUID();
    worker.send({ service, id, fails: false });
    await expect(worker.message()).resolves.toEqual({ event: 'ending', how: 'commit', held: `row:${id}` });
    // All is written and nothing committed: the lock must not be free.
    await expect(locks.tryAcquire(lockName`row:${id}`)).resolves.toBeNull();
    expect(rows(id)).toEqual([]);
    const seen = locks.using(lockName`row:${id}`, { wait: '20s' }, () => rows(id));
    worker.send('go');
    await expect(seen).resolves.toEqual([{ writer: service }]);
    await expect(worker.message()).resolves.toEqual({ event: 'done', result: [`row:${id}`, 1] });
  });

  it(`${title}: the lock is kept until the transaction of failed work was rolled back`, async () => {
    const id = randomUUID();
    worker.send({ service, id, fails: true });
    await expect(worker.message()).resolves.toEqual({ event: 'ending', how: 'rollback', held: `row:${id}` });
    await expect(locks.tryAcquire(lockName`row:${id}`)).resolves.toBeNull();
    const seen = locks.using(lockName`row:${id}`, { wait: '20s' }, () => rows(id));
    worker.send('go');
    await expect(seen).resolves.toEqual([]);
    await expect(worker.message()).resolves.toEqual({ event: 'done', error: 'business' });
  });
});
