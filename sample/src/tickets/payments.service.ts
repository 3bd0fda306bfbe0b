import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';

@Injectable()
export class PaymentsService {
  /** Stands for the call to the payment provider: it takes a while, and other requests run meanwhile. */
  async authorize(_buyer: string): Promise<void> {
    await delay(5 + Math.random() * 15);
  }
}
