import { afterEach, describe, expect, it } from '@jest/globals';
import { type QuorumClient, runAhead, VirtualQuorum } from './virtual-quorum.js';

let quorum: VirtualQuorum;

afterEach(async () => {
  for (const { client } of quorum.clients) await quorum.clock.until(client.shutdown(0));
  expect(quorum.clock.pending).toBe(0);
});

/** Clients that are each nearest to other nodes: they split the votes when they ask at once. */
const rivals = async (
  size: number,
  count: number,
  random: (client: number) => () => number,
): Promise<QuorumClient[]> => {
  quorum = new VirtualQuorum(size);
  const clients: QuorumClient[] = [];
  for (let index = 0; index < count; index++) {
    const client = await quorum.join({ random: random(index) });
    client.nodes.forEach((node, position) => (node.distance = position % count === index ? 1 : 3));
    clients.push(client);
  }
  return clients;
};

/** A sequence for each client, always the same. */
const dice = (client: number) => {
  let state = client + 1;
  return (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

describe.each([
  [3, 3],
  [5, 3],
  [5, 5],
])('a quorum of %i that %i clients split', (size, count) => {
  it('elects one of the clients that try once, and rejects the others as contended', async () => {
    const clients = await rivals(size, count, dice);
    const results = await quorum.clock.until(
      Promise.allSettled(clients.map((client) => client.acquire('job', { wait: 0 }))),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    // A few round trips (6 ms each) and pauses.
    expect(quorum.clock.now()).toBeLessThan(100);
  });

  it('elects all waiting clients, one after another, without waiting for a lease or a poll', async () => {
    const clients = await rivals(size, count, dice);
    let inside = 0;
    const tokens: number[] = [];
    await quorum.clock.until(
      Promise.all(
        clients.map(async (client) => {
          const lock = await client.acquire('a', { lease: '30s', wait: '60s' });
          expect(++inside).toBe(1);
          tokens.push(lock.fencingToken);
          await quorum.clock.sleep(5);
          inside--;
          await lock.release();
        }),
      ),
    );
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(quorum.clock.now()).toBeLessThan(count * 100);
  });
});

describe('single tries over slow links', () => {
  it.each([60, 80, 95])(
    'settle within twice nodeTimeout when they split the votes, as contended: %i ms each way',
    async (way) => {
      const clients = await rivals(3, 3, dice);
      for (const { nodes } of clients)
        for (const node of nodes) [node.distance, node.wayBack] = [node.distance + way, way];
      const results = await quorum.clock.until(
        Promise.allSettled(clients.map((client) => client.acquire('job', { wait: 0 }))),
      );
      expect(quorum.clock.now()).toBeLessThanOrEqual(400);
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'LOCK_CONTENDED' });
        else await quorum.clock.until(result.value.release());
      }
      await quorum.clock.advance(400);
      expect(quorum.holders('job')).toEqual([undefined, undefined, undefined]);
    },
  );

  it('get the lock when they repeat, also if the token round ends after the time for requests', async () => {
    quorum = new VirtualQuorum(3);
    quorum.servers.forEach((server, position) => {
      runAhead(server, position * 5_000_000);
    });
    const [holder, other] = [await quorum.join(), await quorum.join()];
    holder.nodes[0]!.fault = 'dead';
    for (const node of other.nodes) [node.distance, node.wayBack] = [40, 40];
    const held = await quorum.clock.until(holder.acquire('job', { wait: 0 }));
    const trying = other.acquire('job', { wait: 0 });
    await quorum.clock.advance(60);
    await quorum.clock.until(held.release());
    const lock = await quorum.clock.until(trying);
    expect(quorum.clock.now()).toBeGreaterThan(200);
    expect(quorum.clock.now()).toBeLessThanOrEqual(400);
    await quorum.clock.until(lock.release());
  });
});

describe('votes that make no majority', () => {
  it('go to the holder in the end, if it waits for them: its lock then survives the loss of any one node', async () => {
    quorum = new VirtualQuorum(3);
    const [holder, other] = [await quorum.join(), await quorum.join()];
    other.nodes[2]!.distance = 0;
    holder.nodes[2]!.distance = 5;
    const lock = holder.acquire('a', { wait: '10s' });
    const waiting = other.acquire('a', { wait: Number.POSITIVE_INFINITY });
    await quorum.clock.until(lock);
    const votes = (): number => {
      const names = quorum.holders('a');
      return names.filter((name) => name === names[0]).length;
    };
    expect(votes()).toBe(2);
    await quorum.clock.advance(100);
    expect(votes()).toBe(3);
    holder.nodes[0]!.fault = 'dead';
    other.nodes[0]!.fault = 'dead';
    await quorum.clock.advance('2m');
    expect((await lock).isHeld).toBe(true);
    await quorum.clock.until((await lock).release());
    expect((await quorum.clock.until(waiting)).fencingToken).toBeGreaterThan((await lock).fencingToken);
  });

  it('are released less and less often while another client holds the lock', async () => {
    quorum = new VirtualQuorum(3);
    const [holder, other] = [await quorum.join(), await quorum.join()];
    // The holder does not wait, so it is in no queue; it could not reach one node.
    holder.nodes[2]!.fault = 'dead';
    const lock = await quorum.clock.until(holder.acquire('a', { wait: 0, lease: '9s' }));
    const waiting = other.acquire('a', { wait: '60s' });
    await quorum.clock.advance('1s');
    const releases = other.calls.filter((call) => call === 'release').length;
    expect(releases).toBeGreaterThan(2);
    expect(releases).toBeLessThanOrEqual(20);
    holder.nodes[2]!.heal();
    await quorum.clock.until(lock.release());
    await (await quorum.clock.until(waiting)).release();
  });
});
