import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { databaseOptions } from '../../sample/src/database.js';
import { EventsService } from '../../sample/src/events/events.service.js';
import { StalePurchaseException } from '../../sample/src/events/stale-purchase.exception.js';
import { PaymentsService } from '../../sample/src/tickets/payments.service.js';
import { PurchaseService } from '../../sample/src/tickets/purchase.service.js';
import { TicketsModule } from '../../sample/src/tickets/tickets.module.js';

/** Payments that last until the test ends them. */
class PaymentDesk {
  private readonly waiting = new Map<string, () => void>();
  private arrived: () => void = () => {};

  authorize(buyer: string): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.set(buyer, resolve);
      this.arrived();
    });
  }

  async arrival(buyer: string): Promise<void> {
    while (!this.waiting.has(buyer)) await new Promise<void>((resolve) => (this.arrived = resolve));
  }

  accept(buyer: string): void {
    this.waiting.get(buyer)!();
  }
}

/** A paused process that wakes up after its lease, simulated in one process: tokens 1 and 2. */
describe('the fence of an event', () => {
  let directory: string;
  let app: TestingModule;
  let desk: PaymentDesk;
  let events: EventsService;
  let purchase: PurchaseService;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'purchase-'));
    desk = new PaymentDesk();
    const database = databaseOptions({ databaseUrl: undefined, databaseFile: join(directory, 'sale.sqlite') });
    app = await Test.createTestingModule({
      imports: [TypeOrmModule.forRoot(database), TicketsModule.forRoot({ guard: 'none', paymentMs: 0 })],
    })
      .overrideProvider(PaymentsService)
      .useValue(desk)
      .compile();
    events = app.get(EventsService, { strict: false });
    purchase = app.get(PurchaseService, { strict: false });
    await events.putOnSale('gig', 10);
  });

  afterEach(async () => {
    await app.close();
    await rm(directory, { recursive: true, force: true });
  });

  const buy = async (buyer: string, token?: number) => {
    const outcome = purchase.make('gig', buyer, token);
    await desk.arrival(buyer);
    return { outcome };
  };

  it('refuses the write of an earlier holder after a later one has written', async () => {
    const early = await buy('early', 1);
    const late = await buy('late', 2);
    desk.accept('late');
    await late.outcome;
    desk.accept('early');
    await expect(early.outcome).rejects.toBeInstanceOf(StalePurchaseException);
    expect(await events.status('gig')).toMatchObject({ left: 9, orders: 1 });
  });

  it('refuses the write of an earlier holder while a later one has read the stock and not yet written it', async () => {
    const early = await buy('early', 1);
    const late = await buy('late', 2);
    desk.accept('early');
    await expect(early.outcome).rejects.toBeInstanceOf(StalePurchaseException);
    desk.accept('late');
    await late.outcome;
    expect(await events.status('gig')).toMatchObject({ left: 9, orders: 1 });
  });

  it('accepts the late write when no other holder came in between', async () => {
    const early = await buy('early', 1);
    desk.accept('early');
    await early.outcome;
    expect(await events.status('gig')).toMatchObject({ left: 9, orders: 1 });
  });

  it('is kept when the event is put on sale again', async () => {
    const late = await buy('late', 2);
    desk.accept('late');
    await late.outcome;
    await events.putOnSale('gig', 10);
    await expect(purchase.make('gig', 'early', 1)).rejects.toBeInstanceOf(StalePurchaseException);
    expect(await events.status('gig')).toMatchObject({ left: 10, orders: 0 });
  });

  it('distinguishes tokens as large as those of a lock', async () => {
    const token = Number.MAX_SAFE_INTEGER;
    const late = await buy('late', token);
    await expect(purchase.make('gig', 'early', token - 1)).rejects.toBeInstanceOf(StalePurchaseException);
    desk.accept('late');
    await late.outcome;
    expect((await events.find('gig')).fencingToken).toBe(token);
  });

  it('is missing without a lock: two buyers get the same ticket', async () => {
    const first = await buy('first');
    const second = await buy('second');
    desk.accept('first');
    desk.accept('second');
    await Promise.all([first.outcome, second.outcome]);
    expect(await events.status('gig')).toMatchObject({ left: 9, orders: 2 });
  });
});
