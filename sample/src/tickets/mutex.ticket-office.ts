import { Injectable } from '@nestjs/common';
import { Mutex } from 'async-mutex';
import type { Order } from '../orders/order.entity.js';
import { PurchaseService } from './purchase.service.js';
import { TicketOffice } from './ticket-office.js';

/** A mutex per event in the memory of this process: right until a second process is started. */
@Injectable()
export class MutexTicketOffice extends TicketOffice {
  private readonly mutexes = new Map<string, Mutex>();

  constructor(private readonly purchase: PurchaseService) {
    super();
  }

  buy(eventId: string, buyer: string): Promise<Order> {
    return this.mutexOf(eventId).runExclusive(() => this.purchase.make(eventId, buyer));
  }

  private mutexOf(eventId: string): Mutex {
    let mutex = this.mutexes.get(eventId);
    if (!mutex) this.mutexes.set(eventId, (mutex = new Mutex()));
    return mutex;
  }
}
