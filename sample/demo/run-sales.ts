import { DataSource } from 'typeorm';
import { databaseOptions } from '../src/database.js';
import { Event } from '../src/events/event.entity.js';
import { Order } from '../src/orders/order.entity.js';
import { type Guard, guards, type Settings } from '../src/settings.js';
import { sendCrowd } from './crowd.js';
import type { JavaOffice, StartJava } from './java-office.js';
import type { DemoOptions } from './options.js';
import type { Progress } from './progress.js';
import { SaleProcesses } from './sale-process.js';
import { type Books, guises, type SaleResult, saleResult } from './sale-result.js';

interface Sales {
  readonly options: DemoOptions;
  readonly database: Pick<Settings, 'databaseUrl' | 'databaseFile'>;
  readonly redisUrl: string;
  /** A box office in Java beside the processes. */
  readonly startJava?: StartJava | undefined;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** One sale per guard, each by fresh processes, on one database. */
export async function runSales(sales: Sales): Promise<SaleResult[]> {
  // Opened before the processes: so the tables are there, and they do not create them all at once.
  const database = await new DataSource(databaseOptions(sales.database)).initialize();
  try {
    const results: SaleResult[] = [];
    for (const guard of guards) results.push(await runSale(guard, database, sales));
    return results;
  } finally {
    await database.destroy();
  }
}

async function runSale(guard: Guard, database: DataSource, sales: Sales): Promise<SaleResult> {
  const { options, progress, signal } = sales;
  const { buyers, tickets, processes: count } = options;
  // Its own name for every sale: a Postgres is perhaps not ours alone.
  const eventId = `demo-${guard}-${process.pid}`;

  progress.step(`${guises[guard]}: starting ${count} processes`);
  await using processes = await SaleProcesses.start(count, environment(guard, sales));
  await using java: JavaOffice | undefined = await sales.startJava?.(environment(guard, sales));
  const urls = [...processes.urls, ...(java ? [java.url] : [])];
  signal.throwIfAborted();
  await putOnSale(`${processes.urls[0]}/events/${eventId}`, tickets, signal);
  try {
    progress.step(`${guises[guard]}: ${buyers} buyers`);
    const start = performance.now();
    const onAnswer = (answered: number) => progress.bar(guises[guard], answered, buyers);
    const answers = await sendCrowd({ buyers, urls, eventId, signal, onAnswer });
    const result = saleResult(guard, tickets, answers, await books(database, eventId), performance.now() - start);
    if (guard === 'lock' && result.errors > 0) console.error(processes.log);
    return result;
  } finally {
    await database.getRepository(Order).delete({ eventId });
    await database.getRepository(Event).delete({ id: eventId });
  }
}

function environment(
  guard: Guard,
  { database: { databaseUrl, databaseFile }, redisUrl, startJava }: Sales,
): NodeJS.ProcessEnv {
  return {
    ...process.env,
    SALE_GUARD: guard,
    LOCK_FORMAT: startJava ? 'redisson' : 'native',
    REDIS_URL: redisUrl,
    DATABASE_URL: databaseUrl,
    DATABASE_FILE: databaseFile,
  };
}

export async function putOnSale(url: string, capacity: number, signal: AbortSignal): Promise<void> {
  const body = JSON.stringify({ capacity });
  const response = await fetch(url, { method: 'PUT', headers: { 'content-type': 'application/json' }, body, signal });
  if (!response.ok) throw new Error(`PUT ${url} answered ${response.status}: ${await response.text()}`);
}

/** Read from the database itself, not from the application that we want to catch. */
export async function books(database: DataSource, eventId: string): Promise<Books> {
  // In this order: a purchase writes the stock first, so one that ends in between does not look like a ticket that was sold twice.
  const orders = await database.getRepository(Order).countBy({ eventId });
  const { left } = await database.getRepository(Event).findOneByOrFail({ id: eventId });
  return { left, orders };
}
