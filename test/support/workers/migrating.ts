/**
 * An application on its way from Redisson's format to the native one. It adds to the counter of an account, again and again, under the locks
 * of its VERSION, a method of Accounts. After each turn it says `{ turns, lost, refused }`; at `stop` it ends after the present one.
 */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { InjectRedisLock, lockName, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';

const { REDIS: redis = '', ACCOUNT: account = '', VERSION: version = '' } = process.env;
const lease = Number(process.env['LEASE']);

type Work = (signal: AbortSignal) => Promise<void>;

@Injectable()
class Accounts {
  // #region connections
  constructor(
    @InjectRedisLock('java') private readonly redisson: RedisLockService,
    private readonly locks: RedisLockService,
  ) {}
  // #endregion

  // #region before
  // While Java takes the name.
  async before(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.redisson.using(name, { wait: '10s' }, ({ signal }) => work(signal));
  }
  // #endregion

  // #region both
  // Step 1: Redisson's lock outside, the native one inside.
  async both(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.redisson.using(name, { wait: '10s' }, async (outer) => {
      await this.locks.using(name, { wait: '10s' }, (inner) => work(AbortSignal.any([outer.signal, inner.signal])));
    });
  }
  // #endregion

  // #region after
  // Step 3: the native one alone.
  async after(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.locks.using(name, { wait: '10s' }, ({ signal }) => work(signal));
  }
  // #endregion

  /** A mistake: the other way round. */
  async backwards(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.locks.using(name, { wait: 500 }, async (outer) => {
      await this.redisson.using(name, { wait: 500 }, (inner) => work(AbortSignal.any([outer.signal, inner.signal])));
    });
  }
}

@Module({
  imports: [
    // #region modules
    RedisLockModule.forRoot({ name: 'java', redis, lease, redisson: true }),
    RedisLockModule.forRoot({ redis, lease }),
    // #endregion
  ],
  providers: [Accounts],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const accounts = app.get(Accounts);
const counter = new Redis(redis);
const key = `account:${account}:counter`;
const seen = { turns: 0, lost: 0, refused: 0 };
let stopped = false;
process.once('message', () => (stopped = true));

/** Two in here at once read the same number, and one of the two additions is lost. */
async function add(): Promise<void> {
  const value = Number(await counter.get(key));
  const replaced = Number(await counter.set(key, value + 1, 'GET'));
  if (replaced !== value) seen.lost++;
  seen.turns++;
}

while (!stopped) {
  await accounts[version as 'both'](account, add).catch((error: { code?: string }) => {
    if (error.code !== 'LOCK_WAIT_TIMEOUT') throw error;
    seen.refused++;
  });
  process.send?.(seen);
}
await app.close();
counter.disconnect();
process.disconnect();
