import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { RedisOptions } from 'ioredis';
import { readUrl } from '../backends/redis/index.js';
import { connectionOf, type LockClientOptions } from '../client/connection-of.js';
import { RedisLockClient } from '../client/redis-lock.client.js';
import type { LockConnection } from '../connection/lock.connection.js';
import { type LockLog, silence } from '../core/lock-log.js';
import { type Arguments, type CommandName, durationIn, placeOf, textIn } from './arguments.js';
import { usageErrors } from './cli.messages.js';

export interface Connected extends AsyncDisposable {
  readonly locks: RedisLockClient;
  readonly connection: LockConnection;
}

/** A client that only shows locks: a user of Redis with read permissions is enough. */
export const observe = async (given: Arguments): Promise<Connected> => openObserver(await optionsOf(given));

/** The same, for a command that looks at all locks. */
export async function observeAll(command: CommandName, given: Arguments): Promise<Connected> {
  const options = await optionsOf(given);
  if (options.redisson) throw usageErrors.notListed(command);
  return openObserver(options);
}

/** A client that takes locks, or takes them away. */
export const connect = async (given: Arguments, options: LockClientOptions, log: LockLog): Promise<Connected> =>
  open(connectionOf({ ...(await optionsOf(given)), ...options, log }));

const openObserver = (place: LockClientOptions): Promise<Connected> =>
  open(connectionOf({ ...place, activity: false, log: silence }, { observes: true }));

async function open(connection: LockConnection): Promise<Connected> {
  const locks = new RedisLockClient(connection);
  try {
    // Its errors say more than those of a call that finds no connection.
    await locks.connect();
  } catch (error) {
    await locks.close();
    throw error;
  }
  return { locks, connection, [Symbol.asyncDispose]: () => locks.close() };
}

/** @throws CliError */
async function optionsOf(given: Arguments): Promise<LockClientOptions> {
  const keyPrefix = textIn(given, 'prefix');
  const timeout = durationIn(given, 'timeout', { min: 10 });
  const place = await redisOf(given);
  const terms = place.quorum ? { quorum: { ...place.quorum, ...(timeout && { nodeTimeout: timeout }) } } : {};
  return {
    ...place,
    ...terms,
    ...(given.options['redisson'] === true && { redisson: place.redisson || true }),
    ...(keyPrefix !== undefined && { keyPrefix }),
    ...(timeout !== undefined && !place.quorum && { commandTimeout: timeout }),
  };
}

async function redisOf(given: Arguments): Promise<LockClientOptions> {
  const kinds = ['sentinel', 'cluster', 'quorum', 'config'].filter((name) => given.options[name] !== undefined);
  if (kinds.length > 1) throw usageErrors.twoPlaces(`--${kinds[0]}`, `--${kinds[1]}`);
  const config = textIn(given, 'config');
  const file = textIn(given, 'url-file');
  const sources = [...(config === undefined ? [] : ['--config']), ...(file === undefined ? [] : ['--url-file'])];
  if (given.urls.length > 0) sources.push('--url');
  if (sources.length > 1) throw usageErrors.twoPlaces(sources[0]!, sources[1]!);
  if (config !== undefined) return configOf(config);

  if (given.urls.length > 0) return topologyOf(given, given.urls);
  const text = file === undefined ? process.env['REDIS_URL'] : await readText('--url-file', file);
  const urls = words(text ?? '');
  // A variable that is set and empty is one that was forgotten elsewhere: the default would be another server.
  if (text !== undefined && urls.length === 0) throw usageErrors.noUrl(placeOf(given));
  return topologyOf(given, urls);
}

function topologyOf(given: Arguments, urls: readonly string[]): LockClientOptions {
  const { options } = given;
  const [first, second] = urls;
  if (options['quorum']) return { quorum: { nodes: urls } };
  if (options['cluster']) return { cluster: { nodes: first === undefined ? [{}] : [...urls] } };
  const name = options['sentinel'] as string | undefined;
  if (name !== undefined) return { redis: sentinelsOf(urls, name) };
  if (second !== undefined) throw usageErrors.severalUrls(urls.length);
  if (first !== undefined && !/^(rediss?:\/)?\//i.test(first)) throw usageErrors.noUrl(placeOf(given));
  return first === undefined ? {} : { redis: first };
}

/** User, password, database and TLS of the first URL are those of the master. */
function sentinelsOf(urls: readonly string[], name: string): NonNullable<LockClientOptions['redis']> {
  const given = urls.map(sentinelOf);
  const [{ username, password, db = 0, tls } = {}] = given as Array<RedisOptions | undefined>;
  return {
    sentinels: given.map(({ host, port }) => ({ host: host!, port: port! })),
    name,
    ...(username && { username }),
    ...(password && { password }),
    ...(db > 0 && { db }),
    ...(tls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  };
}

/** @throws CliError, LockConfigurationError */
function sentinelOf(url: string): RedisOptions {
  if (!/^rediss?:\/\//.test(url)) throw usageErrors.noSentinel();
  const options = readUrl(url, '--sentinel');
  return new URL(url).port === '' ? { ...options, port: 26_379 } : options;
}

async function configOf(file: string): Promise<LockClientOptions> {
  let options: unknown;
  if (file.endsWith('.json')) options = parsed(file, await readText('--config', file));
  else {
    const module = (await import(pathToFileURL(resolve(file)).href).catch((error: unknown) => {
      throw usageErrors.noFile('--config', file, reasonIn(error));
    })) as { default?: unknown };
    options = module.default;
  }
  if (typeof options !== 'object' || options === null) throw usageErrors.noConfig(file, options);
  return options;
}

/** Not the message of an error in the file, which may have a part of it: a password. */
function reasonIn(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? `it throws ${name}; run it with node to see more`;
}

/** @throws CliError without the error of Node, for the same reason */
function parsed(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usageErrors.noFile('--config', file, 'it is not JSON');
  }
}

/** @throws CliError */
export async function readText(option: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw usageErrors.noFile(option, file, (error as NodeJS.ErrnoException).code ?? (error as Error).message);
  }
}

/** URLs between spaces, commas and line ends; lines with `#` are comments. */
const words = (text: string): string[] =>
  text
    .replaceAll(/^\s*#.*$/gm, '')
    .split(/[\s,]+/)
    .filter((word) => word !== '');
