import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { clusterKeySpace } from '../support/backends.js';
import { ClusterGroup } from '../support/cluster-group.js';
import type { RedisServer } from '../support/redis-server.js';
import { forkWorker } from '../support/worker.js';
import { Outcome, until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { LockProcess, type LockProcessOptions, type LockState } from './support/lock-process.js';
import { Locker, uniqueName } from './support/locker.js';
import { expectNoLeftovers } from './support/leftovers.js';
import { oneRedis } from './support/one-redis.js';
import { keys, type ServerView } from './support/server-view.js';

const WAIT = '15s';
/** A worker renews it after half: even on a busy machine in time. */
const lease = 2000;
const watched = { lease, renew: true, renewFrom: 'worker' } as const;

const files = mkdtempSync(join(tmpdir(), 'blocked-loop-'));
afterAll(() => rmSync(files, { recursive: true }));

/** Blocks the event loop of the process until `unblock`, whose result is what the process saw before its first await. */
async function block(process: LockProcess): Promise<() => Promise<LockState>> {
  const file = join(files, String(performance.now()));
  const looked = process.call<LockState>('lookWhenThere', { as: 'lock', file });
  await process.event('blocked');
  return () => {
    writeFileSync(file, '');
    return looked;
  };
}

describe('a process whose event loop is blocked, with a worker', () => {
  let redis: RedisServer;
  let view: ServerView;
  oneRedis((started) => ({ redis, view } = started));

  const start = (options: Partial<LockProcessOptions> = {}): Promise<LockProcess> =>
    LockProcess.start({ redis: redis.url, ...options });

  /** The lease in Redis was made longer by so many ms since now. */
  async function extended(name: string, by: number): Promise<void> {
    const { expiry } = (await view.holder(name))!;
    await until('the lease is longer', async () => (await view.holder(name))!.expiry >= expiry + by, 30_000);
  }

  // Fault 2: I1, I2, I3
  it('keeps a lock through three leases, and sees before its first await that it holds it', async () => {
    const name = uniqueName();
    const resource = new GuardedResource();
    await using holder = await start();
    await using waiter = await Locker.to(redis.url);
    const { token } = await holder.acquire('lock', name, watched);
    resource.write(token);
    const unblock = await block(holder);
    const next = new Outcome(waiter.acquire(name, { wait: '1m' }));
    await extended(name, 3 * lease);
    expect(await unblock()).toMatchObject({ isHeld: true, aborted: false });
    expect(next.settled).toBe(false);
    expect(resource.write(token)).toBe(true);
    // Awake, it renews by itself.
    await extended(name, lease);
    await holder.release('lock');
    await until('the next holder', () => next.settled);
    expect(resource.write(next.value!.fencingToken)).toBe(true);
    await next.value!.release();
    expect(await holder.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 2: I1, I2, I3, I5 lost
  it('loses a lock when it is blocked for longer than stallLimit, and sees that before its first await', async () => {
    const name = uniqueName();
    const resource = new GuardedResource();
    await using holder = await start({ stallLimit: 1000 });
    await using waiter = await Locker.to(redis.url);
    const { token } = await holder.acquire('lock', name, watched);
    resource.write(token);
    const unblock = await block(holder);
    const lock = await waiter.acquire(name, { wait: WAIT });
    expect(resource.write(lock.fencingToken)).toBe(true);
    const state = await unblock();
    expect(state).toMatchObject({ isHeld: false, aborted: true, code: 'LOCK_LOST', reason: 'expired' });
    expect(resource.write(state.token)).toBe(false);
    // Its release frees nothing.
    await holder.release('lock');
    expect(await view.holder(name)).toMatchObject({ token: lock.fencingToken });
    await lock.release();
    expect(await holder.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 1: I1, I3, I5 lost
  it('loses a lock when the whole process stands still past the lease, and leaves it to the next holder', async () => {
    const name = uniqueName();
    await using sleeper = await start();
    await using waiter = await Locker.to(redis.url);
    const { token } = await sleeper.acquire('lock', name, watched);
    sleeper.worker.pause();
    const lock = await waiter.acquire(name, { wait: WAIT });
    sleeper.worker.resume();
    expect(await sleeper.event<LockState>('aborted')).toMatchObject({ isHeld: false, reason: 'expired', token });
    expect(await view.holder(name)).toMatchObject({ token: lock.fencingToken });
    await sleeper.release('lock');
    await lock.release();
    expect(await sleeper.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 1: I3
  it('does not revive a lock by its worker when the whole process stood still past the lease, even if Redis still has it', async () => {
    const name = uniqueName();
    const other = uniqueName();
    await using sleeper = await start();
    await sleeper.acquire('lock', name, watched);
    await sleeper.acquire('other', other, { ...watched, lease: 4 * lease });
    const unblock = await block(sleeper);
    sleeper.worker.pause();
    // As after a step back of its clock.
    const [record] = keys.forLock(name);
    await view.redis.persist(record);
    const before = await view.holder(name);
    await until('the lease is over', () => Date.now() > before!.expiry);
    sleeper.worker.resume();
    // The worker works again.
    await extended(other, lease);
    expect(await view.holder(name)).toEqual(before);
    await view.redis.del(record);
    expect(await unblock()).toMatchObject({ isHeld: false, aborted: true, reason: 'expired' });
    await sleeper.release('lock');
    await sleeper.release('other');
    expect(await sleeper.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 38: I1, I3
  it.each(['terminate', 'error'] as const)(
    'keeps its locks when the worker dies (%s): the main thread renews, and another worker takes over',
    async (by) => {
      const name = uniqueName();
      await using holder = await start();
      const { token } = await holder.acquire('lock', name, watched);
      await holder.call('endThread', { by });
      await extended(name, 2 * lease);
      expect(await holder.call('logged')).toEqual([
        expect.stringMatching(/^Renewal worker: it has ended .* starts in 1000 ms\.$/),
      ]);
      await until('another worker', async () => (await holder.call<number>('threads')) === 2);
      // It gets the locks that are held, and connects.
      await until('its connection', async () => (await clients()) === 3);
      const unblock = await block(holder);
      await extended(name, 3 * lease);
      expect(await unblock()).toMatchObject({ isHeld: true, token });
      // One that dies again is followed after a longer pause.
      await holder.call('endThread', { by });
      expect(await holder.call('logged')).toEqual([expect.anything(), expect.stringMatching(/ starts in 2000 ms\.$/)]);
      await holder.release('lock');
      expect(await holder.end()).toEqual({ code: 0, unhandled: [] });
    },
  );

  // Fault 9: I1, I3, I5 lost
  it('keeps a lock through a short outage of Redis, and sees the loss after a long one', async () => {
    const name = uniqueName();
    await using holder = await start({ commandTimeout: 300 });
    await holder.acquire('lock', name, { ...watched, lease: 4000 });
    const unblock = await block(holder);
    const first = (await view.holder(name))!.expiry;
    redis.pause();
    await until('a renewal was due', () => Date.now() > first - 1700);
    redis.resume();
    await extended(name, 8000);
    expect(await unblock()).toMatchObject({ isHeld: true });
    const again = await block(holder);
    const { expiry } = (await view.holder(name))!;
    redis.pause();
    await until('the end of the lease', () => Date.now() > expiry);
    expect(await again()).toMatchObject({ isHeld: false, reason: 'expired' });
    redis.resume();
    await holder.release('lock');
    expect(await holder.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 2: I1, I3
  it('passes its lock to another process at the release, also while its worker renews', async () => {
    const name = uniqueName();
    await using holder = await start();
    await using other = await start();
    const { token } = await holder.acquire('lock', name, { ...watched, lease: 1000 });
    const next = other.acquire('lock', name, { ...watched, wait: WAIT });
    await view.queued(name, 1);
    // The worker's renewal is due.
    const unblock = await block(holder);
    await extended(name, 1);
    await Promise.all([unblock(), holder.release('lock')]);
    const { token: later } = await next;
    expect(later).toBeGreaterThan(token);
    const held = await block(other);
    await extended(name, 2 * lease);
    expect(await view.holder(name)).toMatchObject({ token: later });
    expect(await held()).toMatchObject({ isHeld: true });
    await other.release('lock');
    for (const process of [holder, other]) expect(await process.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 2: I1, I3
  it('keeps the locks of two applications in it, by a worker for each, which loads nothing that instruments the application', async () => {
    const name = uniqueName();
    const file = join(redis.directory, `${name}:there`);
    const loads = join(redis.directory, `${name}:loads`);
    const preload = (mark: string): string =>
      `data:text/javascript,import{appendFileSync}from'node:fs';appendFileSync(process.env.LOADS,'${mark}')`;
    await using worker = forkWorker('two-applications', {
      env: { REDIS_URL: redis.url, NAME: name, FILE: file, LOADS: loads, NODE_OPTIONS: `--import ${preload('a')}` },
      execArgv: ['--import', preload('b')],
    });
    expect(await worker.message()).toBe('blocked');
    await Promise.all([extended(`${name}:1`, 6000), extended(`${name}:2`, 6000)]);
    writeFileSync(file, '');
    expect(await worker.message()).toEqual({ held: [true, true] });
    // By the process, and by no thread.
    expect(readFileSync(loads, 'utf8')).toMatch(/^(ab|ba)$/);
    expect(await worker.exited).toEqual({ code: 0, signal: null });
  });

  async function clients(): Promise<number> {
    const list = (await view.redis.client('LIST')) as string;
    return list.split('\n').filter((line) => line !== '').length;
  }
});

describe('a process whose event loop is blocked, with a worker, in a cluster', () => {
  expectNoLeftovers();

  // Fault 28: I1, I3
  it('keeps a lock whose slot moves to another node in that time', async () => {
    const keys = clusterKeySpace('lock:');
    const name = uniqueName();
    const slot = keys.slotOf(name);
    await using group = await ClusterGroup.start();
    const owner = await group.ownerOf(slot);
    const target = group.masters.find((master) => master !== owner)!;
    await using holder = await LockProcess.start({ redis: '', cluster: group.masters.map(({ port }) => port) });
    await holder.acquire('lock', name, watched);
    const unblock = await block(holder);
    await group.move(slot, target, async () => undefined);
    const end = async (): Promise<number> =>
      Number((await group.admin(target).get(keys.forLock(name)[0]))?.split(' ')[2] ?? 0);
    const first = await until('the lock in its new place', end);
    await until('the lease is longer', async () => (await end()) >= first + 3 * lease, 30_000);
    expect(await unblock()).toMatchObject({ isHeld: true, aborted: false });
    await holder.release('lock');
    expect(await holder.end()).toEqual({ code: 0, unhandled: [] });
  });
});
