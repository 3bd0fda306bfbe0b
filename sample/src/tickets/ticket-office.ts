import type { Order } from '../orders/order.entity.js';

/** Where tickets are sold; the guises differ only in what keeps two buyers apart. An abstract class, so that Nest can inject it. */
export abstract class TicketOffice {
  /** @throws GoneException when the event is sold out. */
  abstract buy(eventId: string, buyer: string): Promise<Order>;
}
