import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock } from 'nestjs-redis-lock';

/** Stands for a payment provider. */
@Injectable()
export class Payments {
  readonly charged: string[] = [];

  async charge(buyer: string): Promise<void> {
    this.charged.push(buyer);
  }

  async refund(buyer: string): Promise<void> {
    this.charged.splice(this.charged.indexOf(buyer), 1);
  }
}

/** Stands for a table. It refuses a write with an older fencing token than that of the last write. */
@Injectable()
export class Seats {
  free = 1;
  readonly owners: string[] = [];
  private lastToken = 0;

  async take(buyer: string, fencingToken: number): Promise<void> {
    if (fencingToken < this.lastToken) throw new Error('a later holder has written since');
    this.lastToken = fencingToken;
    this.free--;
    this.owners.push(buyer);
  }
}

/** The code under test: a user's service, with a decorator and no word about tests. */
@Injectable()
export class TicketOffice {
  constructor(
    private readonly payments: Payments,
    private readonly seats: Seats,
  ) {}

  // #region buy
  @DistributedLock({ key: 'event:#{event}', wait: '2s' })
  async buy(event: string, buyer: string): Promise<string> {
    if (this.seats.free === 0) return `${event} is sold out`;
    await this.payments.charge(buyer);
    const lock = currentLock()!;
    if (!lock.isHeld) {
      await this.payments.refund(buyer);
      // Throws with the reason: expired, revoked, …
      throw lock.signal.reason;
    }
    await this.seats.take(buyer, lock.fencingToken);
    return `a seat at ${event}`;
  }
  // #endregion
}
