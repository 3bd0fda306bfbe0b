import { type Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { kindOf, suggestion } from '../../errors/describe.js';
import { longestDuration } from '../../core/duration.js';
import { isPlain } from '../../errors/read-options.js';
import { redisRefusals as refusals } from './redis.messages.js';

/** Where Redis is: a URL, ioredis options, or a client whose options are copied (it is never used or closed itself). */
export type RedisConnection = string | RedisOptions | Redis;

/** What is wrong with a value, as what is expected instead. `null` is a default of ioredis, like undefined. */
type Check = (value: unknown) => string | undefined;

const any: Check = () => undefined;
const text: Check = (value) => (typeof value === 'string' ? undefined : 'a string');
/** Messages show hosts and names. A URL in their place may have a password. */
const plain: Check = (value) => {
  if (typeof value !== 'string' || /[/@\s]/.test(value)) return 'a plain name (a URL stands in place of the options)';
  if (!/[${}"'`]/.test(value)) return undefined;
  return 'a plain name (without quotes, and without a placeholder such as ${NAME} for a variable, which nothing fills in)';
};
/** An address of IPv6 has at least two colons. */
const host: Check = (value) =>
  plain(value) ??
  (/^[^:]*:[^:]*$|[[\]]/.test(value as string)
    ? 'a name or an address alone (its port stands beside it, as port: 6379, and an address of IPv6 has no brackets)'
    : undefined);
const file: Check = (value) =>
  typeof value === 'string' && !/:\/\/|@/.test(value) ? undefined : 'the path of a socket';
/** Digits in a string are a number to ioredis. */
const whole =
  (min: number, max: number): Check =>
  (value) => {
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
    const fits = Number.isSafeInteger(number) && (number as number) >= min && (number as number) <= max;
    return fits ? undefined : `a whole number from ${min} to ${max}`;
  };
/** A timer of Node fires at once for a longer time, and for one that is no number. */
const time = whole(0, longestDuration);
const tls: Check = (value) =>
  typeof value === 'object' ||
  typeof value === 'boolean' ||
  (typeof value === 'string' && /^(true|RedisCloud\w+)$/.test(value))
    ? undefined
    : 'an object or true';

/** The options of ioredis, 5.3 and later, and what the address, the credentials and the times among them must be. */
const checks = {
  // First: no misspelling of it is meant.
  Connector: any,
  autoPipeliningIgnoredCommands: any,
  autoResendUnfulfilledCommands: any,
  autoResubscribe: any,
  blockingTimeout: any,
  blockingTimeoutGrace: any,
  clientInfoTag: text,
  commandQueue: any,
  commandTimeout: any,
  connectTimeout: time,
  connectionName: text,
  db: whole(0, longestDuration),
  disableClientInfo: any,
  disconnectTimeout: time,
  enableAutoPipelining: any,
  enableOfflineQueue: any,
  enableReadyCheck: any,
  enableTLSForSentinelMode: any,
  failoverDetector: any,
  family: whole(0, 6),
  himportFieldsets: any,
  host,
  keepAlive: time,
  keyPrefix: text,
  lazyConnect: any,
  maxLoadingRetryTime: time,
  maxRetriesPerRequest: any,
  monitor: any,
  name: plain,
  natMap: any,
  noDelay: any,
  offlineQueue: any,
  password: text,
  path: file,
  port: whole(1, 65_535),
  preferredSlaves: any,
  protocol: any,
  readOnly: any,
  reconnectOnError: any,
  replyMapping: any,
  retryStrategy: any,
  role: any,
  scripts: any,
  sentinelCommandTimeout: time,
  sentinelMaxConnections: any,
  sentinelPassword: text,
  sentinelReconnectStrategy: any,
  sentinelRetryStrategy: any,
  sentinelTLS: tls,
  sentinelUsername: text,
  sentinels: any,
  showFriendlyErrorStack: any,
  socketTimeout: any,
  stringNumbers: any,
  tls,
  updateSentinels: any,
  username: text,
} satisfies Record<keyof RedisOptions, Check>;

const clusterNames = {
  autoPipeliningIgnoredCommands: true,
  clusterNodeRetryStrategy: true,
  clusterRetryStrategy: true,
  dnsLookup: true,
  enableAutoPipelining: true,
  enableOfflineQueue: true,
  enableReadyCheck: true,
  himportFieldsets: true,
  keyPrefix: true,
  lazyConnect: true,
  maxRedirections: true,
  natMap: true,
  redisOptions: true,
  resolveSrv: true,
  retryDelayOnClusterDown: true,
  retryDelayOnFailover: true,
  retryDelayOnMoved: true,
  retryDelayOnTryAgain: true,
  scaleReads: true,
  scripts: true,
  shardedSubscribers: true,
  showFriendlyErrorStack: true,
  slotsRefreshInterval: true,
  slotsRefreshTimeout: true,
  useSRVRecords: true,
} satisfies Record<keyof ClusterOptions, true>;

/** What other clients of Redis, and what is made of them, have and ioredis has not. */
const strangers: ReadonlyArray<readonly [what: string, mark: string]> = [
  ['a promise', 'then'],
  ['a client of node-redis', 'isOpen'],
  ['a client of node-redis', 'connection_options'],
  // It has customCommand, too.
  ['a client of ioredis-mock', 'customCommands'],
  ['a client of GLIDE', 'customCommand'],
  ["Bun's RedisClient", 'bufferedAmount'],
  ['a URL object', 'searchParams'],
  ['a cache', 'wrap'],
  ['a cache', 'iterator'],
];

/** Names that other clients have for options of ioredis. */
const translations: Readonly<Record<string, string>> = {
  database: 'db',
  user: 'username',
  prefix: 'keyPrefix',
  hostname: 'host',
  ssl: 'tls',
};

/** True for ioredis' client of a cluster; judged by its fields, as the application may have another copy of ioredis. */
export function isCluster(connection: unknown): connection is Cluster {
  return typeof connection === 'object' && connection !== null && Reflect.get(connection, 'isCluster') === true;
}

/** By its fields, for the same reason. Clients of other libraries have `duplicate()`, too. */
export function isClient(connection: object): connection is Redis {
  return typeof Reflect.get(connection, 'duplicate') === 'function' && 'connector' in connection;
}

/**
 * ioredis accepts nearly everything, and connects to this machine for what it does not understand.
 * @param option its place, for the error
 * @throws LockConfigurationError naming what is wrong
 */
export function assertConnection(option: string, given: unknown): asserts given is RedisConnection {
  if (typeof given === 'string') return void readUrl(given, option);
  if (isCluster(given)) throw refusals.cluster(option);
  refuseStranger(option, given);
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw refusals.noRedis(option, kindOf(given));
  if (isClient(given)) assertValues(`${option}.options`, given.options);
  else assertOptions(option, given);
}

/** One of several servers. Among those, a host that is not set never means this machine. @throws LockConfigurationError */
export function assertNode(option: string, given: unknown): asserts given is RedisConnection {
  assertConnection(option, given);
  if (unsetHost(Object(given)) !== undefined) throw refusals.noHost(option);
}

/** @throws LockConfigurationError for a name or a value that ioredis does not understand */
function assertOptions(option: string, given: object): asserts given is RedisOptions {
  const names = Object.keys(given);
  assertNames(option, names);
  if (!isPlain(given)) {
    // Getters of a class: ioredis would see none of them.
    const inherited = Object.keys(checks).find((name) => name in given && !Object.hasOwn(given, name));
    if (inherited !== undefined) throw refusals.inheritedOption(option, inherited);
    if (names.length === 0) throw refusals.noRedis(option, 'an object without options of its own');
  }
  assertValues(option, given);
}

/** The options of ioredis' Cluster. @throws LockConfigurationError */
export function assertClusterOptions(option: string, given: ClusterOptions): void {
  const foreign = Object.keys(given).find((name) => !Object.hasOwn(clusterNames, name));
  if (foreign !== undefined) throw refusals.foreignClusterOption(option, foreign, Object.hasOwn(checks, foreign));
  const redisOptions: unknown = given.redisOptions ?? {};
  const place = `${option}.redisOptions`;
  if (typeof redisOptions !== 'object') throw refusals.clusterOptions(place, redisOptions);
  assertOptions(place, redisOptions!);
  // A cluster has one database.
  if (Number(redisOptions.db ?? 0) !== 0) throw refusals.clusterDatabase(`${place}.db`);
}

/** @throws LockConfigurationError for a client of another library, a cache or a promise */
export function refuseStranger(option: string, given: unknown): void {
  if (typeof given !== 'object' || given === null) return;
  const stranger =
    strangers.find(([, mark]) => mark in given)?.[0] ??
    (typeof Reflect.get(given, 'duplicate') === 'function' && !isClient(given)
      ? 'a client that is not of ioredis'
      : undefined);
  if (stranger !== undefined) throw refusals.stranger(option, stranger);
}

/** What the host is in `{ host: process.env.REDIS_HOST }` where that is not set: ioredis connects to this machine. */
export function unsetHost(given: unknown): string | undefined {
  const { host, path, sentinels, Connector } = given as RedisOptions;
  if (host || path || sentinels || Connector || !Object.hasOwn(given as object, 'host')) return undefined;
  return host === '' ? 'empty' : String(host);
}

/**
 * What a URL says.
 * @param option its place, for the error
 * @throws LockConfigurationError
 */
export function readUrl(url: string, option: string): RedisOptions {
  if (!/^(rediss?:\/\/|\/)/.test(url)) throw refusals.noRedis(option, url === '' ? 'an empty string' : 'this string');
  const options = optionsIn(url);
  if (!options) throw refusals.url(option);
  if (/^(undefined|null)?$/.test(options.host ?? '') && !options.path) throw refusals.noHost(option);
  assertNames(
    option,
    [...new URLSearchParams(url.split('?')[1]).keys()].filter((name) => name !== oldName),
  );
  assertValues(option, options);
  return options;
}

/** Of ioredis 4, and still in many URLs. ioredis 5 does what it said. */
const oldName = 'allowUsernameInURI';

/** Undefined for a URL of which ioredis would read something else, or nothing. */
function optionsIn(url: string): RedisOptions | undefined {
  try {
    const { hash, hostname, pathname } = url.startsWith('/') ? socket : new URL(url);
    // What is behind a '#' or a '/' that is not encoded may be the rest of a password.
    if (hash !== '' || !/^\/?\d*$/.test(pathname)) return undefined;
    const { options } = new Redis(url, { lazyConnect: true });
    if (!Number.isInteger(options.db)) return undefined;
    // Without a host ioredis takes its default.
    return hostname === '' ? { ...options, host: '' } : options;
  } catch {
    // The error of Node has the whole URL as `input`, with the password.
    return undefined;
  }
}
const socket = { hash: '', hostname: 'none', pathname: '' };

function assertNames(option: string, names: readonly string[]): void {
  const known: object = { ...checks, ...(Reflect.get(Redis, 'defaultOptions') as object | undefined) };
  const foreign = names.find((name) => !Object.hasOwn(known, name));
  if (foreign !== undefined) throw refusals.foreignOption(option, foreign, adviceFor(foreign));
}

function assertValues(option: string, given: object): void {
  for (const [name, check] of Object.entries(checks)) {
    const value: unknown = Reflect.get(given, name);
    const expected = value === undefined || value === null ? undefined : check(value);
    if (expected !== undefined) throw refusals.wrongValue(`${option}.${name}`, kindOf(value), expected);
  }
  const { sentinels, name } = given as { sentinels?: unknown; name?: unknown };
  if (sentinels === undefined || sentinels === null) return;
  const isList = Array.isArray(sentinels) && sentinels.length > 0;
  if (!isList || !name || !sentinels.every(isSentinel)) throw refusals.sentinel(option);
}

const isSentinel = (given: unknown): boolean =>
  typeof given === 'object' &&
  given !== null &&
  Object.keys(given).every((name) => ['host', 'port', 'family'].includes(name)) &&
  unsetHost(given) === undefined &&
  checks.port((given as RedisOptions).port ?? 1) === undefined &&
  checks.host((given as RedisOptions).host ?? 'h') === undefined;

function adviceFor(name: string): string {
  const translation = translations[name.toLowerCase()];
  if (translation !== undefined) return `Write ${translation}. `;
  const nearest = suggestion(name, Object.keys(checks).slice(1));
  return nearest.startsWith('Did') ? `${nearest} ` : '';
}
