import Database from 'libsql';
import type { DataSourceOptions } from 'typeorm';
import { Event } from './events/event.entity.js';
import { Order } from './orders/order.entity.js';
import { Report } from './reports/report.entity.js';
import type { Settings } from './settings.js';

/**
 * Postgres when it is given, else one SQLite file that several processes share without a server:
 * in WAL mode readers never wait, and a writer waits up to `timeout` for the one before it.
 */
export function databaseOptions({
  databaseUrl,
  databaseFile,
}: Pick<Settings, 'databaseUrl' | 'databaseFile'>): DataSourceOptions {
  // Good enough for a sample. An application that lives longer than its first table runs migrations.
  const common = { entities: [Event, Order, Report], synchronize: true };
  if (databaseUrl) return { ...common, type: 'postgres', url: databaseUrl };
  return {
    ...common,
    type: 'better-sqlite3',
    driver: Database, // the interface of better-sqlite3; its binaries come from npm, so that there is nothing to compile
    database: databaseFile,
    enableWAL: true,
    prepareDatabase: (database: Database.Database) => void database.pragma('synchronous = NORMAL'), // with WAL safe against crashes, and no fsync at every commit
    timeout: 10_000,
  };
}
