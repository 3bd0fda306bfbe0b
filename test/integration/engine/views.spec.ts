import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { Lock } from 'nestjs-redis-lock/backend';
import { keySpace } from '../../support/backends.js';
import type { RedisServer } from '../../support/redis-server.js';
import { Engine, unique } from './engine.js';
import { serverOfDescribe } from './server-of-describe.js';

describe('inspect, list and forceRelease on Redis', () => {
  let server: RedisServer;
  let admin: Redis;

  serverOfDescribe((started) => ({ server, admin } = started));

  const commands = async (): Promise<Record<string, number>> => {
    const stats = await admin.info('commandstats');
    return Object.fromEntries(
      [...stats.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)].map(([, name, count]) => [name!, Number(count)]),
    );
  };

  /** Holds a lock, and is subscribed, as it has waited before. */
  const listeningHolder = async (): Promise<{ engine: Engine; lock: Lock; claim: string; name: string }> => {
    const engine = await Engine.start({ redis: server.url });
    await using other = await Engine.start({ redis: server.url });
    const name = unique();
    const first = await other.acquire(name);
    // A fixed lease: only a message makes it ask before its end.
    const { lock: waiting } = await engine.queue(name, { lease: '10m' });
    await first.release();
    const lock = await waiting;
    await lock.renew();
    return { engine, lock, name, claim: engine.backend.acquires.at(-1)!.id };
  };

  it('notify a subscribed holder at once that its lock was released by force: it sends one renewal, and its signal aborts', async () => {
    const { engine, lock, name } = await listeningHolder();
    await using holder = engine;
    await using operator = await Engine.start({ redis: server.url });
    const before = holder.backend.renewals.length;
    const aborted = new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
    expect(await operator.operators.views.forceRelease(name)).toBe(true);
    await aborted;
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked', key: name });
    expect(holder.backend.renewals.slice(before).map(({ replies }) => replies)).toEqual([['lost']]);
  });

  it('ignore a message that is false, late or sent twice: the holder sends a renewal, and goes on', async () => {
    const { engine, lock, name, claim } = await listeningHolder();
    await using holder = engine;
    const keys = keySpace('lock:');
    const channel = keys.channels + claim.split(':')[0]!;
    const [record] = keys.forLock(name);
    const before = holder.backend.renewals.length;
    for (const message of [`revoked ${claim} ${record}`, `revoked ${claim} ${record}`, 'revoked x', 'revoked', ''])
      expect(await admin.publish(channel, message)).toBe(1);
    await holder.backend.until(() => holder.backend.renewals.filter(({ replies }) => replies).length >= before + 2);
    expect(holder.backend.renewals).toHaveLength(before + 2);
    expect(lock.isHeld).toBe(true);
    expect(lock.signal.aborted).toBe(false);
    await lock.release();
    expect(lock.signal.aborted).toBe(false);
  });

  it('release by force with one inspect and one command, which grants the lock to the next waiter and notifies both', async () => {
    const { engine, name, lock: deprived } = await listeningHolder();
    await using holder = engine;
    await using next = await Engine.start({ redis: server.url });
    await using operator = await Engine.start({ redis: server.url });
    const { lock } = await next.queue(name);
    const asked = next.backend.requests;
    await admin.config('RESETSTAT');
    expect(await operator.operators.views.forceRelease(name)).toBe(true);
    await lock;
    expect(next.backend.requests).toBe(asked);
    const { evalsha, publish } = await commands();
    // The inspect, the command, and perhaps already the renewal of the former holder.
    expect([2, 3]).toContain(evalsha);
    expect(publish).toBe(2);
    await holder.backend.until(() => !deprived.isHeld);
  });

  it('publish each release by force on a channel: which lock, who released it and why, and who held it', async () => {
    await using holder = await Engine.start({ redis: server.url });
    await using operator = await Engine.start({ redis: server.url });
    const name = unique();
    const lock = await holder.acquire(name);
    const told: unknown[] = [];
    const listen = (message: unknown): void => void told.push(message);
    subscribe('nestjs-redis-lock:force-released', listen);
    await operator.operators.views.forceRelease(name, { actor: 'anna@example.com', reason: 'hangs' });
    await operator.operators.views.forceRelease(name);
    unsubscribe('nestjs-redis-lock:force-released', listen);
    const process_ = { host: expect.any(String), pid: process.pid, client: expect.stringMatching(/^.{5}$/) };
    expect(told).toEqual([
      {
        key: name,
        template: '*',
        connection: 'default',
        kind: 'exclusive',
        method: undefined,
        by: process_,
        actor: 'anna@example.com',
        reason: 'hangs',
        holders: [expect.objectContaining({ ...process_, method: undefined, fencingToken: lock.fencingToken })],
      },
    ]);
    expect(operator.log.lines).toEqual([expect.stringMatching(/^warn Lock 'engine:.*' was released by force, by /)]);
  });

  it('list 10,000 locks in steps of bounded size, between which Redis serves others, and no further than it is read', async () => {
    await using a = await Engine.start({ redis: server.url, keyPrefix: 'many:' });
    const root = unique();
    for (let first = 0; first < 10_000; first += 1000) {
      await Promise.all(Array.from({ length: 1000 }, (_, index) => a.acquire(`${root}:${first + index}`)));
    }
    await admin.config('RESETSTAT');
    const found: string[] = [];
    for await (const name of a.operators.views.list({ startsWith: root })) {
      if (found.push(name) === 5000) await a.acquire(`in between:${root}`, { wait: 0 });
    }
    expect(new Set(found)).toHaveProperty('size', 10_000);
    expect(found).toHaveLength(10_000);
    const { scan, keys } = await commands();
    expect(keys).toBeUndefined();
    // 250 keys a step; the server may scan empty slots of its table.
    expect(scan).toBeGreaterThanOrEqual(40);
    expect(scan).toBeLessThan(200);

    await admin.config('RESETSTAT');
    for await (const name of a.operators.views.list()) {
      expect(name).toContain(root);
      break;
    }
    expect((await commands())['scan']).toBeLessThanOrEqual(2);
  });

  it('report a key that is no lock, and take a prefix literally', async () => {
    await using a = await Engine.start({ redis: server.url, keyPrefix: 'a*[b]?:' });
    const name = unique();
    await a.acquire(name);
    const [foreign] = keySpace('a*[b]?:').forLock('foreign');
    await admin.hset(foreign, 'x', 1);
    await admin.set(keySpace('aXb0:').forLock('other')[0], 'x');
    await expect(a.operators.views.inspect('foreign')).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      key: 'foreign',
    });
    const names: string[] = [];
    for await (const one of a.operators.views.list()) names.push(one);
    expect(names.sort()).toEqual([name, 'foreign'].sort());
  });
});
