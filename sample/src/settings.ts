import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What can stand between two buyers of the same event. */
export const guards = ['none', 'mutex', 'lock'] as const;
export type Guard = (typeof guards)[number];

export interface Settings {
  readonly port: number;
  readonly guard: Guard;
  readonly redisUrl: string;
  /** Postgres when given, else the SQLite file. */
  readonly databaseUrl: string | undefined;
  /** One file, opened by every process of the sale. */
  readonly databaseFile: string;
}

/** @throws Error naming the variable that is wrong: a sale that starts with the wrong guard is worse than none. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const port = Number(env.PORT || 3000);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`PORT: '${env.PORT}' is not a port.`);

  const guard = guards.find((known) => known === (env.SALE_GUARD || 'lock'));
  if (guard === undefined) throw new Error(`SALE_GUARD: '${env.SALE_GUARD}' given; write ${guards.join(', ')}.`);

  return {
    port,
    guard,
    redisUrl: env.REDIS_URL || 'redis://127.0.0.1:6379',
    databaseUrl: env.DATABASE_URL || undefined,
    databaseFile: env.DATABASE_FILE || join(tmpdir(), 'ticket-sale.sqlite'),
  };
}
