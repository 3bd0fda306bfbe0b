import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock } from 'nestjs-redis-lock';
import type { Order } from '../orders/order.entity.js';
import { PurchaseService } from './purchase.service.js';
import { TicketOffice } from './ticket-office.js';

/** One buyer per event at a time over all processes; buyers of different events do not wait for each other. */
@Injectable()
export class LockedTicketOffice extends TicketOffice {
  constructor(private readonly purchase: PurchaseService) {
    super();
  }

  // #region buy
  @DistributedLock({ key: 'event:#{eventId}', wait: '30s' })
  buy(eventId: string, buyer: string): Promise<Order> {
    // The token lets the database refuse our write if we are paused for longer than our lease.
    return this.purchase.make(eventId, buyer, currentLock()!.fencingToken);
  }
  // #endregion
}
