import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Leadership } from 'nestjs-redis-lock/backend';
import { SentinelGroup } from '../support/sentinel-group.js';
import { until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { LockProcess } from './support/lock-process.js';
import { expectNoLeftovers } from './support/leftovers.js';
import { Locker, uniqueName } from './support/locker.js';
import { redisOfEachTest } from './support/one-redis.js';
import { ServerView } from './support/server-view.js';

interface LeaderState {
  readonly isLeader: boolean;
  readonly aborted: boolean;
  readonly code?: string;
  readonly reason?: string;
  readonly epoch: number;
}

/** A candidate of another process. */
async function standElsewhere(process: LockProcess, name: string, lease: number): Promise<void> {
  await process.call('campaign', { name, lease });
}
const elected = async (process: LockProcess): Promise<number> =>
  (await process.event<{ epoch: number }>('elected')).epoch;

/** A candidate of this process: leads until its signal aborts. */
function stand(locker: Locker, name: string, lease: number) {
  const election = locker.election(name);
  const terms: Leadership[] = [];
  void election.campaign(
    async (leadership) => {
      terms.push(leadership);
      await once(leadership.signal, 'abort');
    },
    { lease },
  );
  return { election, terms, term: (number: number) => until(`term ${number}`, () => terms[number - 1], 20_000) };
}

describe('a leader', () => {
  const start = redisOfEachTest();

  it('that is killed is followed when its lease ends, not earlier, by a process with a larger epoch', async () => {
    const { redis, view } = await start();
    const name = uniqueName();
    const resource = new GuardedResource();
    await using dying = await LockProcess.start({ redis: redis.url });
    await using living = await Locker.to(redis.url);
    await standElsewhere(dying, name, 1500);
    const epoch = await elected(dying);
    resource.write(epoch);
    const { election, term } = stand(living, name, 1500);
    await view.queued(name, 1);
    await dying.kill();
    const { expiry } = (await view.holder(name))!;
    const next = await term(1);
    // The epoch is the server's time at the grant, in µs.
    expect(next.epoch).toBeGreaterThanOrEqual(expiry * 1000);
    expect(resource.write(next.epoch)).toBe(true);
    expect(resource.write(epoch)).toBe(false);
    expect(election.isLeader).toBe(true);
    await living.client.shutdown(1000);
  });

  it('that is stopped past its lease learns it before its first await, its epoch is refused, and it stands again', async () => {
    const { redis, view } = await start();
    const name = uniqueName();
    const resource = new GuardedResource();
    await using sleeper = await LockProcess.start({ redis: redis.url });
    await using living = await Locker.to(redis.url);
    await standElsewhere(sleeper, name, 1500);
    const epoch = await elected(sleeper);
    resource.write(epoch);
    const { election, term } = stand(living, name, 1500);
    await view.queued(name, 1);
    const file = join(redis.directory, name);
    const looked = sleeper.call<LeaderState>('lookAtLeaderWhenThere', { name, file });
    await sleeper.event('blocked');
    sleeper.worker.pause();
    const next = await term(1);
    expect(resource.write(next.epoch)).toBe(true);
    writeFileSync(file, '');
    sleeper.worker.resume();
    expect(await looked).toEqual({ isLeader: false, aborted: true, code: 'LOCK_LOST', reason: 'expired', epoch });
    expect(resource.write(epoch)).toBe(false);
    expect(election.isLeader).toBe(true);
    // It is in line again.
    await view.queued(name, 1);
    next.resign();
    expect(await elected(sleeper)).toBeGreaterThan(next.epoch);
    await living.client.shutdown(1000);
    expect(await sleeper.end()).toEqual({ code: 0, unhandled: [] });
  });

  it('that Redis forgot, restarted empty, learns it by its next renewal: until then two may believe, and one epoch is refused', async () => {
    const { redis, view } = await start();
    const name = uniqueName();
    const resource = new GuardedResource();
    await using elsewhere = await LockProcess.start({ redis: redis.url });
    await using here = await Locker.to(redis.url);
    await standElsewhere(elsewhere, name, 3000);
    const epoch = await elected(elsewhere);
    resource.write(epoch);
    const { terms } = stand(here, name, 3000);
    await view.queued(name, 1);
    await redis.restart({ empty: true });
    // One of the two; the other one waits.
    const down = await elsewhere.event<LeaderState>('stepped down');
    expect(down).toMatchObject({ isLeader: false, aborted: true, code: 'LOCK_LOST', reason: 'revoked', epoch });
    let again: number | undefined;
    elected(elsewhere).then(
      (its) => (again = its),
      () => undefined,
    );
    const next = await until('a leader', () => terms[0]?.epoch ?? again);
    expect(next).toBeGreaterThan(epoch);
    expect(resource.write(next)).toBe(true);
    expect(resource.write(epoch)).toBe(false);
    expect(await elsewhere.end(1000)).toEqual({ code: 0, unhandled: [] });
    await here.client.shutdown(1000);
  });

  it('steps down at the end of its lease while Redis is away, and candidates lead when it is back', async () => {
    const { redis } = await start();
    const name = uniqueName();
    await using here = await Locker.to(redis.url, { commandTimeout: 300 });
    const { election, term } = stand(here, name, 1500);
    const first = await term(1);
    redis.pause();
    if (!first.signal.aborted) await once(first.signal, 'abort');
    expect(election.isLeader).toBe(false);
    expect(first.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    redis.resume();
    expect((await term(2)).epoch).toBeGreaterThan(first.epoch);
    await here.client.shutdown(1000);
  });
});

describe('a leader on a master that Sentinel replaces', () => {
  let group: SentinelGroup;

  beforeEach(async () => {
    group = await SentinelGroup.start();
  });
  afterEach(() => group.stop());
  // After the hook above: the test's own connection is no leftover.
  expectNoLeftovers();

  it('and that no replica has, learns it by its first renewal there: until then two may believe, and one epoch is refused', async () => {
    const name = uniqueName();
    const resource = new GuardedResource();
    await using one = await Locker.to(group.connection);
    await using other = await Locker.to(group.connection);
    const master = await group.master();
    await group.cutReplicas();
    const first = stand(one, name, 20_000);
    const before = await first.term(1);
    expect(resource.write(before.epoch)).toBe(true);
    const second = stand(other, name, 20_000);
    await using view = await ServerView.of(master);
    await until('it waits', async () => (await view.queue(name)).length === 1);
    await master.kill();
    await group.masterLost();
    const after = await second.term(1);
    expect(after.epoch).toBeGreaterThan(before.epoch);
    expect(resource.write(after.epoch)).toBe(true);
    if (!before.signal.aborted) await once(before.signal, 'abort');
    // By a reply, and so before its lease was over.
    expect(before.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(resource.write(before.epoch)).toBe(false);
    expect([first.election.isLeader, second.election.isLeader]).toEqual([false, true]);
    await Promise.all([one.client.shutdown(1000), other.client.shutdown(1000)]);
  });
});
