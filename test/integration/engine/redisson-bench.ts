import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
import { KeptLog } from '../../../conformance/kept-log.js';
import { RedissonBackend } from '../../../lib/backends/redis/redisson/redisson-backend.js';
import { type AcquireReply, type AcquireRequest, exclusive, type LockBackend } from '../../../lib/core/lock-backend.js';
import { sharedRedisUrl } from '../../support/redis-server.js';

export const hour = 3_600_000;

/** The field of a thread in Java. */
export const java = '0f9c1ad2-5d0a-4c0e-9d8e-3f1f0e2b7c11:19';

type Granted = Extract<AcquireReply, { status: 'granted' }>;

/** Backends in Redisson's format, for the tests of one file: what their scripts leave in Redis, and publish. */
export class RedissonBench {
  redis!: Redis;
  listener!: Redis;
  /** With own tokens. */
  backend!: RedissonBackend;
  /** With the counter of RFencedLock. */
  fenced!: RedissonBackend;
  /** A new one for each test. */
  name = '';
  heard: string[] = [];

  constructor() {
    beforeAll(async () => {
      [this.redis, this.listener] = [new Redis(sharedRedisUrl()), new Redis(sharedRedisUrl())];
      this.listener.on(
        'message',
        (channel: string, message: string) => channel.includes(this.name) && this.heard.push(message),
      );
      const options = { redis: sharedRedisUrl(), log: new KeptLog() };
      this.backend = new RedissonBackend(options);
      this.fenced = new RedissonBackend({ ...options, tokens: 'fenced' });
      for (const each of [this.backend, this.fenced])
        await each.start(randomUUID(), { granted: () => undefined, recovered: () => undefined });
    });
    afterAll(async () => {
      await Promise.all([this.backend.close(), this.fenced.close(), this.redis.quit(), this.listener.quit()]);
    });
    beforeEach(async () => {
      this.name = `product:${randomUUID()}`;
      this.heard = [];
      await this.listener.subscribe(`redisson_lock__channel:{${this.name}}`);
    });
  }

  request(id: string, more: Partial<AcquireRequest> = {}): AcquireRequest {
    const terms = { lease: hour, reserve: 0, enqueue: false, again: false, giveUpAt: Infinity, isWanted: () => true };
    return { ...exclusive, name: this.name, id, ...terms, ...more };
  }

  async take(
    id: string,
    more?: Partial<AcquireRequest>,
    by: Pick<LockBackend, 'acquire'> = this.backend,
  ): Promise<Granted> {
    return (await by.acquire(this.request(id, more))) as Granted;
  }

  /** All messages until now. Messages arrive in order. */
  async messages(): Promise<string[]> {
    await this.redis.publish(`redisson_lock__channel:{${this.name}}`, '7');
    while (!this.heard.includes('7')) await this.redis.ping();
    return this.heard;
  }

  lockInJava(more: Record<string, string> = {}): Promise<unknown> {
    return this.redis
      .multi()
      .hset(this.name, { [java]: '1', ...more })
      .pexpire(this.name, hour)
      .exec();
  }
}
