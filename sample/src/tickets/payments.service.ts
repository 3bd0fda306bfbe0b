import { setTimeout as delay } from 'node:timers/promises';
import { BadGatewayException, Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../settings.js';

export const PAYMENT = Symbol('PAYMENT');

@Injectable()
export class PaymentsService {
  constructor(@Inject(PAYMENT) private readonly settings: Pick<Settings, 'paymentMs' | 'paymentUrl'>) {}

  /** The call to the payment provider, or what stands for it: it takes a while, and other requests run in that time. */
  async authorize(buyer: string): Promise<void> {
    const { paymentMs, paymentUrl } = this.settings;
    if (paymentUrl === undefined) return delay(paymentMs ?? 5 + Math.random() * 15);
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(paymentUrl, { method: 'POST', headers, body: JSON.stringify({ buyer }) });
    if (!response.ok) throw new BadGatewayException(`The payment of ${buyer} failed.`);
  }
}
