import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { BullModule, getQueueToken } from '@nestjs/bullmq';
import type { ModuleMetadata } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { type Job, Queue, QueueEvents } from 'bullmq';
import { RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { OrderPayments, Orders } from '../../../examples/hand-over.js';
import { PaymentsProcessor } from '../../../examples/payments.processor.js';
import { closing, onSharedRedis } from '../nest/fixtures.js';
import { sharedRedisConnection } from '../transports/fixtures.js';
import { KeptLogger } from '../transports/kept-logger.js';

/** An application with one queue, whose name is the example's: the prefix separates it from other queues. */
const start = async (name: string, metadata: ModuleMetadata) => {
  const connection = sharedRedisConnection();
  const prefix = `test-${process.pid}-${Date.now()}`;
  const module = await Test.createTestingModule({
    ...metadata,
    imports: [
      BullModule.forRoot({ connection, prefix }),
      BullModule.registerQueue({ name }),
      RedisLockModule.forRoot(onSharedRedis()),
    ],
  })
    .setLogger(new KeptLogger())
    .compile();
  const app = closing(module.createNestApplication(new ExpressAdapter(), { forceCloseConnections: true }));
  await app.listen(0, '127.0.0.1');
  const events = new QueueEvents(name, { connection, prefix });
  await events.waitUntilReady();
  return {
    app,
    queue: app.get<Queue>(getQueueToken(name)),
    result: async (job: Job): Promise<unknown> => job.waitUntilFinished(events),
    async [Symbol.asyncDispose]() {
      await app.close();
      await events.close();
      const cleaner = new Queue(name, { connection, prefix });
      await cleaner.obliterate({ force: true });
      await cleaner.close();
    },
  };
};

describe("the guide's examples for queues", () => {
  it('payments.processor.ts: a job runs under the lock of its account', async () => {
    await using server = await start('payments', { providers: [PaymentsProcessor] });
    const job = await server.queue.add('pay', { account: 'a7' });
    expect(await server.result(job)).toBe('a7 under account:a7');
  });

  it('hand-over.ts: the worker continues with the lock of the request, and the lock is free afterwards', async () => {
    await using server = await start('order-payments', { controllers: [Orders], providers: [OrderPayments] });
    const { app, queue, result } = server;
    const added = new Promise<Job>((resolve) => queue.once('waiting', resolve as never));
    const response = await fetch(`${await app.getUrl()}/orders/7/pay`, { method: 'POST' });
    expect(response.status).toBe(202);
    expect(await result(await added)).toMatch(/^7 paid under \d{16}$/);
    expect((await app.get(RedisLockService).inspect('order:7')).holders).toEqual([]);
  });

  it('hand-over.ts: the lock is free at once if the queue refuses the job', async () => {
    await using server = await start('order-payments', { controllers: [Orders], providers: [OrderPayments] });
    const { app, queue } = server;
    queue.add = () => Promise.reject(new Error('the queue is down'));
    const pay = async () => (await fetch(`${await app.getUrl()}/orders/7/pay`, { method: 'POST' })).status;
    expect(await pay()).toBe(500);
    expect((await app.get(RedisLockService).inspect('order:7')).holders).toEqual([]);
    expect(await pay()).toBe(500);
  });
});
