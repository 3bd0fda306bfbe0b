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

  @DistributedLock({ key: 'event:#{eventId}', wait: '30s' })
  buy(eventId: string, buyer: string): Promise<Order> {
    // In here there is always a hold. Its token lets the database refuse us should we be paused for longer than our lease.
    return this.purchase.make(eventId, buyer, currentLock()!.fencingToken);
  }
}
