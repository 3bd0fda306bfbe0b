import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Order } from './order.entity.js';

@Injectable()
export class OrdersService {
  constructor(@InjectRepository(Order) private readonly orders: Repository<Order>) {}

  async place(eventId: string, buyer: string): Promise<Order> {
    const order = this.orders.create({ eventId, buyer });
    await this.orders.insert(order); // also fills in what the database generates
    return order;
  }

  countOf(eventId: string): Promise<number> {
    return this.orders.countBy({ eventId });
  }

  countAll(): Promise<number> {
    return this.orders.count();
  }

  async removeOf(eventId: string): Promise<void> {
    await this.orders.delete({ eventId });
  }
}
