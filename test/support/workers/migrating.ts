/**
 * An application on its way from Redisson's format to the native one. It adds to the counter of an account, again and again, under the locks
 * of its VERSION, a method of Accounts. After each turn it says `{ turns, lost, stale, refused }`; at `stop` it ends after the present one.
 */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { InjectRedisLock, type Lock, lockName, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';

const { REDIS: redis = '', ACCOUNT: account = '', VERSION: version = '' } = process.env;
const lease = Number(process.env['LEASE']);
const tokens = process.env['TOKENS'] as 'own' | 'fenced';

/** Works under its lock, or under both: then `lock` is the inner one. */
type Work = (lock: Lock, outer?: Lock) => Promise<void>;

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
    await this.redisson.using(name, { wait: '10s' }, (lock) => work(lock));
  }
  // #endregion

  // #region both
  // Step 1: Redisson's lock outside, the native one inside.
  async both(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.redisson.using(name, { wait: '10s' }, (outer) =>
      this.locks.using(name, { wait: '10s' }, (inner) => work(inner, outer)),
    );
  }
  // #endregion

  // #region after
  // Step 3: the native one alone.
  async after(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.locks.using(name, { wait: '10s' }, (lock) => work(lock));
  }
  // #endregion

  /** A mistake: the other way round. */
  async backwards(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.locks.using(name, { wait: 500 }, () => this.redisson.using(name, { wait: 500 }, (inner) => work(inner)));
  }
}

@Module({
  imports: [
    // #region modules
    RedisLockModule.forRoot({ name: 'java', redis, lease, redisson: { tokens } }),
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
const seen = { turns: 0, lost: 0, stale: 0, refused: 0 };
let stopped = false;
process.once('message', () => (stopped = true));

/** As the resource does it: the largest token in a column, which refuses smaller ones. */
async function check(column: string, { fencingToken }: Lock): Promise<void> {
  const last = Number(await counter.set(`account:${account}:${column}`, fencingToken, 'GET'));
  if (last >= fencingToken) seen.stale++;
}

/** Two in here at once read the same number, and one of the two additions is lost. */
async function add(lock: Lock, outer?: Lock): Promise<void> {
  // Own tokens of both formats come from one clock. The counter of Redisson is another order, and needs a column of its own.
  await check(tokens === 'fenced' && version === 'before' ? 'redisson' : 'fence', lock);
  if (tokens === 'fenced' && outer) await check('redisson', outer);
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
