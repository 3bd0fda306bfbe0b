import { parseArgs } from 'node:util';
import { isPace, type Pace, paces } from '../web/pace.js';

export interface DemoOptions {
  readonly processes: number;
  readonly buyers: number;
  readonly tickets: number;
  /** A box office in Java sells tickets of the same sale. */
  readonly java: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

export interface WebOptions {
  /** A page that shows the sale, instead of a table. */
  readonly web: boolean;
  readonly port: number;
  readonly pace: Pace;
}

export const help = `A ticket sale, three times: without a lock, with a mutex in each process, with @DistributedLock.
Real processes, real HTTP, one database, one Redis.

  npm run demo -- [options]             npm run --silent demo -- --json

  --processes <n>   application processes side by side, 1 to 16     (default 4)
  --buyers <n>      buyers, all at once, 1 to 5000                  (default 400)
  --tickets <n>     tickets on sale, 1 to 5000                      (default 100)
  --java            a box office in Java, with Redisson, sells tickets of the same sale under the same lock
                    (needs a JDK and Maven, and the SQLite file)
  --json            the result as JSON on stdout, nothing else there
  --help            this text

  --web             a live page instead: all three side by side, and buttons that break things
                    (3 processes for each, 60 buyers, 30 tickets; a Redis of its own)
  --port <n>        where the page is; 0 takes a free one           (default 4321)
  --pace <name>     ${Object.keys(paces).join(', ')}; the page can change it       (default eye)

  REDIS_URL         the Redis to use      (default: starts one of its own on a free port)
  DATABASE_URL      the Postgres to use   (default: an SQLite file, removed afterwards)

Exit code: 0 when the locked sale sold exactly what it had, 1 when not, 2 for a wrong option.`;

export class UsageError extends Error {}

const flags = {
  processes: { type: 'string' },
  buyers: { type: 'string' },
  tickets: { type: 'string' },
  java: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  web: { type: 'boolean', default: false },
  port: { type: 'string', default: '4321' },
  pace: { type: 'string', default: 'eye' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const terminal = { processes: '4', buyers: '400', tickets: '100' };

/** @throws UsageError naming the option that is wrong. */
export function readOptions(args: string[]): DemoOptions & WebOptions {
  const { java, json, web, port, pace, help, ...given } = parse(args);
  if (java && web) throw new UsageError('--java: not together with --web.');
  if (java && process.env['DATABASE_URL']) throw new UsageError('--java: needs the SQLite file; unset DATABASE_URL.');
  const defaults = web ? { processes: '3', buyers: '60', tickets: '30' } : terminal;
  if (!isPace(pace)) throw new UsageError(`--pace: '${pace}' given; write ${Object.keys(paces).join(', ')}.`);
  return {
    processes: count('processes', given.processes ?? defaults.processes, web ? 6 : 16),
    buyers: count('buyers', given.buyers ?? defaults.buyers, web ? 1000 : 5000),
    tickets: count('tickets', given.tickets ?? defaults.tickets, web ? 200 : 5000),
    java,
    json,
    web,
    port: count('port', port, 65_535, 0),
    pace,
    help,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: flags }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function count(name: string, text: string, max: number, min = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new UsageError(`--${name}: '${text}' given, a whole number from ${min} to ${max} expected.`);
}
