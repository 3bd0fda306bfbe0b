/**
 * A service that locks as Redisson does, in TypeScript: it obeys the commands of test/redisson/java/src/Peer.java, and leaves the same
 * keys, lifetimes and messages in Redis. Machines without Java test with it. test/redisson/observations.ts compares the two.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';

const [, , mode = '', address = '', watchdog = '30000'] = process.argv;
const watchdogTime = Number(watchdog);
const clientId = randomUUID();
const inCluster = mode.startsWith('cluster');
const publish = mode === 'cluster' ? 'SPUBLISH' : 'PUBLISH';
/** Addresses as of Peer.java: of Sentinel the group's name first. */
const connect = (): Redis => {
  if (mode !== 'sentinel') return new Redis(address);
  const [name, ...urls] = address.split(',');
  const sentinels = urls.map((url) => new URL(url)).map(({ hostname: host, port }) => ({ host, port: Number(port) }));
  return new Redis({ name: name!, sentinels, failoverDetector: true });
};
const redis = inCluster ? new Cluster(address.split(',')) : connect();
redis.on('error', () => undefined);

/** The name inside of a hash tag, unless it has one. */
const tagged = (name: string): string => (name.includes('{') ? name : `{${name}}`);
const channelOf = (name: string): string => `redisson_lock__channel:${tagged(name)}`;

type Kind = 'plain' | 'fenced' | 'spin' | 'once' | 'fair' | 'read' | 'write';

// KEYS lock, counter of tokens; ARGV lease, field, kind. {1, token or 0} or {0, rest of the lease}.
const take = `
local mode = redis.call('HGET', KEYS[1], 'mode')
local own = redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1
local joins = own or redis.call('EXISTS', KEYS[1]) == 0
if ARGV[3] == 'read' then
  joins = not mode or mode == 'read'
elseif ARGV[3] == 'write' then
  joins = not mode or own
elseif own and ARGV[3] == 'once' then
  return redis.error_reply('NON_REENTRANT')
end
if not joins then
  return {0, redis.call('PTTL', KEYS[1])}
end
if ARGV[3] == 'read' or ARGV[3] == 'write' then
  redis.call('HSET', KEYS[1], 'mode', ARGV[3])
end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {1, ARGV[3] == 'fenced' and redis.call('INCR', KEYS[2]) or 0}`;

// KEYS lock, latch; ARGV lease, field, channel or '', life of the latch, how to publish. -1 not held, 0 still held, 1 released.
const leave = `
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
  return -1
end
local released = redis.call('HINCRBY', KEYS[1], ARGV[2], -1) <= 0 and 1 or 0
if released == 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
else
  redis.call('DEL', KEYS[1])
  if ARGV[3] ~= '' then
    redis.call(ARGV[5], ARGV[3], '0')
  end
end
redis.call('SET', KEYS[2], released, 'PX', ARGV[4])
return released`;

const force = `
local found = redis.call('DEL', KEYS[1])
if found == 1 and ARGV[1] ~= '' then
  redis.call(ARGV[2], ARGV[1], '0')
end
return found`;

const renew = `
local found = {}
for index, lock in ipairs(KEYS) do
  found[index] = redis.call('HEXISTS', lock, ARGV[1 + index])
  if found[index] == 1 then
    redis.call('PEXPIRE', lock, ARGV[1])
  end
end
return found`;

/** The locks that the watchdog renews: name and field, and how often it was taken. */
const watched = new Map<string, { readonly name: string; readonly field: string; count: number }>();
const keyOf = (name: string, field: string): string => `${name} ${field}`;

async function renewAll(): Promise<void> {
  const locks = [...watched.values()];
  // One command is about one slot.
  if (inCluster) await Promise.all(locks.map((lock) => renewSome([lock]).catch(() => undefined)));
  else if (locks.length > 0) await renewSome(locks);
}

async function renewSome(locks: ReadonlyArray<{ readonly name: string; readonly field: string }>): Promise<void> {
  const names = locks.map(({ name }) => name);
  const fields = locks.map(({ field }) => field);
  const found = (await redis.eval(renew, names.length, ...names, watchdogTime, ...fields)) as number[];
  locks.forEach(({ name, field }, index) => found[index] === 0 && watched.delete(keyOf(name, field)));
}
setInterval(() => void renewAll().catch(() => undefined), watchdogTime / 3);

/** The connections for messages, by server. */
const ears = new Map<string, Redis>();

function earAt(server: string): Redis {
  let ear = ears.get(server);
  if (!ear) {
    ear = inCluster ? new Redis(server, { autoResubscribe: false }) : connect();
    ears.set(server, ear);
    ear.on('error', () => undefined);
    for (const event of ['message', 'smessage']) ear.on(event, (channel, message) => Entry.woken(channel, message));
    // A slot has moved, or a master was replaced.
    if (inCluster)
      for (const event of ['moved', 'close']) ear.on(event, () => void Entry.subscribeAll(ears.get(server)));
  }
  return ear;
}

/** Subscribes at the server of the channel. */
async function subscribe(channel: string): Promise<Redis> {
  if (!inCluster) {
    const ear = earAt(address);
    await ear.subscribe(channel);
    return ear;
  }
  for (;;) {
    for (const node of (redis as Cluster).nodes('master')) {
      const ear = earAt(`redis://${node.options.host}:${node.options.port}`);
      try {
        // Another server redirects.
        await node.exists(channel);
        await (publish === 'SPUBLISH' ? ear.ssubscribe(channel) : ear.subscribe(channel));
        return ear;
      } catch {
        // The next one.
      }
    }
    await sleep(50);
  }
}

/** The waiters of this process for one lock share a subscription. Messages that no one waits for are kept. */
class Entry {
  private static readonly all = new Map<string, Entry>();
  private users = 0;
  private permits = 0;
  private readonly sleepers: Array<() => void> = [];
  private ear: Redis | undefined;
  private subscribed: Promise<void> | undefined;

  private constructor(private readonly channel: string) {}

  static async join(channel: string): Promise<Entry> {
    const entry = Entry.all.get(channel) ?? new Entry(channel);
    Entry.all.set(channel, entry);
    entry.users++;
    await (entry.subscribed ??= entry.subscribe());
    return entry;
  }

  /** Subscribes again to what was heard by this connection. */
  static async subscribeAll(lost: Redis | undefined): Promise<void> {
    for (const entry of Entry.all.values()) {
      if (entry.ear === lost) await entry.subscribe();
    }
  }

  static woken(channel: string, message: string): void {
    const entry = Entry.all.get(channel);
    if (!entry) return;
    for (let left = message === '1' ? entry.sleepers.length : 1; left > 0; left--) {
      const sleeper = entry.sleepers.shift();
      if (sleeper) sleeper();
      else entry.permits++;
    }
  }

  /** Until a message, or for so long. */
  async sleep(ms: number): Promise<void> {
    if (this.permits > 0) return void this.permits--;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        const index = this.sleepers.indexOf(end);
        if (index >= 0) this.sleepers.splice(index, 1);
        resolve();
      };
      const timer = Number.isFinite(ms) ? setTimeout(end, ms) : undefined;
      this.sleepers.push(end);
    });
  }

  async quit(): Promise<void> {
    if (--this.users > 0) return;
    Entry.all.delete(this.channel);
    await (publish === 'SPUBLISH' ? this.ear?.sunsubscribe(this.channel) : this.ear?.unsubscribe(this.channel));
  }

  private async subscribe(): Promise<void> {
    this.ear = await subscribe(this.channel);
  }
}

/** A lock as one thread sees it. */
class Lock {
  private readonly field: string;

  constructor(
    private readonly kind: Kind,
    private readonly name: string,
    thread: number,
  ) {
    this.field = `${clientId}:${thread}${kind === 'write' ? ':write' : ''}`;
  }

  /** The token of the grant (0 without tokens); undefined when the time is over. */
  async acquire(wait: number, lease: number): Promise<number | undefined> {
    const until = performance.now() + wait;
    let [granted, number] = await this.take(lease);
    if (granted) return number;
    if (wait <= 0) return undefined;
    const polls = this.kind === 'spin' || this.kind === 'fair';
    const entry = polls ? undefined : await Entry.join(this.channel);
    if (this.kind === 'fair') await this.standInLine();
    try {
      for (;;) {
        [granted, number] = await this.take(lease);
        if (granted) return number;
        const left = until - performance.now();
        if (left <= 0) return undefined;
        const rest = number < 0 ? Number.POSITIVE_INFINITY : number;
        if (entry) await entry.sleep(Math.min(left, rest));
        else await new Promise((resolve) => setTimeout(resolve, 5));
      }
    } finally {
      await entry?.quit();
      if (this.kind === 'fair') await this.leaveLine();
    }
  }

  /** Others see that it waits. It is served in no order: that is Redisson's own affair. */
  private async standInLine(): Promise<void> {
    const gone = Date.now() + (await this.rest()) + 300_000;
    await redis.multi().zadd(this.times, gone, this.field).rpush(this.line, this.field).exec();
  }

  private async leaveLine(): Promise<void> {
    await redis.multi().lrem(this.line, 0, this.field).zrem(this.times, this.field).exec();
  }

  async release(): Promise<boolean> {
    const latch = `redisson_unlock_latch:${tagged(this.name)}:${randomBytes(16).toString('hex')}`;
    const channel = this.kind === 'spin' || this.kind === 'fair' ? '' : this.channel;
    const answer = await redis.eval(leave, 2, this.name, latch, watchdogTime, this.field, channel, 18_000, publish);
    await redis.del(latch);
    const entry = watched.get(keyOf(this.name, this.field));
    if (entry && (answer !== 0 || --entry.count === 0)) watched.delete(keyOf(this.name, this.field));
    return answer !== -1;
  }

  async force(): Promise<boolean> {
    watched.delete(keyOf(this.name, this.field));
    return (await redis.eval(force, 1, this.name, this.kind === 'spin' ? '' : this.channel, publish)) === 1;
  }

  isLocked = async (): Promise<boolean> => (await redis.exists(this.name)) === 1;
  isHeld = async (): Promise<boolean> => (await redis.hexists(this.name, this.field)) === 1;
  count = async (): Promise<number> => Number((await redis.hget(this.name, this.field)) ?? 0);
  rest = (): Promise<number> => redis.pttl(this.name);

  private get line(): string {
    return `redisson_lock_queue:${tagged(this.name)}`;
  }

  private get times(): string {
    return `redisson_lock_timeout:${tagged(this.name)}`;
  }

  private get channel(): string {
    return this.kind === 'read' || this.kind === 'write'
      ? `redisson_rwlock:${tagged(this.name)}`
      : channelOf(this.name);
  }

  private async take(lease: number): Promise<[granted: boolean, number: number]> {
    const { name, field, kind } = this;
    const counter = `redisson_lock_token:${tagged(name)}`;
    const reply = await redis.eval(take, 2, name, counter, lease > 0 ? lease : watchdogTime, field, kind);
    const [granted, number] = reply as [number, number];
    if (granted === 1 && lease <= 0) {
      const entry = watched.get(keyOf(name, field)) ?? { name, field, count: 0 };
      entry.count++;
      watched.set(keyOf(name, field), entry);
    }
    return [granted === 1, number];
  }
}

const forEver = Number.POSITIVE_INFINITY;

async function run(thread: number, [, , verb, kind, name = '', ...numbers]: string[]): Promise<unknown> {
  const [first = 0, lease = -1] = numbers.map(Number);
  const names = kind === 'multi' ? name.split(',') : [name];
  const locks = names.map((each) => new Lock(kind === 'multi' ? 'plain' : (kind as Kind), each, thread));
  const [lock] = locks as [Lock, ...Lock[]];
  switch (verb ?? '') {
    case 'lock':
      for (const each of locks) await each.acquire(forEver, numbers.length > 0 ? first : -1);
      return 'held';
    case 'try':
      for (const [index, each] of locks.entries()) {
        if ((await each.acquire(first, lease)) !== undefined) continue;
        // All or none, as in Redisson.
        for (const taken of locks.slice(0, index)) await taken.release();
        return 'no';
      }
      return 'held';
    case 'token':
      return (await lock.acquire(first, lease)) ?? 'null';
    case 'unlock':
      for (const each of locks) if (!(await each.release())) return '!IllegalMonitorStateException';
      return 'ok';
    case 'force':
      return lock.force();
    case 'locked':
      return lock.isLocked();
    case 'held':
      return lock.isHeld();
    case 'count':
      return lock.count();
    case 'ttl':
      return lock.rest();
    case 'field':
      return `${clientId}:${thread}`;
    case 'add':
      for (let done = 0; done < first; done++) {
        await lock.acquire(forEver, -1);
        await redis.set(`${name}:counter`, Number(await redis.get(`${name}:counter`)) + 1);
        await lock.release();
      }
      return 'ok';
    // Its waiters miss no message.
    case 'parks':
      return 'ok';
    case 'beat': {
      let grants = 0;
      for (; process.hrtime.bigint() < BigInt(numbers[0] ?? 0); grants++) {
        await lock.acquire(forEver, -1);
        await lock.release();
      }
      return grants;
    }
  }
  return '!IllegalArgumentException';
}

const say = (id: string, answer: unknown): void =>
  void process.stdout.write(`${id} ${String(answer)} ${process.hrtime.bigint()}\n`);

/** Each actor is a thread: its commands run one after the other. */
const actors = new Map<string, { readonly thread: number; last: Promise<void> }>();
const lines = createInterface(process.stdin);
lines.on('line', (line) => {
  const words = line.split(' ');
  const [id = '', name = ''] = words;
  const actor = actors.get(name) ?? { thread: 19 + actors.size, last: Promise.resolve() };
  actors.set(name, actor);
  actor.last = actor.last
    .then(() => run(actor.thread, words))
    .then((answer) => say(id, answer))
    .catch((error: Error) => say(id, `!${error.name}`));
});
// The driver is gone. Locks are left to their leases.
lines.on('close', () => process.exit());
say('ready', clientId);
