import { performance } from 'node:perf_hooks';
import { ours } from '../drivers/ours.js';
import { type Bar, atMost } from '../report/bars.js';
import type { Results } from '../report/results.js';
import type { Stage } from '../stage/stage.js';
import type { BenchRedis } from '../stage/redis.js';
import type { Scenario } from './scenario.js';

const scenario = 'console';
const variant = '500 processes, 10 contended names each, three locks inside each waiter';
const processes = 500;
const names = 10;
const inside = 3;

/** Of the library's own modules: the console has no other way in than HTTP. */
const modules = new URL('../../modules/lib/', import.meta.url);
interface Connection {
  close(): Promise<void>;
}
interface Reader {
  overview(): Promise<{ waits: { deadlocks: number }; counts: { contended: { count: number } } }>;
}

/** What the processes tell: each waiter holds what the next ones wait for, so all of them are one deadlock. */
async function fillFleet({ client }: BenchRedis): Promise<void> {
  const [seconds] = (await client.time()) as unknown as [number];
  const none = { first: [], more: 0 };
  const key = (index: number): string => `order:transfer:${index % (processes * names)}`;
  const exclusive = { kind: 'exclusive', name: 'order:*' };
  for (let process = 0; process < processes; process++) {
    const first = Array.from({ length: names }, (_, place) => {
      const index = process * names + place;
      const at = Math.floor(((index || processes * names) - 1) / names);
      const holds = Array.from({ length: inside }, (_hold, step) => ({
        key: key(index + step + 1),
        kind: 'exclusive',
      }));
      return {
        ...exclusive,
        key: key(index),
        callers: 1,
        longest: 9_000,
        method: 'Transfers.move',
        holder: { client: `c${at}`, host: `web-${at}`, pid: 1, fencingToken: 1, heldFor: 9_000 },
        flows: [{ waited: 9_000, holds }],
      };
    });
    const lists = { leads: none, long: none, holds: none, hot: none, incidents: none, findings: none };
    const own = { form: 2, client: `c${process}`, host: `web-${process}`, pid: 1, held: 30, waiting: names };
    const text = JSON.stringify({ ...own, ...lists, contended: { first, more: 0 }, further: [], problems: [] });
    const kept = `${(Number(seconds) + 600) * 1_000} ${Number(seconds) * 1_000} 9000 ${text}`;
    await client.hset('lock:1:activity', `c${process}.web-${process}.1`, kept);
  }
}

/** Looks while other work asks for its turn all the time. */
async function look(reader: Reader): Promise<{ longest: number; grown: number }> {
  const before = process.memoryUsage().heapUsed;
  let [longest, highest, last, isOver] = [0, before, performance.now(), false];
  const turn = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    highest = Math.max(highest, process.memoryUsage().heapUsed);
    last = performance.now();
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await reader.overview();
  isOver = true;
  return { longest, grown: (highest - before) / 2 ** 20 };
}

async function play({ redis, results, scale, tell }: Stage): Promise<void> {
  await fillFleet(redis);
  const { connectionOf } = (await import(new URL('client/connection-of.js', modules).href)) as {
    connectionOf(options: object, settings: { observes: boolean }): Connection;
  };
  const { ConsoleReader } = (await import(new URL('console/console.reader.js', modules).href)) as {
    ConsoleReader: new (connection: Connection) => Reader;
  };
  const connection = connectionOf({ redis: redis.url, activity: false }, { observes: true });
  for (let round = 0; round < 25 * scale; round++) {
    const begin = performance.eventLoopUtilization();
    const { waits, counts } = await new ConsoleReader(connection).overview();
    const { active } = performance.eventLoopUtilization(begin);
    if (waits.deadlocks !== 1 || counts.contended.count !== processes * names) throw new Error('the fleet is not seen');
    const { longest, grown } = await look(new ConsoleReader(connection));
    results.add({ scenario, variant, driver: ours.name, round, values: { active, longest, grown } });
  }
  await connection.close();
  tell(`${scenario}: ${variant}`);
}

function bars(results: Results): Bar[] {
  const of = (column: string) => results.value(scenario, variant, ours.name, column);
  return [
    atMost('console: ms of the event loop for one look', 50, of('active')),
    atMost('console: ms of its longest piece', 10, of('longest')),
    atMost('console: MiB of the heap for one look', 64, of('grown')),
  ];
}

export const fleetConsole: Scenario = {
  name: scenario,
  title: 'A look at a large fleet in the console',
  columns: [
    { key: 'active', title: 'ms of the event loop', digits: 1 },
    { key: 'longest', title: 'ms of the longest piece', digits: 1 },
    { key: 'grown', title: 'MiB of the heap' },
  ],
  play,
  bars,
};
