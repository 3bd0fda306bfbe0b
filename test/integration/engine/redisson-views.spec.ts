import { describe, expect, it } from '@jest/globals';
import { java } from '../../support/redisson-backends.js';
import { RedissonBench } from './redisson-bench.js';

const bench = new RedissonBench();
/** The field of another thread. */
const other = `${java}8`;

describe('a view in the format of Redisson', () => {
  it('shows a lock that minHold keeps, its rest and its age', async () => {
    const { fencingToken } = await bench.take('a:1');
    await bench.backend.release({ name: bench.name, id: 'a:1', keepUntil: performance.now() + 60_000 });
    const { kind, holders, waiters } = await bench.backend.inspect(bench.name, 10);
    expect({ kind, waiters }).toEqual({ kind: 'exclusive', waiters: [] });
    expect(holders).toEqual([
      {
        id: 'a:1',
        fencingToken,
        heldFor: expect.any(Number),
        leaseLeft: expect.any(Number),
        state: 'kept',
        permits: 1,
      },
    ]);
    expect(holders[0]!.leaseLeft).toBeGreaterThan(30_000);
    expect(holders[0]!.heldFor).toBeLessThan(60_000);
  });

  it('shows no time for a holder whose token is counted, not even to a client with own tokens', async () => {
    const { fencingToken } = await bench.take('a:1', {}, bench.fenced);
    expect(fencingToken).toBe(1);
    for (const each of [bench.backend, bench.fenced])
      expect((await each.inspect(bench.name, 1)).holders).toMatchObject([{ fencingToken: 1, heldFor: undefined }]);
    expect(await bench.backend.acquire(bench.request('b:1'))).toMatchObject({
      holder: { fencingToken: 1, heldFor: undefined },
    });
  });

  it('shows no time either where the counter was set to go on above tokens of this library', async () => {
    await bench.redis.set(`redisson_lock_token:{${bench.name}}`, Date.now() * 1000);
    await bench.take('a:1', {}, bench.fenced);
    expect((await bench.fenced.inspect(bench.name, 1)).holders).toMatchObject([{ heldFor: undefined }]);
    expect(await bench.fenced.acquire(bench.request('b:1'))).toMatchObject({ holder: { heldFor: undefined } });
  });

  it('shows a read lock of Java as shared, a write lock as exclusive, and not its mode', async () => {
    for (const [mode, kind] of [
      ['read', 'shared'],
      ['write', 'exclusive'],
    ]) {
      await bench.lockInJava({ mode: mode! });
      expect(await bench.backend.inspect(bench.name, 1)).toMatchObject({
        kind,
        holders: [{ id: java, fencingToken: undefined }],
      });
    }
  });

  it('of a lock that is free has no kind', async () => {
    expect(await bench.backend.inspect(bench.name, 1)).toMatchObject({ kind: undefined, holders: [] });
  });

  it('shows the mode that is all that is left of a read or write lock: it keeps callers out', async () => {
    for (const [mode, kind] of [
      ['read', 'shared'],
      ['write', 'exclusive'],
    ] as const) {
      await bench.redis.hset(bench.name, 'mode', mode);
      expect(await bench.backend.inspect(bench.name, 1)).toMatchObject({ kind, holders: [{ id: 'mode' }] });
      await expect(bench.take('a:1')).rejects.toMatchObject({ code: 'LOCK_KIND_MISMATCH' });
    }
    await bench.redis.del(bench.name);
  });

  it('of a key without an expiry shows a lease that never ends', async () => {
    await bench.lockInJava();
    await bench.redis.persist(bench.name);
    expect(await bench.backend.inspect(bench.name, 1)).toMatchObject({ holders: [{ id: java, leaseLeft: Infinity }] });
    await bench.redis.del(bench.name);
  });
});

describe('a forced release in the format of Redisson', () => {
  it('leaves the field of a read lock that Java took on the same name', async () => {
    const { fencingToken } = await bench.take('a:1');
    await bench.redis.hset(bench.name, { mode: 'read', [java]: 1 });
    expect(await bench.backend.revoke(bench.name, [{ id: 'a:1', fencingToken }])).toEqual(['a:1']);
    expect(Object.keys(await bench.redis.hgetall(bench.name)).sort()).toEqual([java, 'mode'].sort());
  });

  it('takes the named holder alone, and removes a mode that is left', async () => {
    await bench.lockInJava({ mode: 'read', [other]: '1' });
    expect(await bench.backend.revoke(bench.name, [{ id: 'mode', fencingToken: undefined }])).toEqual([]);
    expect(await bench.backend.revoke(bench.name, [{ id: java, fencingToken: undefined }])).toEqual([java]);
    expect(Object.keys(await bench.redis.hgetall(bench.name)).sort()).toEqual([other, 'mode'].sort());
    expect(await bench.backend.revoke(bench.name, [{ id: other, fencingToken: undefined }])).toEqual([other]);
    expect(await bench.redis.exists(bench.name)).toBe(0);
    expect(await bench.messages()).toEqual(['0', '0', '7']);
  });

  it('of the last reader or writer tells those that wait for a read or write lock, once', async () => {
    await bench.listener.subscribe(`redisson_rwlock:{${bench.name}}`);
    await bench.lockInJava({ mode: 'read', [other]: '1' });
    await bench.backend.revoke(bench.name, [{ id: java, fencingToken: undefined }]);
    // Of the lock's own channel.
    expect(await bench.messages()).toEqual(['0', '7']);
    bench.heard = [];
    await bench.backend.revoke(bench.name, [{ id: other, fencingToken: undefined }]);
    expect(await bench.messages()).toEqual(['0', '1', '7']);
  });

  it('takes a mode that is all that is left, and tells those that wait', async () => {
    await bench.listener.subscribe(`redisson_rwlock:{${bench.name}}`);
    await bench.redis.hset(bench.name, 'mode', 'read');
    expect(await bench.backend.revoke(bench.name, [{ id: 'mode', fencingToken: undefined }])).toEqual(['mode']);
    expect(await bench.redis.exists(bench.name)).toBe(0);
    expect(await bench.messages()).toEqual(['0', '1', '7']);
  });

  it('takes each reader, writer and reactive thread by its own field', async () => {
    for (const field of [`${java}:write`, java.replace(/19$/, '-3541774862152233910')]) {
      await bench.lockInJava({ [field]: '1' });
      expect(await bench.backend.revoke(bench.name, [{ id: field, fencingToken: undefined }])).toEqual([field]);
      expect(await bench.redis.hkeys(bench.name)).toEqual([java]);
    }
  });

  it('takes nothing by another token, or by none', async () => {
    const { fencingToken } = await bench.take('a:1');
    for (const wrong of [fencingToken - 1, undefined])
      expect(await bench.backend.revoke(bench.name, [{ id: 'a:1', fencingToken: wrong }])).toEqual([]);
    expect(await bench.redis.hlen(bench.name)).toBe(1);
  });
});
