import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { closing, deferred, onSharedRedis } from './fixtures.js';

interface Account {
  readonly id: string;
  balance: number;
}

const elsewhere = new Map<string, number>();

@Injectable()
class Bank {
  @DistributedLock({ key: ['account:#{from.id}', 'account:#{to.id}'] })
  async transfer(from: Account, to: Account, amount: number): Promise<readonly string[]> {
    const { keys } = currentLock()!;
    const before = [from.balance, to.balance] as const;
    // The audit of each account re-enters its lock.
    await this.audit(from);
    await this.audit(to);
    from.balance = before[0] - amount;
    to.balance = before[1] + amount;
    return keys;
  }

  @DistributedLock('account:#{account.id}')
  async audit(account: Account): Promise<void> {
    const { depth, fencingToken } = currentLock()!;
    if (depth === 2) elsewhere.set(account.id, fencingToken);
    await new Promise((resolve) => setImmediate(resolve));
  }

  @DistributedLock({ key: (ids: string[]) => ids.map((id) => `account:${id}`), wait: 0 })
  async close(_ids: string[]): Promise<readonly string[]> {
    return currentLock()!.keys;
  }
}

const start = async () =>
  closing(
    await (
      await Test.createTestingModule({
        imports: [RedisLockModule.forRoot(onSharedRedis())],
        providers: [Bank],
      }).compile()
    ).init(),
  );

describe('@DistributedLock with several keys', () => {
  it('serializes transfers that share an account, in any direction, and none waits for itself', async () => {
    await using app = await start();
    const bank = app.get(Bank);
    const accounts: Account[] = ['a', 'b', 'c'].map((id) => ({ id, balance: 100 }));
    const transfers = Array.from({ length: 60 }, (_, index) => {
      const from = accounts[index % 3]!;
      // Every pair in both directions, and an account with itself.
      const to = accounts[Math.floor(index / 3) % 3]!;
      return bank.transfer(from, to, from === to ? 0 : 1);
    });
    const keys = await Promise.all(transfers);
    expect(keys[3]).toEqual(['account:a', 'account:b']);
    expect(keys[0]).toEqual(['account:a']);
    expect(accounts.map(({ balance }) => balance).reduce((sum, balance) => sum + balance)).toBe(300);
    expect([...elsewhere.keys()].sort()).toEqual(['a', 'b', 'c']);
  });

  it('takes the names that a key function returns, and reports the contended one', async () => {
    await using app = await start();
    const bank = app.get(Bank);
    const locks = app.get(RedisLockService);
    await expect(bank.close(['2', '1', '2'])).resolves.toEqual(['account:1', 'account:2']);
    await using held = await locks.acquire('account:2');
    await expect(bank.close(['1', '2'])).rejects.toMatchObject({ code: 'LOCK_CONTENDED', key: 'account:2' });
    await using free = await locks.tryAcquire('account:1');
    expect([held.isHeld, free?.isHeld]).toEqual([true, true]);
    for (const [ids, message] of [
      [[], 'Bank.close: key: the list of lock names is empty'],
      [Array.from({ length: 251 }, (_, index) => String(index)), 'Bank.close: key: 251 lock names given'],
    ] as const) {
      await expect(bank.close([...ids])).rejects.toMatchObject({
        code: 'LOCK_CONFIGURATION',
        message: expect.stringContaining(message),
      });
    }
  });

  it('works with the service as well: acquire, tryAcquire and using', async () => {
    await using app = await start();
    const locks = app.get(RedisLockService);
    const inside = deferred();
    const going = deferred();
    const work = locks.using(['b', 'a'], async (lock) => {
      expect(locks.current()).toBe(lock);
      expect(locks.current('b')?.fencingToken).toBe(lock.fencingTokens.get('b'));
      inside.resolve();
      await going.promise;
      return lock.keys;
    });
    await inside.promise;
    await expect(locks.tryAcquire(['c', 'b'])).resolves.toBeNull();
    const waiting = locks.acquire(['c', 'b']);
    going.resolve();
    await expect(work).resolves.toEqual(['a', 'b']);
    await using lock = await waiting;
    expect(lock.keys).toEqual(['b', 'c']);
    await expect(locks.acquire([])).rejects.toThrow('RedisLockService.acquire: key: the list of lock names is empty');
  });

  it('refuses a list that is never valid when the class is loaded', () => {
    const decorate = (key: unknown) => () => {
      class Wrong {
        @DistributedLock({ key: key as string[] })
        async m(id: string): Promise<string> {
          return id;
        }
      }
      return Wrong;
    };
    for (const [key, message] of [
      [[], 'the list of lock names is empty'],
      [Array.from({ length: 251 }, () => 'a:#{id}'), '251 lock names given'],
      [['a', 1], '1 is in the list'],
      [['a:#{id}', 'b:#{ids}'], "'#{ids}' names no parameter"],
    ] as const) {
      expect(decorate(key)).toThrow(message);
    }
  });
});
