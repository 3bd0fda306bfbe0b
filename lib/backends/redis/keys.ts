import { redisRefusals } from './redis.messages.js';

/**
 * All keys and channels of this library are built here.
 * Two versions of it side by side, as in a rolling deploy, respect each other's locks: records and the register have the same keys in each
 * layout, forever, and the value of a record names its layout. All other keys contain the layout:
 * https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/inside/adr/0079-versions-side-by-side.md
 */
const layout = '1';
const queueSuffix = `:${layout}:queue`;
const waitersSuffix = `:${layout}:waiters`;

export interface KeySpace {
  /** Record, queue and waiters of a lock name; one slot in a cluster. */
  forLock(name: string): readonly [record: string, queue: string, waiters: string];
  /** The KEYS of a script for some claims: the register, then all records, all queues, all waiters. */
  forScript(claims: ReadonlyArray<{ readonly name: string }>): string[];
  /**
   * The same for the rehearsal of one client, on a name that no lock can have: the keys, what the scripts get for the channels, and a
   * channel to which the client could listen.
   */
  forRehearsal(clientId: string, tag?: string): { names: string[]; channels: string; heard: string };
  /** Refuses a name whose keys and channels a cluster would put into several slots. @default there is none */
  assertOneSlot?(name: string): void;
  /** A glob pattern of the record keys of all names that begin so, and of no other key. */
  recordsOf(startsWith: string): string;
  /** The lock name of a record key of this key space. */
  nameOf(record: string): string;
  /** The largest token issued on this server. */
  readonly register: string;
  /** What the processes tell of their locks. */
  readonly activity: string;
  /** Grants for a client are published on this prefix with the client's id. */
  readonly channels: string;
  /** The prefix for a script with these claims. */
  channelsFor(claims: ReadonlyArray<{ readonly name: string }>): string;
  /** What the renewal script needs besides. @default nothing */
  renewalTerms?(claims: ReadonlyArray<{ readonly name: string }>): string;
  /** The beginning of all keys and channels of this layout alone. */
  readonly own: string;
}

const withRecord = (record: string): [record: string, queue: string, waiters: string] => [
  record,
  record + queueSuffix,
  record + waitersSuffix,
];

/** @throws LockConfigurationError for a prefix under which names could be those of another prefix */
export function keySpace(prefix: string): KeySpace {
  // Else the keys of one prefix could be those of a longer prefix with a brace: 'app:' and 'app:{shop}:'.
  if (prefix === '' || prefix.lastIndexOf('{') > 0) throw redisRefusals.prefix(prefix);
  const own = `${prefix}${layout}:`;
  const register = `${prefix}token-register`;
  const channels = `${own}client:`;
  // '{}…' is not a hash tag: the three keys of a name that begins with '}' would go to different slots.
  const recordOf = (name: string): string =>
    name.startsWith('}') || name.startsWith(':') ? `${prefix}{:${name}}` : `${prefix}{${name}}`;
  return {
    forLock: (name) => withRecord(recordOf(name)),
    forScript(claims) {
      const count = claims.length;
      const keys = [register];
      for (const { name } of claims) keys.push(recordOf(name));
      for (let index = 1; index <= count; index++) keys.push(keys[index]! + queueSuffix);
      for (let index = 1; index <= count; index++) keys.push(keys[index]! + waitersSuffix);
      return keys;
    },
    forRehearsal(clientId, tag = clientId) {
      const names = [register, ...withRecord(`${own}rehearsal:{${tag}}${clientId}`)];
      return { names, channels, heard: channels + clientId };
    },
    recordsOf(startsWith) {
      const open = startsWith === '' ? `${prefix}{` : recordOf(startsWith).slice(0, -1);
      // No other key ends in a brace.
      return `${open.replaceAll(/[[\]*?\\]/g, String.raw`\$&`)}*}`;
    },
    nameOf(record) {
      const name = record.slice(prefix.length + 1, -1);
      return name.startsWith(':') ? name.slice(1) : name;
    },
    register,
    activity: `${own}activity`,
    channels,
    channelsFor: () => channels,
    own,
  };
}
