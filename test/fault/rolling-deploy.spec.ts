import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { Outcome, until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { expectNoLeftovers } from './support/leftovers.js';
import { LockProcess } from './support/lock-process.js';
import { uniqueName } from './support/locker.js';
import { buildOfLayout } from './support/other-layout.js';
import { keys, Monitor, ServerView } from './support/server-view.js';

let redis: RedisServer;
let view: ServerView;
/** Far shorter than the wait, so that a test detects a poll, and far longer than a hand-off. */
const POLL = 200;
const WAIT = '15s';
const ROUNDS = 4;

beforeAll(async () => {
  redis = await startRedis();
  view = await ServerView.of(redis);
});
afterAll(async () => {
  await view[Symbol.asyncDispose]();
  await redis.stop();
});

describe('two versions of the library whose keys have different layouts, side by side', () => {
  const builds: Array<Record<string, string>> = [{}];
  const start = (env: Record<string, string>): Promise<LockProcess> =>
    LockProcess.start({ redis: redis.url, poll: POLL, env });
  let versions: LockProcess[];

  beforeAll(async () => {
    builds.push(buildOfLayout(2));
    versions = await Promise.all(builds.map(start));
  });
  afterAll(() => Promise.all(versions.map((version) => version.kill())));
  expectNoLeftovers();

  // Fault 37: I1, I2, I3, I5 contended
  it.each([
    ['the new one waits for the old one', 0, 1],
    ['the old one waits for the new one', 1, 0],
  ])(
    'never hold one lock at once: %s, polls no more often than `poll`, and gets a larger token',
    async (_, first, second) => {
      const name = uniqueName();
      const resource = new GuardedResource();
      const [holder, waiter] = [versions[first]!, versions[second]!];
      const { token } = await holder.acquire('lock', name, { lease: 1500, renew: true });
      await expect(waiter.acquire('now', name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await expect(waiter.acquire('soon', name, { wait: 300 })).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
      const waiting = new Outcome(waiter.acquire('lock', name, { wait: WAIT }));
      await using monitor = await Monitor.of(view);
      const { claim, expiry } = (await view.holder(name))!;
      await until(
        'the holder was renewed past its first lease',
        async () => (await view.holder(name))!.expiry > expiry + 1500,
      );
      await monitor.sync();
      const polls = monitor.runs.filter((run) => run.claim !== claim).length;
      // Renewed every third of the lease: not longer than its length and two thirds after the first look.
      expect(polls).toBeGreaterThan(2);
      expect(polls).toBeLessThan(30);
      expect(waiting.settled).toBe(false);
      expect(await holder.state('lock')).toMatchObject({ isHeld: true, token });
      resource.write(token);
      await holder.release('lock');
      await until('the next poll', () => waiting.settled);
      expect(waiting.value!.token).toBeGreaterThan(token);
      expect(resource.write(waiting.value!.token)).toBe(true);
      expect(resource.write(token)).toBe(false);
      await waiter.release('lock');
    },
  );

  it.each([
    ['old', 0, 1],
    ['new', 1, 0],
  ])(
    'let the other version have the lock when the lease of a killed holder of the %s one has ended, not earlier',
    async (_, first, second) => {
      const name = uniqueName();
      await using dying = await start(builds[first]!);
      const { token } = await dying.acquire('lock', name, { lease: 1000 });
      await dying.kill();
      const { expiry } = (await view.holder(name))!;
      const next = await versions[second]!.acquire('lock', name, { wait: WAIT });
      expect(next.token).toBeGreaterThanOrEqual(expiry * 1000);
      expect(next.token).toBeGreaterThan(token);
      await versions[second]!.release('lock');
    },
  );

  // Fault 37: I1, I2
  it('lose no update of a counter that both add to, and keep their tokens in one order', async () => {
    const name = uniqueName();
    const accepted: Array<{ token: number; version: number }> = [];
    let counter = 0;
    await Promise.all(
      versions.map(async (version, index) => {
        for (let round = 0; round < ROUNDS; round++) {
          // By turns: neither runs all its rounds before the other has begun.
          await until('the other one', () => accepted.length === 0 || accepted.at(-1)!.version !== index);
          const { token } = await version.acquire('lock', name, { wait: WAIT });
          const before = counter;
          // A round trip to the process: time enough for the other one to come in between.
          expect(await version.state('lock')).toMatchObject({ isHeld: true, token });
          counter = before + 1;
          accepted.push({ token, version: index });
          await version.release('lock');
        }
      }),
    );
    expect(counter).toBe(2 * ROUNDS);
    const tokens = accepted.map(({ token }) => token);
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
  });

  it('recognize a lock of an unknown later layout, and report a key that is no lock', async () => {
    const name = uniqueName();
    const [key] = keys.forLock(name);
    await view.redis.set(key, 'an unknown record v17', 'PX', 60_000);
    await expect(versions[0]!.acquire('lock', name, { wait: 300 })).rejects.toMatchObject({
      code: 'LOCK_WAIT_TIMEOUT',
    });
    // A lock expires.
    await view.redis.persist(key);
    await expect(versions[0]!.acquire('lock', name, { wait: WAIT })).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
    });
    await view.redis.del(key);
    await versions[0]!.acquire('lock', name, { wait: WAIT });
    await versions[0]!.release('lock');
  });

  it('leave no key', async () => {
    for (const version of versions) expect(await version.end()).toEqual({ code: 0, unhandled: [] });
    await view.expectNothingLeft();
  });
});

describe('processes with ioredis 5 and with ioredis 6', () => {
  expectNoLeftovers();

  it('share one queue: each release hands the lock to the other', async () => {
    const name = uniqueName();
    await using five = await LockProcess.start({ redis: redis.url, ioredis5: true });
    await using six = await LockProcess.start({ redis: redis.url });
    let { token } = await five.acquire('lock', name);
    for (const [holder, waiter] of [
      [five, six],
      [six, five],
    ] as const) {
      const next = waiter.acquire('lock', name, { wait: WAIT });
      const [claim] = await view.queued(name, 1);
      await using monitor = await Monitor.of(view);
      await holder.release('lock');
      const granted = await next;
      await monitor.sync();
      expect(monitor.published).toEqual([claim]);
      expect(granted.token).toBeGreaterThan(token);
      ({ token } = granted);
    }
    await five.release('lock');
    for (const process of [five, six]) expect(await process.end()).toEqual({ code: 0, unhandled: [] });
    await view.expectNothingLeft();
  });
});
