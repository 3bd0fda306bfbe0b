import 'reflect-metadata';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { currentLock, DistributedLock } from 'nestjs-redis-lock';
import { RedisLockTestingModule } from 'nestjs-redis-lock/testing';

type Call = (self: object, id: string) => Promise<void>;

/** What the decorator further out does with the method, for the next call. */
let plan: (call: Call, self: object) => Promise<void>;
/** The work that has run, with the lock around it. */
let done: string[];

/** As a decorator for retries, caches or transactions. */
const Planned: MethodDecorator = (_target, _property, descriptor) => {
  const inner = descriptor.value as unknown as (this: object, id: string) => Promise<void>;
  const call: Call = (self, id) => inner.call(self, id);
  descriptor.value = function (this: object) {
    return plan(call, this);
  } as never;
};

@Injectable()
class Shelf {
  @Planned
  @DistributedLock('item:#{id}')
  async take(id: string): Promise<void> {
    const lock = currentLock();
    done.push(`${id} in ${lock?.isHeld ? lock.key : 'no lock'}`);
  }
}

@Injectable()
class Store extends Shelf {}

let module: TestingModule;
beforeEach(async () => {
  done = [];
  module = await Test.createTestingModule({
    imports: [RedisLockTestingModule.forRoot()],
    providers: [Shelf, Store],
  }).compile();
});
afterEach(() => module.close());

describe('a method whose decorator further out calls it in its own way', () => {
  it('runs once under the lock of the call; a second time, with another key, under a lock of its own', async () => {
    plan = async (call, self) => {
      await call(self, '1');
      await call(self, '2');
    };
    await module.get(Shelf).take('1');
    expect(done).toEqual(['1 in item:1', '2 in item:2']);
  });

  it('runs on another instance under a lock of its own', async () => {
    plan = (call) => call(module.get(Store), '2');
    await module.get(Shelf).take('1');
    expect(done).toEqual(['2 in item:2']);
  });

  it('runs under a lock of its own when it is called after the lock of the call was left', async () => {
    let late = Promise.resolve();
    plan = async (call, self) => {
      late = turn().then(() => call(self, '1'));
    };
    await module.get(Shelf).take('1');
    expect(done).toEqual([]);
    await late;
    expect(done).toEqual(['1 in item:1']);
  });
});
