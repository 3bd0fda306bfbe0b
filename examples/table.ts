/** The cells of docs/start/what-to-write.md: test/unit/docs/readme.spec.ts compares them, and test/integration/docs/table.spec.ts calls them. */
import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock, lockName, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** What a method answers here: the names that it holds. */
const held = (): readonly string[] => currentLock()!.keys;

@Injectable()
export class Table {
  constructor(private readonly locks: RedisLockService) {}

  @DistributedLock('product:#{id}')
  async one(id: string): Promise<unknown> {
    return [id, held()];
  }

  @DistributedLock('seat:#{event.id}:#{seat}')
  async twoValues(event: { id: string }, seat: number): Promise<unknown> {
    return [event.id, seat, held()];
  }

  @DistributedLock({ key: ['account:#{from.id}', 'account:#{to.id}'] })
  async twoNames(from: { id: string }, to: { id: string }): Promise<unknown> {
    return [from.id, to.id, held()];
  }

  @DistributedLock({ key: (id: string) => lockName`page:${hash(id)}` })
  async computed(id: string): Promise<unknown> {
    return [id, held()];
  }

  @DistributedLock({ key: 'import', wait: 0 })
  async refused(): Promise<unknown> {
    return held();
  }

  @DistributedLock({ key: 'cache:warm', onContended: 'skip' })
  async skipped(): Promise<unknown> {
    return held();
  }

  @DistributedLock({ key: 'report', onContended: 'skip', minHold: '50s' })
  async oncePerMinute(): Promise<unknown> {
    return held();
  }

  @DistributedLock({ key: 'report:#{id}', shared: true })
  async read(id: string): Promise<unknown> {
    return [id, held()];
  }

  @DistributedLock({ key: 'gateway', limit: 5, minHold: '1s' })
  async fiveASecond(): Promise<unknown> {
    return held();
  }

  @DistributedLock({ key: 'gateway', limit: 10 })
  async tenAtOnce(): Promise<unknown> {
    return held();
  }

  @DistributedLock({ key: 'sync', maxHold: '5m' })
  async bounded(work: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
    return work(currentLock()!.signal);
  }

  async partOfMethod(id: string, work: () => Promise<unknown>): Promise<unknown> {
    return this.locks.using(lockName`product:${id}`, () => work());
  }
}

/** The module's options of the table; `forRoot` checks them. */
export const modules = (host: string, port: number, [url1, url2, url3]: readonly [string, string, string]) => [
  RedisLockModule.forRoot({ fairness: 'strict' }),
  RedisLockModule.forRoot({ redis: { sentinels: [{ host, port }], name: 'mymaster' } }),
  RedisLockModule.forRoot({ cluster: { nodes: [{ host, port }] } }),
  RedisLockModule.forRoot({ replicas: { count: 1, timeout: '200ms' } }),
  RedisLockModule.forRoot({ quorum: { nodes: [url1, url2, url3] } }),
  RedisLockModule.forRoot({ name: 'billing', redis: url1 }),
];
