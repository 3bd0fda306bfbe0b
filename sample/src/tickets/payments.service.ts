import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Optional } from '@nestjs/common';

export const PAYMENT_MS = Symbol('PAYMENT_MS');

@Injectable()
export class PaymentsService {
  constructor(@Optional() @Inject(PAYMENT_MS) private readonly duration?: number) {}

  /** Stands for the call to the payment provider: it takes a while, and other requests run in that time. */
  async authorize(_buyer: string): Promise<void> {
    await delay(this.duration ?? 5 + Math.random() * 15);
  }
}
