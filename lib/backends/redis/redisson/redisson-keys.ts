import type { KeySpace } from '../keys.js';
import { redissonRefusals } from './redisson.messages.js';

/** How tokens are issued: by this library alone, or with the counter of Redisson's RFencedLock. */
export type RedissonTokens = 'own' | 'fenced';

/** Keys beside the locks, of this library alone. Not under the prefix: tokens rise over all locks of the server. */
const own = 'nestjs-redis-lock:';

/** The name inside of a hash tag, unless it has a brace. Redisson derives its keys so. */
const tagged = (rawName: string): string => (rawName.includes('{') ? rawName : `{${rawName}}`);

const channelPrefix = 'redisson_lock__channel:';

/** The second channel of a client of this library: waiters of Redisson are those that are not on it, too. */
export const ownChannelOf = (channel: string): string => `${own}waiters:${channel.slice(channelPrefix.length)}`;

/** No brace, or text between the first brace and the next closing one. */
const inOneSlot = /^(?:[^{}]*|[^{]*\{[^}]+\}.*)$/s;

/** The keys and channels of Redisson's locks. */
export interface RedissonKeySpace extends KeySpace {
  /** The channel on which the releases of a lock are published. */
  channelOf(name: string): string;
}

/**
 * @param prefix stands before each name, as a NameMapper of Redisson puts it there
 * @param publish how a release is published: SPUBLISH stands for a cluster, where both ways are possible
 * @param listensFor true for a name whose channel this client has subscribed to
 */
export function redissonKeySpace(
  prefix: string,
  tokens: RedissonTokens,
  publish: 'PUBLISH' | 'SPUBLISH',
  listensFor: (name: string) => boolean,
): RedissonKeySpace {
  const register = `${own}token-register`;
  const lockOf = (name: string): string => prefix + name;
  const fairOf = (lock: string): string => `redisson_lock_timeout:${tagged(lock)}`;
  const channelsFor = (claims: ReadonlyArray<{ readonly name: string }>): string =>
    `${publish} ${channelPrefix} ${tokens} ${claims.map(({ name }) => (listensFor(name) ? '1' : '0')).join('')}`;
  return {
    forLock: (name) => [lockOf(name), '', ''],
    forScript(claims) {
      const locks = claims.map(({ name }) => lockOf(name));
      const counters = tokens === 'fenced' ? locks.map((lock) => `redisson_lock_token:${tagged(lock)}`) : [];
      return [register, ...locks, ...locks.map(fairOf), ...counters];
    },
    forRehearsal(clientId, tag = clientId) {
      const lock = `${prefix}${own}rehearsal:{${tag}}${clientId}`;
      // Without a counter: that key would stay forever.
      const names = [register, lock, fairOf(lock)];
      return { names, channels: `${publish} ${channelPrefix} own 0`, heard: channelPrefix + lock };
    },
    // Redisson puts the channel of such a name into another slot than the lock.
    assertOneSlot(name) {
      if (!inOneSlot.test(lockOf(name))) throw redissonRefusals.loneBrace(name);
    },
    recordsOf: (startsWith) => lockOf(startsWith),
    nameOf: (lock) => lock.slice(prefix.length),
    register,
    activity: `${own}activity`,
    channels: channelPrefix,
    channelsFor,
    renewalTerms: channelsFor,
    own,
    channelOf: (name) => channelPrefix + tagged(lockOf(name)),
  };
}
