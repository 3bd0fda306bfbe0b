import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributedLock, RedisLockModule } from 'nestjs-redis-lock';
import type { Exhibit, Tools } from '../exhibit.js';
import { Transactional, UnitOfWork } from '../unit-of-work.js';

/** A decorator around a lock by hand. */
function Locked(key: string) {
  return (_target: object, _name: string, descriptor: PropertyDescriptor): void => {
    const method = descriptor.value as () => Promise<void>;
    descriptor.value = async function (this: Shop) {
      const { redis } = this.tools;
      while (!(await redis.set(key, 'locked', 'PX', 60_000, 'NX'))) await sleep(20);
      try {
        await method.call(this);
      } finally {
        await redis.del(key);
      }
    };
  };
}

class Shop extends UnitOfWork {
  constructor(readonly tools: Tools) {
    super(tools.database, () => tools.breakpoint('commit'));
  }

  // #region theirs
  @Transactional() // commits at its end …
  @Locked('ticket') // … when the lock is free again
  async sell() {
    const left = this.tools.stock.read();
    if (left === 0) throw new Error('sold out');
    this.write(`INSERT INTO orders VALUES (${process.pid})`, `UPDATE stock SET left = ${left - 1}`);
  }
  // #endregion

  // #region ours
  @Transactional()
  @DistributedLock('ticket')
  async ourSell() {
    const left = this.tools.stock.read();
    if (left === 0) throw new Error('sold out');
    this.write(`INSERT INTO orders VALUES (${process.pid})`, `UPDATE stock SET left = ${left - 1}`);
  }
  // #endregion
}

/** The same Nest application for both, with the shop as its provider. */
async function withShop(tools: Tools, work: (shop: Shop) => Promise<void>): Promise<void> {
  class Application {}
  const shop = { provide: Shop, useValue: new Shop(tools) };
  Module({ imports: [RedisLockModule.forRoot({ redis: tools.connection, checkNesting: false })], providers: [shop] })(
    Application,
  );
  const app = await NestFactory.createApplicationContext(Application, { logger: false });
  try {
    await work(app.get(Shop));
  } finally {
    await app.close();
  }
}

export default {
  title: 'Released before the commit',
  problem:
    'The lock is inside the transaction: it is free before the data are committed, and the next holder reads the old ones.',
  remedy: 'The decorator locks around the transaction, in either order of the two.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/how-to/transactions.md',
  keys: ['ticket'],
  theirs: (tools) => withShop(tools, (shop) => shop.sell()),
  ours: (tools) => withShop(tools, (shop) => shop.ourSell()),
  async run(stage) {
    const { database, stock } = stage;
    stock.write(1);
    database.exec('CREATE TABLE orders (buyer)');
    const orders = () => database.prepare('SELECT * FROM orders').all().length;
    const seen = () => [`database: ${stock.read()} left, ${orders()} sold`];
    const [ann, ben] = await stage.start('Ann', 'Ben');
    ann.breakBefore('commit');
    ann.call();
    await stage.until(() => ann.stoppedAt === 'commit');
    await stage.step('Ann has bought the last ticket. Her transaction is about to commit.', {
      at: 'Transactional',
      seen: seen(),
    });
    ben.breakBefore('commit');
    const second = ben.call();
    const outcome = await stage.first({
      two: () => ben.stoppedAt === 'commit',
      waits: stage.isWaiting(second, 'set'),
    });
    if (outcome === 'two')
      await stage.step('The lock is free. Ben gets it, and reads: 1 left.', { at: 'read()', seen: seen() });
    else await stage.step('Her lock is not free. Ben waits.', { seen: seen() });
    ann.continue();
    await stage.until(() => orders() === 1);
    await stage.step('Ann’s transaction commits.', { seen: seen() });
    if (outcome === 'two') ben.continue();
    await stage.until(() => second.isOver);
    const broken = orders() > 1;
    await stage.step(
      broken
        ? 'Ben’s transaction commits, too: the last ticket is sold twice.'
        : 'Now Ben has the lock. He reads: sold out.',
      { at: 'Transactional', mood: broken ? 'bad' : 'good', seen: seen() },
    );
    return broken ? { broken, text: 'sold twice' } : { broken, text: 'released after the commit' };
  },
} satisfies Exhibit;
