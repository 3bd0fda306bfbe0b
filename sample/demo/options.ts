import { parseArgs } from 'node:util';

export interface DemoOptions {
  readonly processes: number;
  readonly buyers: number;
  readonly tickets: number;
  readonly json: boolean;
  readonly help: boolean;
}

export const help = `A ticket sale, three times: without a lock, with a mutex in each process, with @DistributedLock.
Real processes, real HTTP, one database, one Redis.

  npm run demo -- [options]             npm run --silent demo -- --json

  --processes <n>   application processes side by side, 1 to 16     (default 4)
  --buyers <n>      buyers, all at once, 1 to 5000                  (default 400)
  --tickets <n>     tickets on sale, 1 to 5000                      (default 100)
  --json            the result as JSON on stdout, nothing else there
  --help            this text

  REDIS_URL         the Redis to use      (default: starts one of its own on a free port)
  DATABASE_URL      the Postgres to use   (default: an SQLite file, removed afterwards)

Exit code: 0 when the locked sale sold exactly what it had, 1 when not, 2 for a wrong option.`;

export class UsageError extends Error {}

const flags = {
  processes: { type: 'string', default: '4' },
  buyers: { type: 'string', default: '400' },
  tickets: { type: 'string', default: '100' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** @throws UsageError naming the option that is wrong. */
export function readOptions(args: string[]): DemoOptions {
  const { processes, buyers, tickets, json, help } = parse(args);
  return {
    processes: count('processes', processes, 16),
    buyers: count('buyers', buyers, 5000),
    tickets: count('tickets', tickets, 5000),
    json,
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

function count(name: string, text: string, max: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
  throw new UsageError(`--${name}: '${text}' given, a whole number from 1 to ${max} expected.`);
}
