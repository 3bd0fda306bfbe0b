import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { BullModule, getQueueToken, InjectQueue, Processor, WorkerHost } from '@nestjs/bullmq';
import { Controller, HttpCode, Injectable, Param, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { type Job, Queue, QueueEvents } from 'bullmq';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { closing, deferred, onSharedRedis } from '../nest/fixtures.js';
import { sharedRedisConnection } from './fixtures.js';
import { KeptLogger } from './kept-logger.js';

/** The server is shared with other tests. */
const queueName = `orders-${randomUUID()}`;

interface Payment {
  readonly order: string;
  readonly ticket: string;
}

@Injectable()
class Ledger {
  @DistributedLock('order:#{order}')
  async book(order: string) {
    const { depth, fencingToken } = currentLock()!;
    return { order, depth, fencingToken };
  }
}

@Controller('orders')
class Orders {
  constructor(@InjectQueue(queueName) private readonly queue: Queue<Payment>) {}

  @Post(':id/pay')
  @HttpCode(202)
  @DistributedLock({ key: 'order:#{order}', wait: 0 })
  async pay(@Param('id') order: string) {
    const lock = currentLock()!;
    const { fencingToken } = lock;
    const ticket = await lock.export('1m');
    const job = await this.queue.add('pay', { order, ticket });
    return { job: job.id, fencingToken, isHeld: lock.isHeld };
  }
}

const mayWork = deferred();

@Processor(queueName, { concurrency: 2 })
class Payments extends WorkerHost {
  constructor(
    private readonly locks: RedisLockService,
    private readonly ledger: Ledger,
  ) {
    super();
  }

  override async process({ data: { order, ticket } }: Job<Payment>) {
    return this.locks.adopt(ticket, { maxHold: '5m' }, async (lock) => {
      await mayWork.promise;
      return { held: lock.isHeld, ...(await this.ledger.book(order)) };
    });
  }
}

describe('a lock that a request takes and a queue worker finishes', () => {
  it('is the same lock: no caller gets it in between, the worker has its token, and a second delivery is refused', async () => {
    const connection = sharedRedisConnection();
    const module = await Test.createTestingModule({
      imports: [
        BullModule.forRoot({ connection }),
        BullModule.registerQueue({ name: queueName }),
        RedisLockModule.forRoot(onSharedRedis()),
      ],
      controllers: [Orders],
      providers: [Ledger, Payments],
    })
      .setLogger(new KeptLogger())
      .compile();
    const app = module.createNestApplication();
    await app.listen(0, '127.0.0.1');
    const queue = app.get<Queue<Payment>>(getQueueToken(queueName));
    const events = new QueueEvents(queueName, { connection });
    await events.waitUntilReady();
    const pay = async () => fetch(`${await app.getUrl()}/orders/7/pay`, { method: 'POST' });
    try {
      const answer = await pay();
      expect(answer.status).toBe(202);
      type Accepted = { job: string; fencingToken: number; isHeld: boolean };
      const { job: id, fencingToken, isHeld } = (await answer.json()) as Accepted;
      expect(isHeld).toBe(false);
      expect((await pay()).status).toBe(409);

      const job = (await queue.getJob(id))!;
      // Not before the worker has it: of two jobs with one ticket either one may be first.
      const locks = app.get(RedisLockService);
      while ((await locks.inspect('order:7')).holders[0]!.leaseLeft > 30_000);
      const again = await queue.add('pay', job.data);
      await expect(again.waitUntilFinished(events)).rejects.toThrow(/already adopted it with this ticket/);
      mayWork.resolve();
      expect(await job.waitUntilFinished(events)).toEqual({ held: true, order: '7', depth: 2, fencingToken });
      expect((await locks.inspect('order:7')).holders).toEqual([]);
      expect((await pay()).status).toBe(202);
    } finally {
      mayWork.resolve();
      await events.close();
      const cleaner = new Queue(queueName, { connection });
      await app.close();
      await cleaner.obliterate({ force: true });
      await cleaner.close();
    }
  });

  it('is refused at once if the ticket or an option is wrong, with the call at the start of the message', async () => {
    const module = await Test.createTestingModule({ imports: [RedisLockModule.forRoot(onSharedRedis())] })
      .setLogger(new KeptLogger())
      .compile();
    await using app = closing(await module.init());
    const locks = app.get(RedisLockService);
    for (const call of [
      () => locks.adopt(undefined as never),
      () => locks.adopt('ticket'),
      () => locks.adopt('ticket', () => 1),
    ])
      await expect(call()).rejects.toMatchObject({
        code: 'LOCK_CONFIGURATION',
        message: expect.stringMatching(/^RedisLockService\.adopt: ticket: /),
      });
    const ticket = await (await locks.acquire('a')).export();
    for (const call of [
      () => locks.adopt(ticket, { minHold: 5 } as object),
      () => locks.adopt(ticket, { lease: -1 }, () => 1),
      () => locks.adopt(ticket, {}, 7 as never),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    await using lock = await locks.adopt(ticket);
    expect(lock.isHeld).toBe(true);
  });
});
