import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import type { Guard, Settings } from '../settings.js';
import { LockedTicketOffice } from './locked.ticket-office.js';
import { MutexTicketOffice } from './mutex.ticket-office.js';
import { PAYMENT, PaymentsService } from './payments.service.js';
import { PurchaseService } from './purchase.service.js';
import { TicketOffice } from './ticket-office.js';
import { TicketsController } from './tickets.controller.js';
import { UnguardedTicketOffice } from './unguarded.ticket-office.js';

const offices: Record<Guard, Type<TicketOffice>> = {
  none: UnguardedTicketOffice,
  mutex: MutexTicketOffice,
  lock: LockedTicketOffice,
};

@Module({})
export class TicketsModule {
  static forRoot({
    guard,
    paymentMs,
    paymentUrl,
  }: Pick<Settings, 'guard' | 'paymentMs' | 'paymentUrl'>): DynamicModule {
    return {
      module: TicketsModule,
      imports: [EventsModule, OrdersModule],
      controllers: [TicketsController],
      providers: [
        PurchaseService,
        PaymentsService,
        { provide: PAYMENT, useValue: { paymentMs, paymentUrl } },
        { provide: TicketOffice, useClass: offices[guard] },
      ],
    };
  }
}
