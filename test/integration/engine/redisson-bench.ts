import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
import type { AcquireReply, AcquireRequest, LockBackend } from 'nestjs-redis-lock/backend';
import type { RedissonBackend } from '../../support/backends.js';
import { sharedRedisUrl } from '../../support/redis-server.js';
import { channelOf, java, newRedissonBackend, request, unique } from '../../support/redisson-backends.js';

export const hour = 3_600_000;

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
      this.backend = await newRedissonBackend();
      this.fenced = await newRedissonBackend({}, { tokens: 'fenced' });
    });
    afterAll(async () => {
      await Promise.all([this.backend.close(), this.fenced.close(), this.redis.quit(), this.listener.quit()]);
    });
    beforeEach(async () => {
      this.name = unique();
      this.heard = [];
      await this.listener.subscribe(channelOf(this.name));
    });
  }

  request(id: string, more: Partial<AcquireRequest> = {}): AcquireRequest {
    return request(this.name, { id, lease: hour, enqueue: false, giveUpAt: Infinity, ...more });
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
    await this.redis.publish(channelOf(this.name), '7');
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
