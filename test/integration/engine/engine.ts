import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { LockHandle, LockOptions } from 'nestjs-redis-lock/backend';
import {
  ClusterBackend,
  type ClusterBackendOptions,
  RedisBackend,
  type RedisBackendOptions,
} from '../../support/backends.js';
import { WatchedBackend } from '../../../conformance/watched-backend.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { Member } from '../../../conformance/member.js';

export interface EngineOptions extends Omit<RedisBackendOptions, 'log'> {
  cluster?: ClusterBackendOptions['cluster'];
}

/** A client on Redis, as an application has it, and the record of its calls. */
export class Engine extends Member<WatchedBackend> {
  constructor({ commandTimeout = 5_000, cluster, ...options }: EngineOptions) {
    const log = new KeptLog();
    const settings = { ...options, commandTimeout, log };
    super(new WatchedBackend(cluster ? new ClusterBackend({ ...settings, cluster }) : new RedisBackend(settings)), log);
    this.byName = cluster !== undefined;
  }

  static start(options: EngineOptions): Promise<Engine> {
    return new Engine(options).start();
  }

  /** Starts to wait, and returns when its claim is in the queue and Redis has a subscriber for it. */
  async queue(name: string, options: LockOptions = {}): Promise<{ lock: Promise<LockHandle> }> {
    const lock = this.acquire(name, options);
    lock.catch(() => undefined);
    const answers = (): number =>
      this.backend.acquires.filter((call) => call.name === name && call.reply?.status === 'queued').length;
    const before = answers();
    // The first wait of a client (in a cluster: in a slot) sends an acquire, subscribes, and sends it again; later waits send one.
    const where = this.byName ? name : 'all';
    const needed = this.subscribed.has(where) ? 1 : 2;
    await this.backend.until(() => answers() >= before + needed);
    this.subscribed.add(where);
    return { lock };
  }

  private readonly byName: boolean;
  private readonly subscribed = new Set<string>();
}

export const unique = (what = 'engine'): string => `${what}:${randomUUID()}`;

/** A connection of the test itself. */
export function connectTo(url: string): Redis & AsyncDisposable {
  const redis = new Redis(url);
  // A test may stop the server under it.
  redis.on('error', () => undefined);
  return Object.assign(redis, {
    [Symbol.asyncDispose]: async () => {
      redis.disconnect();
    },
  });
}

/** Every key with this prefix, sorted. */
export async function keysOf(redis: Redis, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(
      cursor,
      'MATCH',
      `${prefix.replaceAll(/[[\]*?\\]/g, String.raw`\$&`)}*`,
      'COUNT',
      1000,
    );
    cursor = next;
    keys.push(...found);
  } while (cursor !== '0');
  return [...new Set(keys)].sort();
}

/** Repeats until the condition is true. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}
