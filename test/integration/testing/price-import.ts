import { Inject, Injectable } from '@nestjs/common';
import type Database from 'libsql';
import { currentLock, DistributedLock } from 'nestjs-redis-lock';

/** A table of prices; `fence` holds the largest fencing token that has come near a row. */
@Injectable()
export class PriceTable {
  constructor(@Inject('database') private readonly database: Database.Database) {
    database.exec('CREATE TABLE price (product TEXT PRIMARY KEY, cents INTEGER, fence INTEGER NOT NULL DEFAULT 0)');
  }

  /** Shuts out every earlier holder. */
  fence(product: string, token: number): void {
    this.run('UPDATE price SET fence = ? WHERE product = ? AND fence <= ?', [token, product, token]);
  }

  write(product: string, cents: number, token: number): void {
    this.run('UPDATE price SET cents = ?, fence = ? WHERE product = ? AND fence <= ?', [cents, token, product, token]);
  }

  private run(statement: string, values: unknown[]): void {
    const { changes } = this.database.prepare(statement).run(...values);
    if (changes === 0) throw new Error('Too late: a later holder has changed this price.');
  }
}

/** Stands for slow work that supports no signals. */
@Injectable()
export class Exchange {
  async toCents(euros: number): Promise<number> {
    return Math.round(euros * 100);
  }
}

@Injectable()
export class PriceImport {
  constructor(
    @Inject('shop') private readonly shop: string,
    private readonly exchange: Exchange,
    private readonly prices: PriceTable,
  ) {}

  // #region refresh
  @DistributedLock('price:#{product}')
  async refresh(product: string): Promise<void> {
    const { fencingToken, signal } = currentLock()!;
    this.prices.fence(product, fencingToken);

    // Aborts when the lock is lost: the response could not be used any more.
    const response = await fetch(`${this.shop}/prices/${product}`, { signal });
    const euros = Number(await response.text());

    const cents = await this.exchange.toCents(euros);
    // The database decides: it refuses this when a later holder was there, even if this process does not know of it.
    this.prices.write(product, cents, fencingToken);
  }
  // #endregion
}
