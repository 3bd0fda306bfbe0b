/** The process of an actor: it runs one side of an exhibit with real connections, and reports what happens. */
import 'reflect-metadata';
import { subscribe } from 'node:diagnostics_channel';
import { Redis } from 'ioredis';
import Database from 'libsql';
import { createLockClient } from 'nestjs-redis-lock/client';
import type { Order, Part, Report } from './actor.js';
import type { Exhibit, Work } from './exhibit.js';
import { Stock } from './stock.js';

const { exhibit: name, side, connection, database: file } = JSON.parse(process.env['MUSEUM']!) as Part;
const { default: exhibit } = (await import(`./exhibits/${name}.js`)) as { default: Exhibit };
const isUrl = connection.startsWith('redis:');

const tell = (report: Report): void => void process.send!(report, () => undefined);
/** A parent that is gone takes its actors along. */
process.once('disconnect', () => process.exit());

/** By name: how often it is passed before it halts, once. */
const breakpoints = new Map<string, number>();
let goOn: (() => void) | undefined;

async function breakpoint(at: string): Promise<void> {
  const skip = breakpoints.get(at);
  if (skip === undefined) return;
  if (skip > 0) {
    breakpoints.set(at, skip - 1);
    return;
  }
  breakpoints.delete(at);
  const pressed = new Promise<void>((resolve) => (goOn = resolve));
  tell({ event: 'stopped', at });
  await pressed;
}

const isRandom = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const redis = isUrl ? new Redis(connection) : new Redis(JSON.parse(connection));
// The hand-made locks do not know that they are watched.
redis.on('error', () => undefined);
const send = redis.sendCommand.bind(redis);
redis.sendCommand = async (command, stream) => {
  await breakpoint(command.name);
  const values = command.args.map(String).filter((argument) => isRandom.test(argument));
  tell({ event: 'command', name: command.name, values });
  return send(command, stream);
};

const silent = { log: () => undefined, warn: () => undefined, error: () => undefined };
const locks = createLockClient({ redis: isUrl ? connection : JSON.parse(connection), log: silent, ...exhibit.client });
subscribe('nestjs-redis-lock:contended', () => tell({ event: 'waits' }));
await (side === 'ours' ? locks.connect() : redis.ping());
const database = new Database(file, { timeout: 5_000 });
const stock = new Stock(database);

/** By call: ends its work. */
const leaving = new Map<number, () => void>();

async function act({ call, args }: Order & { do: 'call' }): Promise<void> {
  const left = new Promise<void>((resolve) => leaving.set(call, resolve));
  const work: Work = async (lock) => {
    lock?.signal.addEventListener('abort', () => tell({ event: 'lost', call }));
    tell({ event: 'inside', call, ...(lock && { token: lock.fencingToken }) });
    await left;
  };
  try {
    await exhibit[side]({ redis, locks, database, stock, connection, breakpoint }, work, ...args);
    tell({ event: 'done', call });
  } catch (error) {
    tell({ event: 'failed', call, message: (error as Error).message });
  }
}

process.on('message', (order: Order) => {
  if (order.do === 'call') void act(order);
  else if (order.do === 'leave') leaving.get(order.call)!();
  else if (order.do === 'break') breakpoints.set(order.at, order.skip);
  else goOn?.();
});
tell({ event: 'ready' });
