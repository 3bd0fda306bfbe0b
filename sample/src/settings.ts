import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What can stand between two buyers of the same event. */
export const guards = ['none', 'mutex', 'lock'] as const;
export type Guard = (typeof guards)[number];

export interface Settings {
  readonly port: number;
  readonly guard: Guard;
  readonly redisUrl: string;
  /** The format of the locks: the library's own, or that of Redisson, which a service in Java has, too. */
  readonly lockFormat: 'native' | 'redisson';
  /** Postgres when given, else the SQLite file. */
  readonly databaseUrl: string | undefined;
  /** One file, opened by every process of the sale. */
  readonly databaseFile: string;
  /** How long a payment takes, in milliseconds; a random 5 to 20 when not given. */
  readonly paymentMs: number | undefined;
  /** The payment provider; without it the purchase waits for `paymentMs` instead. */
  readonly paymentUrl?: string | undefined;
  /** How long the others wait after a crash of the one who buys, in milliseconds. */
  readonly leaseMs: number;
  /** Milliseconds between two reports of the leader. */
  readonly reportMs: number;
  /** What opens the console of the locks; without it there is none. */
  readonly opsPassword: string | undefined;
}

/** @throws Error naming the variable that is wrong: a sale that starts with the wrong guard is worse than none. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const guard = guards.find((known) => known === (env.SALE_GUARD || 'lock'));
  if (guard === undefined) throw new Error(`SALE_GUARD: '${env.SALE_GUARD}' given; write ${guards.join(', ')}.`);

  const lockFormat = env.LOCK_FORMAT || 'native';
  if (lockFormat !== 'native' && lockFormat !== 'redisson')
    throw new Error(`LOCK_FORMAT: '${lockFormat}' given; write native or redisson.`);

  return {
    port: readNumber('PORT', env.PORT, 65_535) ?? 3000,
    guard,
    redisUrl: env.REDIS_URL || 'redis://127.0.0.1:6379',
    lockFormat,
    databaseUrl: env.DATABASE_URL || undefined,
    databaseFile: env.DATABASE_FILE || join(tmpdir(), 'ticket-sale.sqlite'),
    paymentMs: readNumber('PAYMENT_MS', env.PAYMENT_MS, 600_000),
    paymentUrl: env.PAYMENT_URL || undefined,
    leaseMs: readNumber('LEASE_MS', env.LEASE_MS, 600_000) ?? 30_000,
    reportMs: readNumber('REPORT_MS', env.REPORT_MS, 3_600_000) ?? 60_000,
    opsPassword: env.OPS_PASSWORD || undefined,
  };
}

function readNumber(name: string, text: string | undefined, max: number): number | undefined {
  if (!text) return undefined;
  if (/^\d+$/.test(text) && Number(text) <= max) return Number(text);
  throw new Error(`${name}: '${text}' given, a whole number up to ${max} expected.`);
}
