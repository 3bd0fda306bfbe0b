import type { Duplex } from 'node:stream';
import { Redis, type RedisOptions } from 'ioredis';
import { redisRefusals } from './redis.messages.js';

/** Where Redis is: a URL, ioredis options, or a client whose options are copied (it is never used or closed itself). */
export type RedisConnection = string | RedisOptions | Redis;

/**
 * What makes an ioredis client safe for locks; each of these was seen to do harm the other way round (faults.md):
 * a command that is not sent now is never sent later, and a command whose connection broke is not sent again behind our back.
 */
const safe: object = {
  lazyConnect: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
  autoResubscribe: false,
  enableReadyCheck: true,
  reconnectOnError: null,
  // Our own watch covers whole connections; a timer per command would cost more than the command.
  commandTimeout: undefined,
  socketTimeout: undefined,
  // Keys are built in one place, and a prefix here would reach keys but not channels.
  keyPrefix: '',
  stringNumbers: false,
  replyMapping: 'legacy',
  monitor: false,
  readOnly: false,
  // ioredis keeps this timer also for a socket that has closed long ago: two seconds (its default) longer to the end of the process.
  disconnectTimeout: 100,
  retryStrategy: (attempt: number): number =>
    Math.min(25 * 2 ** Math.min(attempt, 6), 1000) * (0.75 + Math.random() / 4),
};

/**
 * A connection of our own, not opened yet.
 * @param commandTimeout longest time in ms for an answer of Redis
 * @throws LockConfigurationError for what is no standalone Redis.
 */
export function createConnection(connection: RedisConnection, commandTimeout: number): Redis {
  const redis = newClient(connection);
  let handshake: NodeJS.Timeout | undefined;
  // Nothing of ioredis bounds a handshake with a server that accepts and then stays silent.
  redis.on('connect', () => {
    handshake = setTimeout(() => breakConnection(redis), Math.max(1000, 3 * commandTimeout)).unref();
  });
  for (const event of ['ready', 'close', 'end'] as const) redis.on(event, () => clearTimeout(handshake));
  return redis;
}

function newClient(connection: RedisConnection): Redis {
  // Not `new Redis(url, safe)`: there, what the URL's query says would win.
  if (typeof connection === 'string') return new Redis(connection, { lazyConnect: true }).duplicate(safe);
  if (isClient(connection)) {
    if ((connection as { isCluster?: boolean }).isCluster) {
      throw redisRefusals.cluster();
    }
    return connection.duplicate(safe);
  }
  return new Redis({ ...(connection as object), ...safe });
}

/** The key prefix that the user's own client or options would put before every key. */
export function keyPrefixOf(connection: RedisConnection): string {
  if (typeof connection === 'string') return new Redis(connection, { lazyConnect: true }).options.keyPrefix ?? '';
  return (isClient(connection) ? connection.options : connection).keyPrefix ?? '';
}

/** Host and port for messages; never user or password. */
export function addressOf({ options }: Redis): string {
  if (options.path) return options.path;
  return options.sentinels
    ? `Sentinel group ${options.name}`
    : `${options.host ?? '127.0.0.1'}:${options.port ?? 6379}`;
}

/** Breaks the socket at once. ioredis makes a new one, unless it was told to end. */
export function breakConnection(redis: Redis): void {
  streamOf(redis)?.destroy();
}

/** Ends for good; settles when the socket is closed. A half-open one would never answer the polite end. */
export async function endConnection(redis: Redis): Promise<void> {
  if (redis.status === 'end') return;
  if (redis.status === 'reconnecting') {
    // The socket is closed already; ioredis cancels its next attempt and says nothing more.
    redis.disconnect();
    return;
  }
  const ended = new Promise((resolve) => redis.once('end', resolve));
  redis.disconnect();
  breakConnection(redis);
  await ended;
}

/** ioredis keeps its socket in a field that its types leave out. */
export function streamOf(redis: Redis): Duplex | undefined {
  return (redis as unknown as { stream?: Duplex }).stream;
}

// By its abilities, not by instanceof: the application may have another copy or line of ioredis.
function isClient(connection: object): connection is Redis {
  return typeof (connection as { duplicate?: unknown }).duplicate === 'function';
}
