/**
 * Requests whose stores must not outlive them: the first one opens the connection, and all keep their locks, which are renewed on. Tells
 * `{ alive: names of the stores that are still in memory, held: whether the locks are }`. Needs --expose-gc.
 */
import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Test, type TestingModule } from '@nestjs/testing';
import { type Lock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';

const keyPrefix = process.argv[2]!;
const terms = { lease: '1200ms', renew: true } as const;

const stores = new AsyncLocalStorage<object>();
const known = new Map<string, WeakRef<object>>();
const request = async <T>(as: string, work: () => Promise<T>): Promise<T> => {
  const store = { as };
  known.set(as, new WeakRef(store));
  return stores.run(store, work);
};

/** Compiled, and never initialised: the first use connects. */
const application = (): Promise<TestingModule> => {
  const locks = RedisLockModule.forRoot({ redis: process.env['REDIS_URL']!, keyPrefix, shutdownTimeout: 0 });
  return Test.createTestingModule({ imports: [locks] })
    .setLogger(false as never)
    .compile();
};
const applications = await Promise.all([application(), application()]);
const [one, other] = applications.map((app) => app.get(RedisLockService)) as [RedisLockService, RedisLockService];

const locks: Lock[] = [];
let held: Lock | undefined = await request('first', () => one.acquire('a', terms));
const waiting = request('waiting', async () => {
  // It opens the connection for messages.
  locks.push(await other.acquire('a', terms));
});
// Connected by then.
await other.inspect('a');
await request('giving up', async () => {
  await other.tryAcquire('a', { ...terms, wait: 50 });
});
await request('leaving', () => held!.release());
// A lock that was released keeps the promise of its release, and so the context of that call.
held = undefined;
await waiting;
locks.push(await request('keeping', () => one.acquire('kept', terms)));
// Renewed several times by now.
await sleep(1_300);
let alive: string[] = [];
for (let tries = 0; tries < 10; tries++) {
  // In a turn of its own: what a WeakRef was asked for stays until the end of the turn.
  await turn();
  globalThis.gc!();
  await turn();
  alive = [...known].filter(([, store]) => store.deref()).map(([as]) => as);
  if (alive.length === 0) break;
}
process.send!({ alive, held: locks.map(({ isHeld }) => isHeld) });
await Promise.all(applications.map((app) => app.close()));
