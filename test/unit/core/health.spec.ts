import { describe, expect, it } from '@jest/globals';
import { LockConfigurationError } from '../../../lib/errors/lock-errors.js';
import { deferred, unanswered } from '../../support/scripted-backend.js';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient } from './virtual-client.js';

describe('the health of a client', () => {
  it('is checked by a lock of its own that has a short lease and is released at once', async () => {
    const v = new VirtualClient();
    await v.operators.health.check();
    const [{ name, lease, enqueue }] = v.backend.acquired as [(typeof v.backend.acquired)[0]];
    expect(name).toMatch(/^health-check:/);
    expect({ lease, enqueue }).toEqual({ lease: 5_000, enqueue: false });
    expect(v.backend.released.map((claim) => claim.name)).toEqual([name]);
    expect(v.operators.health.problems()).toEqual([]);
    expect(v.client.counts).toEqual({ held: 0, waiting: 0 });
  });

  it('asks the backend nothing within five seconds of a grant or a renewal', async () => {
    const v = new VirtualClient();
    await v.acquire('a', { lease: '12s', renew: true });
    await v.operators.health.check();
    await v.clock.advance(8_999);
    await v.operators.health.check();
    expect(v.backend.acquired.map(({ name }) => name)).toEqual(['a']);
    expect(v.operators.health.lastReply).toBe(999);
  });

  it('asks the backend when the last grant is five seconds old', async () => {
    const v = new VirtualClient();
    await v.acquire('a');
    await v.clock.advance(5_000);
    await v.operators.health.check();
    expect(v.backend.acquired).toHaveLength(2);
  });

  it('asks the backend when a call has failed since the last grant', async () => {
    const v = new VirtualClient();
    await v.acquire('a');
    v.backend.onAcquire = () => Promise.reject(unanswered());
    await expect(v.acquire('b', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await expect(v.operators.health.check()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });

  it('asks the backend when a renewal got no reply', async () => {
    const v = new VirtualClient();
    v.backend.onRenew = () => ['unanswered'];
    await v.acquire('a', { lease: '6s', renew: true });
    await v.clock.advance(2_000);
    await v.operators.health.check();
    expect(v.backend.acquired).toHaveLength(2);
  });

  it('asks the backend while a server is away', async () => {
    const v = new VirtualClient();
    await v.acquire('a');
    Object.assign(v.backend, { availability: () => [1, 2].map((node) => [String(node), node === 1]) });
    await v.operators.health.check();
    expect(v.backend.acquired).toHaveLength(2);
    expect(v.operators.health.problems()).toEqual(['server_away']);
  });

  it('takes a lock of 5 seconds at most, or of the lease of the application if that is shorter', async () => {
    const leases = [6_000, 900].map(async (lease) => {
      const v = new VirtualClient({ lease });
      await v.operators.health.check();
      return v.backend.acquired.map((probe) => probe.lease);
    });
    expect(await Promise.all(leases)).toEqual([[5_000], [900]]);
  });

  it('gives the backend commandTimeout for the lock that it takes, and knows the answer for 5 seconds', async () => {
    const v = new VirtualClient();
    expect(v.operators.health.lastReply).toBeUndefined();
    await v.operators.health.check();
    expect(v.backend.acquired[0]!.giveUpAt).toBe(v.clock.now() + v.backend.commandTimeout);
    await v.clock.advance(4_999);
    await v.operators.health.check();
    expect(v.backend.acquired).toHaveLength(1);
    expect(v.operators.health.lastReply).toBe(4_999);
  });

  it('does not count a lock that one caller passed to the next inside the process as a grant', async () => {
    const v = new VirtualClient();
    const first = await v.acquire('a', { lease: '60s' });
    const [second, third] = [v.acquire('a', { lease: '60s' }), v.acquire('a', { lease: '60s' })];
    await first.release();
    await second;
    await v.clock.advance(4_000);
    await (await second).release();
    await third;
    expect(v.backend.acquired.map(({ name }) => name)).toEqual(['a', 'a']);
    await v.clock.advance(1_000);
    await v.operators.health.check();
    expect(v.backend.acquired).toHaveLength(3);
  });

  it('sends one probe for all who ask at once', async () => {
    const v = new VirtualClient();
    const reply = deferred<ReturnType<typeof v.backend.grant>>();
    v.backend.onAcquire = () => reply.promise;
    const checks = [1, 2, 3].map(() => v.operators.health.check());
    await settled();
    reply.resolve(v.backend.grant(5_000));
    await Promise.all(checks);
    expect(v.backend.acquired).toHaveLength(1);
  });

  it('rejects with the refusal of the backend', async () => {
    const v = new VirtualClient();
    v.backend.onAcquire = () => Promise.reject(new LockConfigurationError('NOPERM'));
    await expect(v.operators.health.check()).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  });

  it('is checked at each node of a cluster, and impaired while some of them grant nothing', async () => {
    const v = new VirtualClient();
    const nodeOf = (name: string): number => name.charCodeAt(name.length - 1) % 3;
    Object.assign(v.backend, { nodeOf, availability: () => [0, 1, 2].map((node) => [String(node), true]) });
    v.backend.onAcquire = ({ name, lease }) =>
      nodeOf(name) === 1 ? Promise.reject(unanswered()) : v.backend.grant(lease);
    await v.operators.health.check();
    expect(new Set(v.backend.acquired.map(({ name }) => nodeOf(name)))).toEqual(new Set([0, 1, 2]));
    expect(v.operators.health.problems()).toEqual(['server_away']);
    v.backend.onAcquire = () => Promise.reject(unanswered());
    await expect(v.operators.health.check()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    v.backend.onAcquire = ({ lease }) => v.backend.grant(lease);
    await v.operators.health.check();
    expect(v.operators.health.problems()).toEqual([]);
  });

  it('is checked at each node of a cluster when a call has failed at one, though another one goes on granting', async () => {
    const v = new VirtualClient();
    const nodeOf = (name: string): number => name.charCodeAt(name.length - 1) % 3;
    Object.assign(v.backend, { nodeOf, availability: () => [0, 1, 2].map((node) => [String(node), true]) });
    // As on a node that is full: it can be reached.
    v.backend.onAcquire = ({ name, lease }) =>
      nodeOf(name) === 1 ? Promise.reject(unanswered()) : v.backend.grant(lease);
    await expect(v.acquire('1', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await v.acquire('0');
    await v.operators.health.check();
    expect(v.operators.health.problems()).toEqual(['server_away']);
    v.backend.onAcquire = ({ lease }) => v.backend.grant(lease);
    await v.operators.health.check();
    expect(v.operators.health.problems()).toEqual([]);
    const asked = v.backend.acquired.length;
    await v.operators.health.check();
    expect(v.backend.acquired).toHaveLength(asked);
  });

  it('is impaired for a minute after a lock was revoked', async () => {
    const v = new VirtualClient();
    await v.clock.advance(3_600_000);
    await v.acquire('a', { lease: '3s', renew: true });
    v.backend.onRenew = (all) => all.map(() => 'lost');
    await v.clock.advance(1_000);
    expect(v.operators.health.problems()).toEqual(['lock_lost']);
    await v.clock.advance(60_000);
    expect(v.operators.health.problems()).toEqual([]);
  });

  it('is impaired while a renewal is late by half of the lease, and no more when it has come', async () => {
    const v = new VirtualClient();
    const { onRenew } = v.backend;
    v.backend.onRenew = () => ['unanswered'];
    await v.acquire('a', { lease: '12s', renew: true });
    await v.clock.advance(9_900);
    await v.operators.health.check();
    expect(v.operators.health.problems()).toEqual([]);
    await v.clock.advance(100);
    expect(v.operators.health.problems()).toEqual(['renewal_overdue']);
    v.backend.onRenew = onRenew;
    await v.clock.advance(250);
    expect(v.operators.health.problems()).toEqual([]);
  });

  it('is not impaired by a fixed lease that ends soon, or by a grant that is not confirmed yet', async () => {
    const v = new VirtualClient();
    await v.acquire('a', { lease: '7s', renew: false });
    await v.clock.advance(6_000);
    v.letWait();
    const pushed = v.acquire('b', { lease: '60s', renew: true });
    await settled();
    v.backend.onRenew = () => new Promise(() => undefined);
    v.push();
    await pushed;
    await v.clock.advance(500);
    expect(v.operators.health.problems()).toEqual([]);
  });

  it.each([
    ['expired', 60_000, ['lock_lost']],
    ['max-hold', 2_000, []],
  ])('after a loss with reason %s (maxHold %s) has for a minute the problems %j', async (reason, maxHold, problems) => {
    const v = new VirtualClient();
    const lock = await v.acquire('a', { lease: '3s', renew: false, maxHold });
    await v.clock.advance(3_000);
    expect(lock.lost).toMatchObject({ reason });
    await v.operators.health.check();
    expect(v.operators.health.problems()).toEqual(problems);
    await v.clock.advance(60_000);
    expect(v.operators.health.problems()).toEqual([]);
  });

  it('is impaired while messages do not arrive', () => {
    const v = new VirtualClient();
    v.client.observation.answered(v.clock.now());
    Object.assign(v.backend, { isPolling: true });
    expect(v.operators.health.problems()).toEqual(['no_messages']);
  });

  it('shows how many locks are held, since when the oldest one is, and how many callers wait', async () => {
    const v = new VirtualClient();
    expect(v.operators.health.oldestHold).toBeUndefined();
    await v.acquire('a');
    await v.clock.advance(1_000);
    await v.acquire('b');
    const waiting = v.acquire('b');
    waiting.catch(() => undefined);
    await v.clock.advance(500);
    expect(v.client.counts).toEqual({ held: 2, waiting: 1 });
    expect(v.operators.health.oldestHold).toBe(1_500);
  });
});
