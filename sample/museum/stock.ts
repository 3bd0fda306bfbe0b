import type Database from 'libsql';

/** One row that processes change: how many are left, and the largest fencing token that it has seen. */
export class Stock {
  constructor(private readonly database: Database.Database) {}

  /** For the next exhibit. */
  static create(database: Database.Database, left: number): Stock {
    database.exec('CREATE TABLE stock (left INTEGER, fence INTEGER DEFAULT 0)');
    database.prepare('INSERT INTO stock (left) VALUES (?)').run(left);
    return new Stock(database);
  }

  read(): number {
    const { left } = this.database.prepare('SELECT left FROM stock').get() as { left: number };
    return left;
  }

  /** Before reading: from now on the row refuses earlier holders. */
  raiseFence(token: number): void {
    this.database.prepare('UPDATE stock SET fence = ? WHERE fence <= ?').run(token, token);
  }

  /** @throws Error when a holder with a larger token has been here */
  write(left: number, token?: number): void {
    const [condition, values] = token === undefined ? ['TRUE', []] : ['fence <= ?', [token]];
    const { changes } = this.database.prepare(`UPDATE stock SET left = ? WHERE ${condition}`).run(left, ...values);
    if (changes === 0) throw new Error('refused by the row: a later holder was here');
  }
}
