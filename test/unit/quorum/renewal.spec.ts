import { afterEach, describe, expect, it } from '@jest/globals';
import type { LockHandle } from '../../../lib/core/lock-handle.js';
import { type QuorumClient, VirtualQuorum } from './virtual-quorum.js';

const name = 'report';
let quorum: VirtualQuorum;

afterEach(async () => {
  for (const { client } of quorum.clients) await quorum.clock.until(client.shutdown(0));
  expect(quorum.clock.pending).toBe(0);
});

/** A client that holds the lock of a renewed 30 s lease on all nodes. */
const holder = async (size: number): Promise<{ client: QuorumClient; lock: LockHandle }> => {
  quorum = new VirtualQuorum(size);
  const client = await quorum.join();
  const lock = await quorum.clock.until(client.acquire(name));
  await quorum.clock.advance(1);
  return { client, lock };
};

const votes = (): number => quorum.holders(name).filter((vote) => vote !== undefined).length;

/** The server was restarted, and has lost everything. */
const restartEmpty = (client: QuorumClient, position: number): void => {
  quorum.servers[position]!.faults.lose(name);
  client.nodes[position]!.heal();
};

describe('a lock that is held', () => {
  it.each([3, 5])('survives the death of any minority, at once or later (%i nodes)', async (size) => {
    for (const after of ['1ms', '15s'] as const) {
      for (let first = 0; first < size; first++) {
        const { client, lock } = await holder(size);
        await quorum.clock.advance(after);
        for (let dead = 0; dead < (size - 1) / 2; dead++) client.nodes[(first + dead) % size]!.fault = 'dead';
        await quorum.clock.advance('3m');
        expect(lock.isHeld).toBe(true);
        await quorum.clock.until(client.client.shutdown(0));
      }
    }
  });

  it('ends with its lease when a majority dies, and its signal aborts in time', async () => {
    const { client, lock } = await holder(3);
    const { leaseLeft, signal } = lock;
    client.nodes[0]!.fault = 'dead';
    client.nodes[1]!.fault = 'mute';
    await quorum.clock.advance(Math.floor(leaseLeft) - 1);
    expect(lock.isHeld).toBe(true);
    await quorum.clock.advance(2);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    client.nodes.forEach((node) => node.heal());
    await quorum.clock.until(lock.release());
    await quorum.clock.advance('1s');
    expect(votes()).toBe(0);
  });

  it('stays held when the majority is back before its lease is over', async () => {
    const { client, lock } = await holder(3);
    client.nodes[0]!.fault = 'dead';
    client.nodes[1]!.fault = 'dead';
    await quorum.clock.advance('25s');
    client.nodes[0]!.heal();
    await quorum.clock.advance('60s');
    expect(lock.isHeld).toBe(true);
  });

  it('wins back the vote of a node that was restarted empty, logs that, and then survives the death of another one', async () => {
    const { client, lock } = await holder(3);
    restartEmpty(client, 0);
    await quorum.clock.advance(1);
    expect(votes()).toBe(3);
    expect(client.log.lines.filter((line) => line.includes('node-1 has forgotten 1 of the locks'))).toHaveLength(1);
    await quorum.clock.advance('15s');
    restartEmpty(client, 1);
    await quorum.clock.advance('15s');
    restartEmpty(client, 2);
    await quorum.clock.advance('15s');
    expect(lock.isHeld).toBe(true);
    expect(votes()).toBe(3);
  });

  it('with a fixed lease counts no vote that it won back: the second restart empty ends it, and its signal says so', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    const lock = await quorum.clock.until(client.acquire(name, { lease: '1m' }));
    await quorum.clock.advance('1s');
    restartEmpty(client, 0);
    await quorum.clock.advance('15s');
    expect([lock.isHeld, votes()]).toEqual([true, 3]);
    restartEmpty(client, 1);
    await quorum.clock.advance(1);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    await quorum.clock.until(lock.release());
  });

  it('is lost when a majority has forgotten it, even if every node would vote for it again', async () => {
    const { client, lock } = await holder(3);
    quorum.servers[0]!.faults.lose(name);
    quorum.servers[1]!.faults.lose(name);
    client.nodes[0]!.heal();
    await quorum.clock.advance(1);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    await quorum.clock.until(lock.release());
    await quorum.clock.advance(1);
    expect(votes()).toBe(0);
  });

  it('is lost when one node has forgotten it and another one was won later: another holder may have been elected in between', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    client.nodes[2]!.fault = 'dead';
    const lock = await quorum.clock.until(client.acquire(name));
    await quorum.clock.advance('1s');
    // Elected by nodes 1 and 2; node 3 is won, and before the next renewal node 2 forgets.
    client.nodes[2]!.heal();
    await quorum.clock.advance(1);
    expect(votes()).toBe(3);
    restartEmpty(client, 1);
    await quorum.clock.advance(1);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
  });

  it('gets the vote of a node that comes back: any two nodes are enough then', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    client.nodes[2]!.fault = 'dead';
    const lock = await quorum.clock.until(client.acquire(name));
    await quorum.clock.advance('1s');
    expect(votes()).toBe(2);
    client.nodes[2]!.heal();
    await quorum.clock.advance('1ms');
    expect(votes()).toBe(3);
    await quorum.clock.advance('15s');
    client.nodes[0]!.fault = 'dead';
    await quorum.clock.advance('2m');
    expect(lock.isHeld).toBe(true);
    await quorum.clock.until(lock.release());
  });

  it('of many is renewed by one command to each node', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    const locks = await quorum.clock.until(
      Promise.all(Array.from({ length: 50 }, (_, index) => client.acquire(`l${index}`))),
    );
    await quorum.clock.advance('15s');
    expect(client.calls.filter((call) => call === 'renew')).toHaveLength(3);
    expect(locks.every(({ isHeld }) => isHeld)).toBe(true);
  });

  it('stays held when renew() rejects with LOCK_UNAVAILABLE while a majority does not respond', async () => {
    const { client, lock } = await holder(3);
    client.nodes[1]!.fault = 'mute';
    client.nodes[2]!.fault = 'mute';
    await expect(quorum.clock.until(lock.renew())).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    expect(lock.isHeld).toBe(true);
  });
});

describe('a release', () => {
  it('detects that a majority had forgotten the lock', async () => {
    const { client, lock } = await holder(3);
    quorum.servers[0]!.faults.lose(name);
    quorum.servers[2]!.faults.lose(name);
    await quorum.clock.until(lock.release());
    expect(client.log.lines.filter((line) => line.startsWith('error'))).toHaveLength(1);
    expect(votes()).toBe(0);
  });

  it('reports no loss when a minority had forgotten the lock, or when the nodes do not say', async () => {
    const { client, lock } = await holder(3);
    quorum.servers[0]!.faults.lose(name);
    await quorum.clock.until(lock.release());
    const second = await quorum.clock.until(client.acquire(name));
    client.nodes[0]!.fault = 'mute';
    client.nodes[1]!.fault = 'mute';
    await quorum.clock.until(second.release());
    expect(client.log.lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });

  it('leaves the lock to no other caller before `minHold` is over, with any node dead at the release or afterwards', async () => {
    for (const [before, after] of [
      [0, 0],
      [1, 2],
      [2, 0],
    ] as const) {
      quorum = new VirtualQuorum(3);
      const [client, other] = [await quorum.join(), await quorum.join()];
      const lock = await quorum.clock.until(client.acquire(name, { minHold: '5s', lease: '2s', renew: true }));
      await quorum.clock.advance(1);
      for (const { nodes } of [client, other]) nodes[before]!.fault = 'dead';
      await quorum.clock.until(lock.release());
      for (const { nodes } of [client, other]) {
        nodes[before]!.heal();
        nodes[after]!.fault = 'dead';
      }
      await quorum.clock.advance('4s');
      await expect(quorum.clock.until(other.acquire(name, { wait: 0 }))).rejects.toMatchObject({
        code: 'LOCK_CONTENDED',
      });
      await quorum.clock.until(other.acquire(name, { wait: '2s' }));
      for (const { client: each } of quorum.clients) await quorum.clock.until(each.shutdown(0));
    }
  });

  it('is sent later to a node that was unavailable', async () => {
    const { client, lock } = await holder(3);
    client.nodes[1]!.fault = 'dead';
    await quorum.clock.until(lock.release());
    expect(votes()).toBe(1);
    client.nodes[1]!.heal();
    await quorum.clock.advance(1);
    expect(votes()).toBe(0);
  });
});
