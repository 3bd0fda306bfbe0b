import { QuorumBackend } from '../backends/quorum/quorum-backend.js';
import { ClusterBackend } from '../backends/redis/cluster/cluster-backend.js';
import { defaultConnection, type LockConnectionOptions } from '../connection/connection.options.js';
import { createBackend, renewalWorkerOf } from '../connection/create-backend.js';
import { LockConnection } from '../connection/lock.connection.js';
import {
  assertConnectionName,
  connectionOptionNames,
  type ResolvedConnectionOptions,
  resolveConnection,
} from '../connection/resolve-connection.js';
import { LockClient } from '../core/lock-client.js';
import type { LockLog } from '../core/lock-log.js';
import { readOptions } from '../core/options.js';
import { located } from '../errors/configuration.js';
import { clientRefusals } from './client.messages.js';
import { RedisLockClient } from './redis-lock.client.js';

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
 * Locks without Nest: for scripts, and for workers that share locks with a Nest application. It connects at the first call, or with
 * `connect()`. Close it at the end: `close()`, or `await using locks = createLockClient(…)`.
 * @param options left out: a Redis on this machine, and the defaults. Processes share their locks when they use the same Redis and
 * `keyPrefix`.
 * @throws LockConfigurationError at once for a wrong or unknown option.
 */
export function createLockClient(options: LockClientOptions = {}): RedisLockClient {
  const { name, log, resolved } = located('createLockClient', () => readClientOptions(options));
  const { defaults, maxWaiters, shutdownTimeout, activity } = resolved;
  const backend = createBackend(resolved, log, { ClusterBackend, QuorumBackend });
  const client = new LockClient(
    backend,
    { defaults, maxWaiters, connection: name, activity, startWorker: renewalWorkerOf(resolved, log) },
    log,
  );
  return new RedisLockClient(new LockConnection(client, { name, strict: false, shutdownTimeout }, log));
}

interface ReadOptions {
  readonly name: string;
  readonly log: LockLog;
  readonly resolved: ResolvedConnectionOptions;
}

function readClientOptions(options: LockClientOptions): ReadOptions {
  const { log = standardError, ...given } = readOptions('options', options, [...connectionOptionNames, 'log']);
  assertConnectionName(given.name);
  if (!isLog(log)) throw clientRefusals.noLog(log);
  return { name: (given.name as string | undefined) ?? defaultConnection, log, resolved: resolveConnection(given) };
}

const isLog = (given: unknown): given is LockLog =>
  (['log', 'warn', 'error'] as const).every(
    (level) => typeof Reflect.get(Object(given) as object, level) === 'function',
  );

/** Standard output belongs to the script. */
const line = (message: string): void => void process.stderr.write(`nestjs-redis-lock: ${message}\n`);
const standardError: LockLog = { log: line, warn: line, error: line };
