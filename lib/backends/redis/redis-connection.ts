import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Redis } from 'ioredis';
import { longestTimer } from '../../core/clock.js';
import { inRoot } from '../../core/root-context.js';
import { isClient, type RedisConnection } from './given-connection.js';

/**
 * What makes an ioredis client safe for locks. Each of these was seen to do harm in the other setting: a command that cannot be sent now is
 * never sent later, and a command whose connection broke is not repeated by ioredis.
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
  // Keys are built in one place. A prefix here would apply to keys but not to channels.
  keyPrefix: '',
  stringNumbers: false,
  replyMapping: 'legacy',
  monitor: false,
  readOnly: false,
  // Sentinel: locks are written at the master, and the connection changes as soon as a sentinel names another one. Otherwise ioredis keeps
  // writing to a replaced master that still runs, until Sentinel reconfigures it: about ten seconds.
  role: 'master',
  failoverDetector: true,
  // ioredis keeps this timer even for a socket that has closed: its default would delay the end of the process by two seconds.
  disconnectTimeout: 100,
  retryStrategy: (attempt: number): number =>
    Math.min(25 * 2 ** Math.min(attempt, 6), 1000) * (0.75 + Math.random() / 4),
};

/** True for an option of ioredis whose value the library replaces. */
export const isOverridden = (name: string): boolean => Object.hasOwn(safe, name) && name !== 'keyPrefix';

/**
 * A connection of our own, not opened yet.
 * @param commandTimeout longest time in ms to wait for a reply of Redis
 */
export function createConnection(connection: RedisConnection, commandTimeout: number): Redis {
  const longestHandshake = Math.min(longestTimer, Math.max(1000, 3 * commandTimeout));
  const redis = newClient(connection);
  const { options } = redis;
  if (options.sentinels) {
    // Do not wait long for a sentinel or master whose host is gone: the other sentinels know better.
    options.connectTimeout = Math.min(options.connectTimeout ?? longestHandshake, longestHandshake);
    options.sentinelCommandTimeout ??= longestHandshake;
  }
  let handshake: NodeJS.Timeout | undefined;
  redis.on('connect', () => {
    // ioredis has no limit for a handshake with a server that accepts and then stays silent.
    handshake = setTimeout(() => breakConnection(redis), longestHandshake).unref();
    quietDetector(redis);
  });
  for (const event of ['ready', 'close', 'end'] as const) redis.on(event, () => clearTimeout(handshake));
  redis.on('end', () => {
    // ioredis stops for good when its failover detector calls while it asks a sentinel: exactly when there is a new master.
    if (!ended.has(redis)) setTimeout(() => revive(redis), 25).unref();
  });
  return redis;
}

/** Connects outside of all requests: the socket outlives the request that needs it first. */
export function openConnection(redis: Redis): Promise<void> {
  return inRoot(() => redis.connect());
}

/** Connections that were ended on purpose. */
const ended = new WeakSet<Redis>();

function revive(redis: Redis): void {
  if (redis.status === 'end' && !ended.has(redis)) openConnection(redis).catch(() => undefined);
}

/** ioredis prints errors of its failover detector's connections: a sentinel that is down does not concern the user. */
function quietDetector(redis: Redis): void {
  const { connector } = redis as unknown as {
    connector?: { failoverDetector?: { sentinels?: ReadonlyArray<{ readonly client: Redis }> } };
  };
  for (const { client } of connector?.failoverDetector?.sentinels ?? []) client.on('error', () => undefined);
}

function newClient(connection: RedisConnection): Redis {
  // Not `new Redis(url, safe)`: there, the URL's query would override `safe`.
  if (typeof connection === 'string') return new Redis(connection, { lazyConnect: true }).duplicate(safe);
  if (isClient(connection)) {
    const { options } = connection;
    // From another copy or version of ioredis: its own commands would show names and claim ids to tracers.
    return connection instanceof Redis ? connection.duplicate(safe) : new Redis({ ...options, ...safe });
  }
  return new Redis({ ...(connection as object), ...safe });
}

/** The key prefix of the user's own client or options. */
export function keyPrefixOf(connection: RedisConnection): string {
  if (typeof connection === 'string') return new Redis(connection, { lazyConnect: true }).options.keyPrefix ?? '';
  return (isClient(connection) ? connection.options : connection).keyPrefix ?? '';
}

/** Host and port for messages; never user or password. */
export function addressOf({ options }: Redis): string {
  if (options.path) return options.path;
  return options.sentinels
    ? `Sentinel group ${options.name}`
    : `${options.host || '127.0.0.1'}:${options.port ?? 6379}`;
}

/** Breaks the socket at once. ioredis makes a new one, unless the connection was ended. */
export function breakConnection(redis: Redis): void {
  streamOf(redis)?.destroy();
}

/**
 * Settles as the reply does. Without a reply in time the connection is dead, and is broken.
 * @param timeout ms
 */
export async function answerInTime<T>(redis: Redis, answer: Promise<T>, timeout: number): Promise<T> {
  let open = true;
  const timer = setTimeout(() => {
    // First read what has arrived during a stall, then judge.
    setImmediate(() => {
      if (open) breakConnection(redis);
    });
  }, timeout);
  try {
    return await answer;
  } finally {
    open = false;
    clearTimeout(timer);
  }
}

/** Ends for good; settles when the socket is closed. A half-open connection would never reply to QUIT. */
export async function endConnection(redis: Redis): Promise<void> {
  ended.add(redis);
  if (redis.status === 'end') return;
  if (redis.status === 'reconnecting') {
    // The socket is closed already; ioredis cancels its next attempt and emits nothing more.
    redis.disconnect();
    return;
  }
  const closed = new Promise((resolve) => redis.once('end', resolve));
  redis.disconnect();
  breakConnection(redis);
  await closed;
}

/** True when both are connected to the same server, judged by addresses: names and sentinels may lead to another one next time. */
export function samePeer(one: Redis, other: Redis): boolean {
  const a = streamOf(one) as Partial<Socket> | undefined;
  const b = streamOf(other) as Partial<Socket> | undefined;
  return a?.remotePort === b?.remotePort && a?.remoteAddress === b?.remoteAddress;
}

/** ioredis keeps its socket in a field that its types leave out. */
export function streamOf(redis: Redis): Duplex | undefined {
  return (redis as unknown as { stream?: Duplex }).stream;
}
