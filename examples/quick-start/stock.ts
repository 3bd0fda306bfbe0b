import { ConflictException, Controller, Injectable, Param, Post } from '@nestjs/common';
import Database from 'libsql';
import { currentLock, DistributedLock } from 'nestjs-redis-lock';

const database = new Database(process.env.DATABASE_FILE ?? 'stock.sqlite', { timeout: 5000 });
database.exec('CREATE TABLE IF NOT EXISTS product (id TEXT PRIMARY KEY, stock INTEGER, fence INTEGER DEFAULT 0)');
database.exec(`INSERT OR IGNORE INTO product (id, stock) VALUES ('tea', 10)`);

@Injectable()
export class Payments {
  async charge(): Promise<void> {} // your payment provider
}

@Injectable()
export class StockService {
  constructor(private readonly payments: Payments) {}

  // #region method
  @DistributedLock({ key: 'product:#{id}', wait: '5s' })
  async take(id: string): Promise<number> {
    const token = currentLock()!.fencingToken;
    // 1. Before reading: from now on the row rejects every earlier holder of the lock.
    this.update('UPDATE product SET fence = ? WHERE id = ? AND fence <= ?', [token, id, token]);

    // 2. Read, and work.
    const { stock } = database.prepare('SELECT stock FROM product WHERE id = ?').get(id) as { stock: number };
    if (stock === 0) throw new ConflictException('sold out');
    await this.payments.charge();

    // 3. Write. The row rejects it if this process was paused for longer than its lease and a later holder came.
    this.update('UPDATE product SET stock = ? WHERE id = ? AND fence <= ?', [stock - 1, id, token]);
    return stock - 1;
  }
  // #endregion

  private update(sql: string, values: (string | number)[]): void {
    const { changes } = database.prepare(sql).run(...values);
    if (changes === 0) throw new ConflictException('not written: no such product, or a later holder was here');
  }
}

@Controller('products')
export class StockController {
  constructor(private readonly stock: StockService) {}

  @Post(':id/take')
  async take(@Param('id') id: string) {
    return { left: await this.stock.take(id) };
  }
}
