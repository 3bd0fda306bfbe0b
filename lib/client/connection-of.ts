import { QuorumBackend } from '../backends/quorum/quorum-backend.js';
import { ClusterBackend } from '../backends/redis/cluster/cluster-backend.js';
import { RedissonBackend } from '../backends/redis/redisson/redisson-backend.js';
import { optionRefusals } from '../connection/connection.messages.js';
import { defaultConnection, type LockConnectionOptions } from '../connection/connection.options.js';
import { createBackend } from '../connection/create-backend.js';
import { LockConnection } from '../connection/lock.connection.js';
import {
  assertConnectionName,
  connectionOptionNames,
  type ResolvedConnectionOptions,
  resolveConnection,
} from '../connection/resolve-connection.js';
import { LockClient } from '../core/lock-client.js';
import { guarded, type LockLog } from '../core/lock-log.js';
import { readOptions } from '../errors/read-options.js';
import type { StartRenewalWorker } from '../core/renewal-worker.js';

/** The options of `createLockClient`: those of `RedisLockModule.forRoot` that do not concern a Nest application, and the log. */
export interface LockClientOptions extends LockConnectionOptions {
  /**
   * Name of the connection, for messages, channels and metrics, when a process has several.
   * @default none: the default connection
   */
  name?: string | undefined;
  /**
   * Where lost locks, outages and forced releases are logged. Nest's `Logger`, `console` and most loggers fit.
   * @default standard error
   */
  log?: LockLog | undefined;
}

/**
 * A connection without Nest, not opened yet.
 * @param settings `observes`: it only shows locks, and needs no permission to write
 * @throws LockConfigurationError for a wrong or unknown option
 */
export function connectionOf(options: LockClientOptions, { observes = false } = {}): LockConnection {
  const { name, log, resolved } = readClientOptions(options);
  const { defaults, maxWaiters, shutdownTimeout, activity } = resolved;
  const backend = createBackend(resolved, { log, observes, ClusterBackend, QuorumBackend, RedissonBackend });
  // Only a script that uses it loads its code.
  const startWorker: StartRenewalWorker = async (events) => {
    const { startRenewalWorker } = await import(/* webpackMode: "eager" */ '../worker/worker-thread.js');
    return startRenewalWorker(resolved, log, events);
  };
  const client = new LockClient(backend, { defaults, maxWaiters, connection: name, startWorker }, log);
  return new LockConnection(client, { name, strict: false, shutdownTimeout, activity });
}

interface ReadOptions {
  readonly name: string;
  readonly log: LockLog;
  readonly resolved: ResolvedConnectionOptions;
}

function readClientOptions(options: LockClientOptions): ReadOptions {
  const { log = standardError, ...given } = readOptions('options', options, [...connectionOptionNames, 'log']);
  assertConnectionName(given.name);
  if (!isLog(log)) throw optionRefusals.noLog(log);
  const { name = defaultConnection } = given as { name?: string };
  return { name, log: guarded(log), resolved: resolveConnection(given) };
}

const isLog = (given: unknown): given is LockLog =>
  (['log', 'warn', 'error'] as const).every(
    (level) => typeof Reflect.get(Object(given) as object, level) === 'function',
  );

/** Standard output belongs to the script. */
// oxlint-disable-next-line no-console -- a write to process.stderr ends the process when its reader has gone away
const line = (message: string): void => console.error(`nestjs-redis-lock: ${message}`);
const standardError: LockLog = { log: line, warn: line, error: line };
