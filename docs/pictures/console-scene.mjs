/**
 * One process of the fleet on the screenshots of the console (console.mjs). It does what its parent tells it, with real locks.
 */
import 'reflect-metadata';
import os from 'node:os';
import { syncBuiltinESMExports } from 'node:module';

// Before the library is loaded: the processes of the picture run on one machine.
const host = process.env['HOST'] ?? '';
os.hostname = () => host;
syncBuiltinESMExports();

const { Logger, Module } = await import('@nestjs/common');
const { NestFactory } = await import('@nestjs/core');
const { DistributedLock, RedisLockModule, RedisLockService } = await import('nestjs-redis-lock');
const { LockConsoleModule } = await import('nestjs-redis-lock/console');
Logger.overrideLogger(false);

const forEver = Number.POSITIVE_INFINITY;
/** Each job ends with the process. */
const work = (/** @type {unknown[]} */ ..._of) => new Promise(() => undefined);

class OrderService {
  async pay(/** @type {string} */ id) {
    return work(id);
  }
}
class StockService {
  async reserve(/** @type {string} */ sku) {
    return work(sku);
  }
}
class TransferService {
  /** @param {string} from @param {(of: string) => Promise<unknown>} next */
  async withdraw(from, next) {
    await next(from);
  }
}
class ReportService {
  /** @param {string} day @param {(of: string) => Promise<unknown>} next */
  async build(day, next) {
    await next(day);
  }
}
class InvoiceJob {
  async close(/** @type {string} */ month) {
    return work(month);
  }
}
class ImportJob {
  async run(/** @type {string} */ tenant) {
    return work(tenant);
  }
}

/** @param {{ prototype: object }} type @param {string} method @param {object} options */
function locked({ prototype }, method, options) {
  const descriptor = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(prototype, method));
  const decorate = /** @type {MethodDecorator} */ (
    /** @type {unknown} */ (DistributedLock(/** @type {never} */ (options)))
  );
  Object.defineProperty(prototype, method, decorate(prototype, method, descriptor) ?? descriptor);
}
locked(OrderService, 'pay', { key: 'order:#{id}', wait: forEver });
locked(StockService, 'reserve', { key: 'stock:#{sku}', wait: forEver });
locked(TransferService, 'withdraw', { key: 'account:#{from}', wait: forEver });
locked(ReportService, 'build', { key: 'report:#{day}', wait: forEver });
locked(InvoiceJob, 'close', { key: 'invoices:#{month}', wait: forEver, maxHold: '25s' });
locked(ImportJob, 'run', { key: 'import:#{tenant}', wait: forEver, maxHold: '4s' });

class App {}
const services = [OrderService, StockService, TransferService, ReportService, InvoiceJob, ImportJob];
Module({
  imports: [
    RedisLockModule.forRoot({ redis: process.env['REDIS_URL'], lease: '9s', checkNesting: false }),
    LockConsoleModule.forRoot({
      path: 'ops/locks',
      guards: 'none',
      forceRelease: { guards: 'none', actor: () => 'ann@example.com' },
    }),
  ],
  providers: services,
})(App);
const app = await NestFactory.create(App);
await app.listen(0, '127.0.0.1');

const locks = app.get(RedisLockService);
const [orders, stock, transfers, reports, invoices, imports] = services.map((type) =>
  app.get(/** @type {never} */ (type)),
);
/** @type {Record<string, (...args: any[]) => Promise<unknown>>} */
const acts = {
  pay: (id) => orders.pay(id),
  reserve: (sku) => stock.reserve(sku),
  close: (month) => invoices.close(month),
  import: (tenant) => imports.run(tenant),
  report: (day, month) => reports.build(day, () => invoices.close(month)),
  transfer: (from, to) =>
    transfers.withdraw(from, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await transfers.withdraw(to, work);
    }),
  lead: () => locks.election('scheduler').campaign(work),
  read: (name) => locks.using(name, { shared: true, wait: forEver, label: 'nightly export' }, work),
  force: (name, reason) => locks.forceRelease(name, { actor: 'ann@example.com', reason }),
};
process.on('message', (message) => {
  const [act = '', ...args] = /** @type {string[]} */ (message);
  acts[act]?.(...args).catch(() => undefined);
});
process.once('disconnect', () => process.exit());
process.send?.({ url: await app.getUrl() });
