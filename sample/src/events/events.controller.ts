import { Body, Controller, Get, Param, Put } from '@nestjs/common';
import type { EventStatusDto } from './dto/event-status.dto.js';
import { PutOnSaleDto } from './dto/put-on-sale.dto.js';
import { EventsService } from './events.service.js';

@Controller('events/:eventId')
export class EventsController {
  constructor(private readonly events: EventsService) {}

  @Get()
  status(@Param('eventId') eventId: string): Promise<EventStatusDto> {
    return this.events.status(eventId);
  }

  @Put()
  putOnSale(@Param('eventId') eventId: string, @Body() { capacity }: PutOnSaleDto): Promise<EventStatusDto> {
    return this.events.putOnSale(eventId, capacity);
  }
}
