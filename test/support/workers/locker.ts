/**
 * A process with one lock client, driven by messages `{ id, method, args }`; answers `{ id, result }` or `{ id, error }`, and
 * tells `{ event: 'aborted', … }` by itself. test/fault/support/lock-process.ts is the other end.
 */
import { existsSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import type { Worker as Thread } from 'node:worker_threads';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import type { LockHandle as Handle } from '../../../lib/core/lock-handle.js';
import type { AdoptOptions, LockOptions } from '../../../lib/core/options.js';
import type { Leadership } from '../../../lib/leader/leadership.js';

// Compiled, this file lies in dist/test-workers, beside the built package; the engine is no part of its public API.
const build = process.env['LOCKER_BUILD'] ?? 'modules';
const built = async (path: string): Promise<unknown> =>
  import(new URL(`../${build}/lib/${path}`, import.meta.url).href);
const { LockHandle } = (await built('core/lock-handle.js')) as typeof import('../../../lib/core/lock-handle.js');
const { Elections } = (await built('leader/election.js')) as typeof import('../../../lib/leader/election.js');
const { LockClient } = (await built('core/lock-client.js')) as typeof import('../../../lib/core/lock-client.js');
const { lockDefaults, resolveAdoption, resolveOptions } = (await built(
  'core/options.js',
)) as typeof import('../../../lib/core/options.js');
const { readTicket } = (await built('core/ticket.js')) as typeof import('../../../lib/core/ticket.js');
const { RedisBackend } = (await built(
  'backends/redis/index.js',
)) as typeof import('../../../lib/backends/redis/index.js');

const { startRenewalWorker } = (await built(
  'worker/worker-thread.js',
)) as typeof import('../../../lib/worker/worker-thread.js');
const { ClusterBackend } = (await built(
  'backends/redis/cluster/cluster-backend.js',
)) as typeof import('../../../lib/backends/redis/cluster/cluster-backend.js');

const { QuorumBackend } = (await built(
  'backends/quorum/quorum-backend.js',
)) as typeof import('../../../lib/backends/quorum/quorum-backend.js');

interface Configuration {
  redis: string;
  /** Whether the client is one of ioredis 5. */
  ioredis5?: boolean;
  /** Locks live on these servers, not on `redis`. */
  nodes?: string[];
  /** A Redis Cluster, by the ports of some nodes. */
  cluster?: number[];
  commandTimeout?: number;
  poll?: number;
  /** Milliseconds. */
  stallLimit?: number;
}

/** The worker threads that were started, in this order. */
const threads: Thread[] = [];
const workerThreads = createRequire(import.meta.url)('node:worker_threads') as typeof import('node:worker_threads');
const { Worker } = workerThreads;
workerThreads.Worker = class extends Worker {
  constructor(...args: ConstructorParameters<typeof Worker>) {
    super(...args);
    threads.push(this);
  }
};
syncBuiltinESMExports();

const {
  ioredis5,
  nodes,
  cluster: ports,
  stallLimit = 120_000,
  ...redisOptions
} = JSON.parse(process.env['LOCKER'] ?? '{}') as Configuration;
const logged: string[] = [];
const tell = (message: string): void => void logged.push(message);
const log = { log: tell, warn: tell, error: tell };
const settings = { commandTimeout: 2000, poll: 60_000, ...redisOptions, log };
const cluster = ports && { nodes: ports.map((port) => ({ host: '127.0.0.1', port })) };
const backend = cluster
  ? new ClusterBackend({ ...settings, cluster })
  : nodes
    ? new QuorumBackend({
        nodes: nodes.map((redis) => new RedisBackend({ ...settings, redis, node: { uptime: false } })),
        log,
      })
    : new RedisBackend({
        ...settings,
        ...(ioredis5 && { redis: new Redis5(redisOptions.redis, { lazyConnect: true }) as unknown as Redis }),
      });
const client = new LockClient(
  backend,
  {
    defaults: { ...lockDefaults, fairness: process.env.LOCK_FAIRNESS === 'strict' ? 'strict' : 'handoff' },
    maxWaiters: 10_000,
    startWorker: (events) =>
      startRenewalWorker(
        {
          ...settings,
          ...{
            keyPrefix: 'lock:',
            backend: undefined,
            cluster,
            quorum: undefined,
            replicas: undefined,
            redisson: undefined,
            stallLimit,
          },
          ...{ defaults: lockDefaults, maxWaiters: 10_000, shutdownTimeout: 0, activity: false },
        },
        log,
        events,
      ),
  },
  log,
);
const locks = new Map<string, Handle>();
/** The latest leadership of each election. */
const terms = new Map<string, Leadership>();
const elections = new Elections({
  client,
  acquire: (name, options) => client.acquire(name, options),
  holder: async () => undefined,
});
const leaderState = (name: string): object => {
  // isLeader first: it must be right before anything else was asked.
  const { isLeader } = elections.of(name);
  const { signal, epoch } = terms.get(name)!;
  const { aborted, reason } = signal;
  const { code, reason: why } = (aborted ? reason : {}) as { code?: string; reason?: string };
  return { isLeader, aborted, code, reason: why, epoch };
};
const unhandled: string[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)));

function blockUntil(file: string): void {
  process.send?.({ event: 'blocked' });
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(file)) Atomics.wait(sleeper, 0, 0, 5);
}

const state = (lock: Handle): object => {
  // isHeld first: it must be right before anything else was asked.
  const { isHeld } = lock;
  const { aborted, reason } = lock.signal;
  const { code, reason: why } = (aborted ? reason : {}) as { code?: string; reason?: string };
  return { isHeld, aborted, code, reason: why, token: lock.fencingToken };
};

interface Contention {
  name: string;
  counter: string;
  journal: string;
  flows: number;
  fairness: 'handoff' | 'strict';
  milliseconds: number;
}

/** `flows` flows that read a number, do something else, and write it back one larger, until the time is up. */
async function contend({ name, counter, journal, flows, fairness, milliseconds }: Contention): Promise<object> {
  const redis = new Redis(redisOptions.redis);
  const options = resolveOptions({ wait: '1m', fairness }, client.defaults);
  const end = performance.now() + milliseconds;
  let calls = 0;
  let increments = 0;
  const flow = async (): Promise<void> => {
    while (performance.now() < end) {
      const call = calls++;
      const lock = await client.acquire(name, options);
      const value = Number((await redis.get(counter)) ?? 0);
      await turn();
      await redis.set(counter, value + 1);
      const entry = {
        token: lock.fencingToken,
        claim: LockHandle.holdOf(lock).claim.id,
        call,
        process: process.pid,
      };
      await redis.rpush(journal, JSON.stringify(entry));
      increments += 1;
      await lock.release();
    }
  };
  await Promise.all(Array.from({ length: flows }, flow));
  redis.disconnect();
  return { increments };
}

const methods: Record<string, (args: never) => unknown> = {
  async start() {
    await client.start();
  },
  async acquire({ as, name, options }: { as: string; name: string; options: LockOptions }) {
    const lock = await client.acquire(name, resolveOptions(options, client.defaults));
    locks.set(as, lock);
    lock.signal.addEventListener('abort', () => process.send?.({ event: 'aborted', as, ...state(lock) }));
    return { token: lock.fencingToken, claim: LockHandle.holdOf(lock).claim.id };
  },
  state: ({ as }: { as: string }) => state(locks.get(as)!),
  release: ({ as }: { as: string }) => locks.get(as)!.release(),
  export: ({ as }: { as: string }) => locks.get(as)!.export(),
  async adopt({ as, ticket, options }: { as: string; ticket: string; options: AdoptOptions }) {
    const lock = (await client.adopt(readTicket(ticket), resolveAdoption(options, client.defaults))) as Handle;
    locks.set(as, lock);
    return { token: lock.fencingToken };
  },
  /** Blocks the event loop until the file is there; then looks, before any await. */
  lookWhenThere({ as, file }: { as: string; file: string }) {
    blockUntil(file);
    return state(locks.get(as)!);
  },
  /** Stands for the election: leads until its signal aborts. */
  campaign({ name, lease }: { name: string; lease?: number }) {
    void elections.of(name).campaign(
      async (leadership) => {
        terms.set(name, leadership);
        const { signal, epoch } = leadership;
        process.send?.({ event: 'elected', name, epoch });
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        process.send?.({ event: 'stepped down', name, ...leaderState(name) });
      },
      { lease },
    );
  },
  leaderState: ({ name }: { name: string }) => leaderState(name),
  resign: ({ name }: { name: string }) => terms.get(name)!.resign(),
  /** Blocks the event loop until the file is there; then looks, before any await. */
  lookAtLeaderWhenThere({ name, file }: { name: string; file: string }) {
    blockUntil(file);
    return leaderState(name);
  },
  /** Ends the newest worker thread, or makes it throw. */
  async endThread({ by }: { by: 'terminate' | 'error' }) {
    const thread = threads.at(-1)!;
    if (by === 'terminate') return thread.terminate();
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    thread.postMessage('no message of ours');
    return ended;
  },
  threads: () => threads.length,
  contend,
  logged: () => logged,
  wallClock: () => Date.now(),
  /** Ends the client and stops listening: the process must end by itself, or something was left. */
  async shutdown({ timeout }: { timeout: number }) {
    elections.close();
    await client.shutdown(timeout);
    process.off('message', onMessage);
    process.channel?.unref();
    return { unhandled };
  },
};

function onMessage({ id, method, args }: { id: number; method: string; args: never }): void {
  void (async () => {
    try {
      process.send?.({ id, result: await methods[method]!(args) });
    } catch (error) {
      const { name, message, code, uncertain, reason } = error as Record<string, unknown>;
      process.send?.({ id, error: { name, message, code, uncertain, reason } });
    }
  })();
}
process.on('message', onMessage);
process.send?.({ event: 'ready' });
