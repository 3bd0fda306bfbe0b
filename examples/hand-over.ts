import { InjectQueue, Processor, WorkerHost } from '@nestjs/bullmq';
import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import type { Job, Queue } from 'bullmq';
import { currentLock, DistributedLock, RedisLockService } from 'nestjs-redis-lock';

interface OrderPayment {
  id: string;
  ticket: string;
}

// #region request
@Controller('orders')
export class Orders {
  constructor(
    @InjectQueue('order-payments') private readonly queue: Queue<OrderPayment>,
    private readonly locks: RedisLockService,
  ) {}

  @Post(':id/pay')
  @HttpCode(202)
  @DistributedLock({ key: 'order:#{id}', wait: 0 })
  async pay(@Param('id') id: string): Promise<void> {
    const ticket = await currentLock()!.export('5m'); // as long as the job may wait in the queue
    try {
      await this.queue.add('pay', { id, ticket });
    } catch (error) {
      // No job will adopt the lock: without this line every request gets 409 for five minutes.
      await (await this.locks.adopt(ticket)).release();
      throw error;
    }
  }
}
// #endregion

// #region worker
@Processor('order-payments')
export class OrderPayments extends WorkerHost {
  constructor(private readonly locks: RedisLockService) {
    super();
  }

  override async process({ data: { id, ticket } }: Job<OrderPayment>): Promise<string> {
    return this.locks.adopt(ticket, { maxHold: '10m' }, async ({ signal, fencingToken }) =>
      this.pay(id, signal, fencingToken),
    );
  }
  // #endregion

  private async pay(id: string, signal: AbortSignal, fencingToken: number): Promise<string> {
    signal.throwIfAborted();
    return `${id} paid under ${fencingToken}`;
  }
}
