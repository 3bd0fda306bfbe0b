import { Body, Controller, HttpCode, Inject, Injectable, Post } from '@nestjs/common';
import type Database from 'libsql';
import { DistributedLock } from 'nestjs-redis-lock';

export interface PaymentEvent {
  id: string;
  amount: number;
}

/** Stands for a system outside of the database. */
@Injectable()
export class Ledger {
  async book(_event: PaymentEvent): Promise<void> {}
}

// #region webhook
@Controller('webhooks')
export class Webhooks {
  constructor(
    @Inject('database') private readonly database: Database.Database,
    private readonly ledger: Ledger,
  ) {}

  @Post()
  @HttpCode(200)
  @DistributedLock({ key: 'webhook:#{event.id}', wait: '5s' })
  async receive(@Body() event: PaymentEvent): Promise<void> {
    const known = this.database.prepare('SELECT 1 FROM processed WHERE id = ?').get(event.id);
    if (known) return; // delivered before, and done
    await this.ledger.book(event);
    this.database.prepare('INSERT INTO processed (id) VALUES (?)').run(event.id);
  }
}
// #endregion

// #region wrong
@Controller('wrong-webhooks')
export class WrongWebhooks {
  constructor(private readonly ledger: Ledger) {}

  // Wrong: a second delivery is answered with 200 while the first may still fail. The sender never sends it again.
  @Post()
  @HttpCode(200)
  @DistributedLock({ key: 'webhook:#{event.id}', wait: 0, onContended: 'skip' })
  async receive(@Body() event: PaymentEvent): Promise<void> {
    await this.ledger.book(event);
  }
}
// #endregion
