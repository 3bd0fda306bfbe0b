import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { BullModule, getQueueToken, OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Injectable, type ModuleMetadata, type OnModuleDestroy } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { type Job, Queue, QueueEvents } from 'bullmq';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { of } from 'rxjs';
import { closing, deferred, onSharedRedis } from '../nest/fixtures.js';
import { sharedRedisConnection } from './fixtures.js';
import { KeptLogger } from './kept-logger.js';

interface Payment {
  account: string;
}

/** The server is shared with other tests. */
const queueName = `payments-${randomUUID()}`;

const start = async (metadata: ModuleMetadata) => {
  const connection = sharedRedisConnection();
  const module = await Test.createTestingModule({
    ...metadata,
    imports: [
      BullModule.forRoot({ connection }),
      BullModule.registerQueue({ name: queueName }),
      RedisLockModule.forRoot(onSharedRedis()),
    ],
  })
    .setLogger(new KeptLogger())
    .compile();
  const app = closing(module);
  try {
    await app.init();
  } catch (error) {
    // Queues and workers are connected already.
    await app.close();
    throw error;
  }
  const queue = app.get<Queue<Payment>>(getQueueToken(queueName));
  const events = new QueueEvents(queueName, { connection });
  await events.waitUntilReady();
  return {
    app,
    queue,
    locks: app.get(RedisLockService),
    result: async (job: Job): Promise<unknown> => job.waitUntilFinished(events),
    async [Symbol.asyncDispose]() {
      await app.close();
      await events.close();
      const cleaner = new Queue(queueName, { connection });
      await cleaner.obliterate({ force: true });
      await cleaner.close();
    },
  };
};

const held = () => [currentLock()?.key, currentLock()?.depth];

describe('processors of @nestjs/bullmq', () => {
  it('run jobs of one key one by one, and other jobs at the same time; locked methods that they call are locked as well', async () => {
    let inside = 0;
    let most = 0;
    const both = deferred();
    const open = new Set<string>();
    @Injectable()
    class Ledger {
      @DistributedLock('ledger:#{account}')
      async book(account: string) {
        return [account, ...held()];
      }
    }
    @Processor(queueName, { concurrency: 6 })
    class Payments extends WorkerHost {
      constructor(readonly ledger: Ledger) {
        super();
      }
      @DistributedLock('account:#{job.data.account}')
      override async process(job: Job<Payment>) {
        const { account } = job.data;
        if (account === 'a') most = Math.max(most, ++inside);
        open.add(account);
        if (open.size === 2) both.resolve();
        // Leaves only when the other account works, too.
        await both.promise;
        if (account === 'a') inside--;
        return [held(), await this.ledger.book(account)];
      }
    }
    await using bench = await start({ providers: [Ledger, Payments] });
    const accounts = ['a', 'a', 'a', 'b', 'a'];
    const jobs = await bench.queue.addBulk(accounts.map((account) => ({ name: 'pay', data: { account } })));
    const results = await Promise.all(jobs.map((job) => bench.result(job)));
    expect(results).toEqual(
      accounts.map((key) => [
        [`account:${key}`, 1],
        [key, `ledger:${key}`, 1],
      ]),
    );
    expect(most).toBe(1);
  });

  it('fail a job with the lock error, which its attempts and listeners get, and the next attempt has the lock', async () => {
    const failed = deferred();
    const failures: unknown[] = [];
    @Processor(queueName)
    class Payments extends WorkerHost {
      @DistributedLock({ key: 'account:#{job.data.account}', wait: 0 })
      async process(job: Job<Payment>) {
        return [job.attemptsMade, ...held()];
      }
      @OnWorkerEvent('failed')
      @DistributedLock('failures')
      async failed(job: Job<Payment>, error: { code?: string }) {
        failures.push([job.attemptsMade, error.code, job.failedReason, ...held()]);
        failed.resolve();
      }
    }
    await using bench = await start({ providers: [Payments] });
    const lock = await bench.locks.acquire('account:a');
    // It is tried again when the test lets it.
    const backoff = { type: 'fixed', delay: 3_600_000 };
    const job = await bench.queue.add('pay', { account: 'a' }, { attempts: 2, backoff });
    await failed.promise;
    const reason = expect.stringContaining("Lock 'account:a' is held");
    expect(failures).toEqual([[1, 'LOCK_CONTENDED', reason, 'failures', 1]]);
    await lock.release();
    await job.promote();
    await expect(bench.result(job)).resolves.toEqual([1, 'account:a', 1]);
  });

  it('finish every job that they took, under its lock, when the worker is closed before the locks are', async () => {
    const [inside, leave] = [deferred(), deferred()];
    const taken: unknown[] = [];
    const both = deferred();
    @Processor(queueName, { concurrency: 2 })
    class Payments extends WorkerHost implements OnModuleDestroy {
      @OnWorkerEvent('active')
      active(job: Job<Payment>) {
        taken.push(job.name);
        if (taken.length === 2) both.resolve();
      }
      @DistributedLock('account:#{job.data.account}')
      async process(job: Job<Payment>) {
        inside.resolve();
        await leave.promise;
        return [job.name, ...held()];
      }
      async onModuleDestroy() {
        await this.worker.close();
      }
    }
    await using bench = await start({ providers: [Payments] });
    const jobs = [await bench.queue.add('first', { account: 'a' }), await bench.queue.add('second', { account: 'a' })];
    await Promise.all([inside.promise, both.promise]);
    const closed = bench.app.close();
    leave.resolve();
    const results = await Promise.all(jobs.map((job) => bench.result(job)));
    expect(results).toEqual([
      ['first', 'account:a', 1],
      ['second', 'account:a', 1],
    ]);
    await closed;
  });

  it('lock the methods of an object made by a factory', async () => {
    @Processor(queueName)
    class Payments extends WorkerHost {
      @DistributedLock({ key: ({ data }: Job<Payment>) => `account:${data.account}` })
      async process(_job: Job<Payment>) {
        return held();
      }
    }
    await using bench = await start({ providers: [{ provide: Payments, useFactory: () => new Payments() }] });
    const job = await bench.queue.add('pay', { account: 'a' });
    await expect(bench.result(job)).resolves.toEqual(['account:a', 1]);
  });

  it('are refused at start when they return an Observable', async () => {
    @Processor(queueName)
    class Streams extends WorkerHost {
      @DistributedLock({ key: 'a', returns: 'observable' })
      process(): never {
        return of('never') as never;
      }
    }
    await expect(start({ providers: [Streams] })).rejects.toThrow(
      /Streams\.process: .*a processor of @nestjs\/bullmq never subscribes to/,
    );
  });
});
