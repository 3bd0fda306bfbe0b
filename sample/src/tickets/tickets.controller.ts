import { Body, Controller, Param, Post } from '@nestjs/common';
import type { Order } from '../orders/order.entity.js';
import { BuyTicketDto } from './dto/buy-ticket.dto.js';
import { TicketOffice } from './ticket-office.js';

@Controller('events/:eventId/tickets')
export class TicketsController {
  constructor(private readonly office: TicketOffice) {}

  @Post()
  buy(@Param('eventId') eventId: string, @Body() { buyer = 'anonymous' }: BuyTicketDto): Promise<Order> {
    return this.office.buy(eventId, buyer);
  }
}
