import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryLockBackend } from '../../../lib/backends/memory/index.js';
import { countsUntil, majorityOf, reachedBy } from '../../../lib/backends/quorum/quorum-rules.js';
import { QuorumBackend, type QuorumBackendOptions } from '../../../lib/backends/quorum/quorum-backend.js';
import type { LockBackend } from '../../../lib/core/lock-backend.js';
import { LockHandle } from '../../../lib/core/lock-handle.js';
import { LockConfigurationError, LockError, LockKindMismatchError } from '../../../lib/errors/lock-errors.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { runAhead, VirtualQuorum } from './virtual-quorum.js';

let quorum: VirtualQuorum | undefined;

afterEach(async () => {
  for (const { client } of quorum?.clients ?? []) await quorum!.clock.until(client.shutdown(0));
  quorum = undefined;
});

describe('the arithmetic of a quorum', () => {
  it('any two majorities share a node', () => {
    expect([3, 5, 7, 9].map(majorityOf)).toEqual([2, 3, 4, 5]);
    for (const nodes of [3, 5, 7]) expect(2 * majorityOf(nodes)).toBeGreaterThan(nodes);
  });

  it('the value of a majority is the smallest one of its best nodes', () => {
    expect(reachedBy([5, 9, 7], 2)).toBe(7);
    expect(reachedBy([5, 9, 7, 7, 1], 3)).toBe(7);
    expect(reachedBy([5], 2)).toBe(Number.NEGATIVE_INFINITY);
  });

  it('a vote counts for its lease minus 1 % of it and 2 ms', () => {
    // A node's own bound: 0.1 % and 2 ms before the end.
    const bound = 10_000 - 10 - 2;
    expect(countsUntil(bound, 10_000)).toBeCloseTo(10_000 - 100 - 2);
  });
});

describe('the lease of a lock over a quorum', () => {
  /** The certain lease that is left, by the time that a majority needed to answer. */
  const remaining = async (lease: number, delays: number[]) => {
    quorum = new VirtualQuorum(delays.length);
    const client = await quorum.join();
    client.nodes.forEach((node, position) => (node.wayBack = delays[position]!));
    return (await quorum.clock.until(client.acquire('a', { lease }))).leaseLeft;
  };

  it('is the lease minus the time that a majority took, minus the drift', async () => {
    expect(await remaining(10_000, [0, 0, 0])).toBeCloseTo(10_000 - 102);
    expect(await remaining(10_000, [0, 40, 90])).toBeCloseTo(10_000 - 102 - 40);
    expect(await remaining(10_000, [0, 0, 40, 40, 90])).toBeCloseTo(10_000 - 102 - 40);
  });

  it('that is used up when a majority has replied grants no lock, and every vote is released', async () => {
    quorum = new VirtualQuorum(3);
    const [client, other] = [await quorum.join(), await quorum.join()];
    for (const node of client.nodes) node.fault = 'slow';
    await expect(quorum.clock.until(client.acquire('a', { lease: 50, wait: 0 }))).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
    for (const node of client.nodes) node.fault = 'none';
    await quorum.clock.advance(100);
    await quorum.clock.until(other.acquire('a', { wait: 0 }));
  });
});

describe('a quorum whose event loop stands still', () => {
  it('at any reading of its clock gives a lock or a lock error', async () => {
    const lease = 1_000;
    for (let stall = 1; stall <= 150; stall++) {
      quorum = new VirtualQuorum(3);
      const { clock } = quorum;
      const client = await quorum.join();
      // The second round of an election, too: the tokens of the nodes differ.
      runAhead(quorum.servers[0]!, 1_000_000);
      let readings = 0;
      const now = (): number => VirtualClock.prototype.now.call(clock);
      clock.now = () => now() + (++readings > stall ? lease : 0);
      const outcome = await clock.until(client.acquire('a', { lease, wait: 0 }).catch((error: unknown) => error));
      expect([stall, outcome instanceof LockHandle || outcome instanceof LockError]).toEqual([stall, true]);
      await clock.until(client.client.shutdown(0));
    }
  });
});

describe('a quorum is refused at once', () => {
  const nodes = (count: number): LockBackend[] => Array.from({ length: count }, () => new MemoryLockBackend());
  const refused = (options: Partial<QuorumBackendOptions>): string => {
    try {
      void new QuorumBackend({ nodes: nodes(3), log: new KeptLog(), ...options });
    } catch (error) {
      expect(error).toBeInstanceOf(LockConfigurationError);
      return (error as Error).message;
    }
    throw new Error('it was accepted');
  };

  it.each([0, 1, 2])('of %i nodes, with the solution', (count) => {
    expect(refused({ nodes: nodes(count) })).toMatch(
      /3, 5 or 7 independent servers.*option redis\) instead, or add more/,
    );
  });

  it.each([4, 6])('of %i nodes: one less tolerates as many failures', (count) => {
    expect(refused({ nodes: nodes(count) })).toContain('An even number tolerates no more failures than one less');
  });

  it('when one server is given twice', () => {
    const [a, b] = nodes(2) as [LockBackend, LockBackend];
    expect(refused({ nodes: [a, b, a] })).toContain('is in the list twice');
    const labelled = (label: string): LockBackend => Object.assign(new MemoryLockBackend(), { label });
    expect(refused({ nodes: ['one', 'two', 'one'].map(labelled) })).toContain('one is in the list twice');
  });

  it('but not with 3, 5 or 7 nodes', () => {
    for (const count of [3, 5, 7]) void new QuorumBackend({ nodes: nodes(count), log: new KeptLog() });
  });
});

describe('a kind of lock', () => {
  const demand = {
    lease: 1_000,
    reserve: 0,
    enqueue: false,
    again: false,
    giveUpAt: Number.POSITIVE_INFINITY,
  } as const;

  it('with permits is refused at the call, and nothing is sent: permits have no majority', async () => {
    quorum = new VirtualQuorum(3);
    const { backend, calls } = await quorum.join();
    const ask = { ...demand, name: 'gateway', id: 'x:1', kind: 'permits', permits: 1, limit: 10 } as const;
    await expect(backend.acquire({ ...ask, isWanted: () => true })).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      key: 'gateway',
      message: expect.stringContaining('permits cannot be counted over a quorum'),
    });
    expect(calls).toEqual([]);
  });

  it('is sent to every node', async () => {
    quorum = new VirtualQuorum(3);
    const { backend, nodes } = await quorum.join();
    const asked: unknown[] = [];
    for (const node of nodes) {
      node.acquire = async ({ kind }) => {
        asked.push(kind);
        return { status: 'contended', leaseLeft: 1 };
      };
    }
    const ask = { ...demand, name: 'a', id: 'x:1', kind: 'shared', permits: 1, limit: 0 } as const;
    await backend.acquire({ ...ask, isWanted: () => true });
    expect(asked).toEqual(['shared', 'shared', 'shared']);
  });

  it('that differs from the kind at a node is reported so', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    for (const node of client.nodes)
      node.acquire = () => Promise.reject(new LockKindMismatchError('held with permits'));
    await expect(quorum.clock.until(client.acquire('a'))).rejects.toMatchObject({ code: 'LOCK_KIND_MISMATCH' });
  });
});

describe('a node that was started a short while ago', () => {
  const guarded = async (): Promise<VirtualQuorum> => {
    quorum = new VirtualQuorum(3, { restartGuard: 30_000 });
    await quorum.clock.advance('1m');
    return quorum;
  };

  it('gives no vote until restartGuard has passed: locks that it forgot may still be held', async () => {
    const { clock } = await guarded();
    const [a, b] = [await quorum!.join(), await quorum!.join()];
    a.nodes[2]!.fault = 'dead';
    const held = await clock.until(a.acquire('a', { lease: '20s' }));
    await clock.advance('1s');
    // Node 2, which voted for the holder, is started again with empty memory.
    quorum!.servers[1]!.faults.lose('a');
    for (const { nodes } of [a, b]) nodes[1]!.upSince = clock.now();
    await expect(clock.until(b.acquire('a', { wait: 0, lease: '20s' }))).rejects.toMatchObject({
      code: 'LOCK_CONTENDED',
    });
    expect(held.isHeld).toBe(true);
    const next = await clock.until(b.acquire('a', { wait: '60s', lease: '20s' }));
    expect(held.isHeld).toBe(false);
    expect(next.fencingToken).toBeGreaterThan(held.fencingToken);
  });

  it('gives no vote for a request that was under way as it started', async () => {
    const { clock } = await guarded();
    const [a, b] = [await quorum!.join(), await quorum!.join()];
    a.nodes[2]!.fault = 'dead';
    const held = await clock.until(a.acquire('a', { lease: '20s' }));
    // As a request that waits for the connection.
    for (const node of b.nodes) node.distance = 100;
    const refused = expect(b.acquire('a', { wait: 0, lease: '20s' })).rejects.toMatchObject({
      code: 'LOCK_CONTENDED',
    });
    await clock.advance(50);
    // Node 2, which voted for the holder, is started again with empty memory.
    quorum!.servers[1]!.faults.lose('a');
    for (const { nodes } of [a, b]) nodes[1]!.upSince = clock.now();
    await clock.until(refused);
    expect(held.isHeld).toBe(true);
  });

  it('counts as not reached, with the reason, when no majority is left without it; a waiting call waits until it may vote', async () => {
    const { clock } = await guarded();
    const client = await quorum!.join();
    client.nodes[0]!.fault = 'dead';
    client.nodes[1]!.upSince = clock.now() - 10_000;
    const error: unknown = await clock.until(client.acquire('a', { lease: '5s' }).catch((reason: unknown) => reason));
    expect(error).toMatchObject({ name: 'QuorumNotReachedError', code: 'LOCK_UNAVAILABLE' });
    expect((error as { votes: unknown }).votes).toMatchObject([
      { node: 'node-1', reply: 'unreachable' },
      {
        node: 'node-2',
        reply: 'unreachable',
        error: expect.stringContaining('another 20000 ms (option quorum.restartGuard)'),
      },
      { node: 'node-3', reply: 'granted' },
    ]);
    await clock.advance('20s');
    await clock.until(client.acquire('a', { lease: '5s' }));
  });

  it('is skipped while the others are a majority, and asked as soon as it may vote', async () => {
    const { clock } = await guarded();
    const client = await quorum!.join();
    client.nodes[1]!.upSince = clock.now();
    const lock = await clock.until(client.acquire('a', { lease: '25s', renew: true }));
    expect(client.nodes[1]!.calls).toEqual([]);
    await clock.advance('60s');
    expect(quorum!.holders('a').filter((holder) => holder !== undefined)).toHaveLength(3);
    await lock.release();
  });

  it('does not protect a lease that is longer: that is refused', async () => {
    const { clock } = await guarded();
    const client = await quorum!.join();
    await expect(clock.until(client.acquire('a', { lease: '31s' }))).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining('longer than quorum.restartGuard (30000 ms)'),
    });
    expect(client.calls).toEqual([]);
  });
});

describe('the start', () => {
  it('needs a majority; other nodes join when they are reachable', async () => {
    quorum = new VirtualQuorum(3);
    const client = quorum.client();
    client.nodes[0]!.fault = 'dead';
    await client.client.start();
    await quorum.clock.until(client.acquire('a', { wait: 0 }));
    client.nodes[0]!.heal();
    await quorum.clock.until(client.acquire('b', { wait: 0 }));
    await quorum.clock.advance(1);
    expect(quorum.holders('b').filter((holder) => holder !== undefined)).toHaveLength(3);
  });

  it('names the nodes that it did not reach; locks are granted as soon as a majority is reachable', async () => {
    quorum = new VirtualQuorum(3);
    const client = quorum.client();
    client.nodes[0]!.fault = 'dead';
    client.nodes[2]!.fault = 'dead';
    await expect(client.client.start()).rejects.toMatchObject({
      name: 'QuorumNotReachedError',
      code: 'LOCK_UNAVAILABLE',
      votes: [
        { node: 'node-1', reply: 'unreachable', error: 'node-1 is dead.' },
        { node: 'node-2', reply: 'connected' },
        { node: 'node-3', reply: 'unreachable', error: 'node-3 is dead.' },
      ],
    });
    client.nodes[2]!.heal();
    await quorum.clock.until(client.acquire('a', { wait: 0 }));
  });
});
