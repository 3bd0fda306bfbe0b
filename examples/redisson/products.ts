import { type DynamicModule, Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DistributedLock, RedisLockModule } from 'nestjs-redis-lock';

export const sharedWithJava = (redis: string): DynamicModule =>
  // #region module
  RedisLockModule.forRoot({ redis, redisson: true });
// #endregion

export const onACluster = (nodes: Array<{ host: string; port: number }>): DynamicModule =>
  // #region cluster
  RedisLockModule.forRoot({ cluster: { nodes }, redisson: true });
// #endregion

export const withSharedTokens = (redis: string): DynamicModule =>
  // #region fenced
  RedisLockModule.forRoot({ redis, redisson: { tokens: 'fenced' } });
// #endregion

@Injectable()
export class Products {
  constructor(@Inject('redis') private readonly redis: Redis) {}

  // #region take
  @DistributedLock({ key: 'product:#{id}', wait: '10s' })
  async take(id: string): Promise<number> {
    const left = Number(await this.redis.get(`stock:${id}`)) - 1;
    await this.redis.set(`stock:${id}`, left);
    return left;
  }
  // #endregion
}
