import { Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThanOrEqual, Repository } from 'typeorm';
import { OrdersService } from '../orders/orders.service.js';
import type { EventStatusDto } from './dto/event-status.dto.js';
import { Event } from './event.entity.js';
import { StalePurchaseException } from './stale-purchase.exception.js';

@Injectable()
export class EventsService {
  constructor(
    @InjectRepository(Event) private readonly events: Repository<Event>,
    private readonly orders: OrdersService,
  ) {}

  /** Puts an event on sale, or on sale again: full stock, no orders. The fence stays where it is. */
  async putOnSale(id: string, capacity: number): Promise<EventStatusDto> {
    await this.orders.removeOf(id);
    await this.events.upsert({ id, capacity, left: capacity }, ['id']);
    return this.status(id);
  }

  async status(id: string): Promise<EventStatusDto> {
    const { capacity, left } = await this.find(id);
    return { id, capacity, left, sold: capacity - left, orders: await this.orders.countOf(id) };
  }

  async find(id: string): Promise<Event> {
    const event = await this.events.findOneBy({ id });
    if (!event) throw new NotFoundException(`There is no event '${id}'.`);
    return event;
  }

  async writeLeft(id: string, left: number, fencingToken?: number): Promise<void> {
    if (fencingToken === undefined) await this.events.update({ id }, { left });
    else await this.updateFenced(id, { left, fencingToken });
  }

  /**
   * Shuts out every earlier holder of the lock, before we read.
   *
   * A lock in Redis is a lease: a process that is paused for longer (garbage collection, a laptop lid, SIGSTOP) wakes up,
   * believes that it still holds it and writes. No lock server can prevent that; the database can. Every grant of the lock
   * carries a higher fencing token, the row keeps the highest, and a write with a smaller one matches no row.
   * Raised only with our write, the fence would still let a late writer in between our read and our write.
   */
  async raiseFence(id: string, fencingToken: number): Promise<void> {
    await this.updateFenced(id, { fencingToken });
  }

  /** UPDATE ticket_sale_events SET … WHERE id = :id AND "fencingToken" <= :token */
  private async updateFenced(id: string, change: { left?: number; fencingToken: number }): Promise<void> {
    const { affected } = await this.events.update({ id, fencingToken: LessThanOrEqual(change.fencingToken) }, change);
    if (affected === 1) return;
    await this.find(id); // 404 when there is no such event at all
    throw new StalePurchaseException(id, change.fencingToken);
  }
}
