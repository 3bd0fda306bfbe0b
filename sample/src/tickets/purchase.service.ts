import { GoneException, Injectable } from '@nestjs/common';
import { EventsService } from '../events/events.service.js';
import type { Order } from '../orders/order.entity.js';
import { OrdersService } from '../orders/orders.service.js';
import { PaymentsService } from './payments.service.js';

/** The business of selling one ticket, as everybody writes it first: right for one buyer at a time, and only then. */
@Injectable()
export class PurchaseService {
  constructor(
    private readonly events: EventsService,
    private readonly orders: OrdersService,
    private readonly payments: PaymentsService,
  ) {}

  async make(eventId: string, buyer: string, fencingToken?: number): Promise<Order> {
    if (fencingToken !== undefined) await this.events.raiseFence(eventId, fencingToken);

    const { left } = await this.events.find(eventId);
    if (left <= 0) throw new GoneException(`'${eventId}' is sold out.`);

    await this.payments.authorize(buyer);

    await this.events.writeLeft(eventId, left - 1, fencingToken);
    return this.orders.place(eventId, buyer);
  }
}
