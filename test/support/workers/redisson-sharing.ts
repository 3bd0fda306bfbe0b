/**
 * A service that locks with this library in Redisson's format. It obeys the commands of test/redisson/java/src/Peer.java, as far as they
 * have a meaning here, so that a test can put either side into either role.
 */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { createLockClient } from 'nestjs-redis-lock/client';
import type { LockBackend } from 'nestjs-redis-lock/backend';
import type { Lock } from 'nestjs-redis-lock/client';

const [, , mode = '', address = '', watchdog = '30000', options = '{}'] = process.argv;
const { poll, ...given } = JSON.parse(options) as { readonly poll: number; readonly renewFrom?: 'worker' };
// Its start is no test: beside three JVMs it may take longer than the usual second.
const commandTimeout = 5_000;
const cluster = mode === 'cluster' ? { nodes: address.split(',') } : undefined;
const place = { ...(cluster ? { cluster } : { redis: address }), redisson: true, commandTimeout };
// A backend of its own has no worker.
const client = createLockClient({
  ...(given.renewFrom === 'worker' ? place : { backend: await backend() }),
  lease: Number(watchdog),
  ...given,
});
await client.connect();
const redis = mode === 'cluster' ? new Cluster(address.split(',')) : new Redis(address);
const forEver = '1h';

/** The backend of these options, with waiters that ask by themselves each `poll` ms only. */
async function backend(): Promise<LockBackend> {
  const log = { log: () => undefined, warn: () => undefined, error: () => undefined };
  const settings = { commandTimeout, poll, log };
  // Compiled, this file lies in dist/test-workers, beside the built package.
  const built = async (path: string): Promise<unknown> =>
    import(new URL(`../modules/lib/backends/redis/${path}-backend.js`, import.meta.url).href);
  const { ClusterBackend } = (await built(
    'cluster/cluster',
  )) as typeof import('../../../lib/backends/redis/cluster/cluster-backend.js');
  const { RedissonBackend } = (await built(
    'redisson/redisson',
  )) as typeof import('../../../lib/backends/redis/redisson/redisson-backend.js');
  return new RedissonBackend(
    { ...settings, redis: address },
    cluster && ((format) => new ClusterBackend({ ...settings, cluster, keyPrefix: '', format })),
  );
}

/** The locks of each actor, the innermost last. */
const held = new Map<string, Lock[]>();

const take = async (actor: string, name: string, wait: number | string, lease: number): Promise<Lock | undefined> => {
  const terms = { wait: wait as number, ...(lease > 0 && { lease, renew: false }) };
  const lock = wait === 0 ? await client.tryAcquire(name, terms) : await client.acquire(name, terms);
  if (lock) held.set(`${actor} ${name}`, [...(held.get(`${actor} ${name}`) ?? []), lock]);
  return lock ?? undefined;
};

async function run([, actor = '', verb = '', , name = '', ...numbers]: string[]): Promise<unknown> {
  const [first = 0, lease = -1] = numbers.map(Number);
  const locks = held.get(`${actor} ${name}`) ?? [];
  switch (verb) {
    case 'lock':
      await take(actor, name, forEver, numbers.length > 0 ? first : -1);
      return 'held';
    case 'try':
      return (await take(actor, name, first, lease)) ? 'held' : 'no';
    case 'token':
      return (await take(actor, name, first, lease))?.fencingToken ?? 'null';
    case 'unlock': {
      const lock = locks.pop();
      if (!lock?.isHeld) return '!lost';
      await lock.release();
      return 'ok';
    }
    case 'force':
      return client.forceRelease(name);
    case 'held':
      return locks.at(-1)?.isHeld ?? false;
    // block: the event loop, for so many ms
    case 'block':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, first);
      return 'ok';
    // lost: resolves when the signal of the lock aborts
    case 'lost': {
      const { signal } = locks.at(-1)!;
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return (signal.reason as { readonly reason: string }).reason;
    }
    case 'add':
      for (let done = 0; done < first; done++) {
        const lock = await client.acquire(name, { wait: forEver });
        await redis.set(`${name}:counter`, Number(await redis.get(`${name}:counter`)) + 1);
        await lock.release();
      }
      return 'ok';
    // beat <until> [ms inside]
    case 'beat': {
      let grants = 0;
      for (; process.hrtime.bigint() < BigInt(numbers[0] ?? 0); grants++) {
        const lock = await client.acquire(name, { wait: forEver });
        if (lease > 0) await sleep(lease);
        await lock.release();
      }
      return grants;
    }
  }
  return '!IllegalArgumentException';
}

const say = (id: string, answer: unknown): void =>
  void process.stdout.write(`${id} ${String(answer)} ${process.hrtime.bigint()}\n`);

/** The commands of an actor run one after the other. */
const actors = new Map<string, Promise<void>>();
const lines = createInterface(process.stdin);
lines.on('line', (line) => {
  const words = line.split(' ');
  const [id = '', actor = ''] = words;
  const last = actors.get(actor) ?? Promise.resolve();
  actors.set(
    actor,
    last
      .then(() => run(words))
      .then((answer) => say(id, answer))
      .catch((error: Error & { code?: string }) => say(id, `!${error.code ?? error.name}`)),
  );
});
lines.on('close', () => process.exit());
say('ready', 'node');
