import { afterEach, describe, expect, it } from '@jest/globals';
import { LockUnavailableError, QuorumNotReachedError } from '../../../lib/errors/lock-errors.js';
import type { FaultyNode } from './faulty-node.js';
import { type QuorumClient, runAhead, VirtualQuorum } from './virtual-quorum.js';

const name = 'product:42';
let quorum: VirtualQuorum;

afterEach(async () => {
  for (const { client } of quorum.clients) await quorum.clock.until(client.shutdown(0));
  expect(quorum.clock.pending).toBe(0);
});

/** Every set of nodes, as positions. */
const masks = (size: number): number[][] =>
  Array.from({ length: 2 ** size }, (_, mask) =>
    Array.from({ length: size }, (_, node) => node).filter((node) => (mask & (1 << node)) !== 0),
  );

/** The position of the node whose tokens are ahead of the others'. */
const highest = 1;

const majority = (size: number): number => (size + 1) / 2;

/** A client with faults at the nodes of the mask, on servers whose tokens are far apart. */
const troubled = async (size: number, mask: number[], begin: (node: FaultyNode) => void): Promise<QuorumClient> => {
  quorum = new VirtualQuorum(size);
  quorum.servers.forEach((server, position) => {
    runAhead(server, (position === highest ? size : position) * 50_000);
  });
  const client = await quorum.join();
  for (const position of mask) begin(client.nodes[position]!);
  return client;
};

/** The outcome of an acquisition, and its duration. */
const outcome = async (client: QuorumClient): Promise<{ error?: unknown; token?: number; after: number }> => {
  const began = quorum.clock.now();
  const result = await quorum.clock.until(
    client.acquire(name, { lease: '10s' }).then(
      (lock) => ({ token: lock.fencingToken, lock }),
      (error: unknown) => ({ error }),
    ),
  );
  return { ...result, after: quorum.clock.now() - began };
};

/** When all nodes work again, no claim keeps a vote for longer than its release takes. */
const expectNothingLeft = async (client: QuorumClient): Promise<void> => {
  for (const node of client.nodes) {
    node.before = () => {};
    node.heal();
  }
  await quorum.clock.advance(1_000);
  expect(quorum.holders(name)).toEqual(quorum.holders(name).map(() => undefined));
  const other = await quorum.join();
  await (await quorum.clock.until(other.acquire(name, { wait: 0 }))).release();
};

describe.each([3, 5])('a quorum of %i', (size) => {
  const spare = size - majority(size);

  /** @param told the longest time in ms after which a failure is reported
   * @param matters whether trouble at this node makes a difference
   */
  const every = async (
    begin: (node: FaultyNode) => void,
    told: number,
    matters = (_node: number): boolean => true,
  ): Promise<void> => {
    for (const mask of masks(size)) {
      const client = await troubled(size, mask, begin);
      const { error, token, after } = await outcome(client);
      const failing = mask.filter(matters);
      if (failing.length <= spare) {
        expect([mask, error, after]).toEqual([mask, undefined, 0]);
        const holders = quorum.holders(name).filter((holder) => holder !== undefined);
        expect(holders.length).toBeGreaterThanOrEqual(majority(size));
        expect(token).toBeGreaterThan(0);
      } else {
        expect(error).toBeInstanceOf(QuorumNotReachedError);
        expect(error).toBeInstanceOf(LockUnavailableError);
        expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', key: name });
        const silent = (error as QuorumNotReachedError).votes.flatMap(({ reply }, position) =>
          reply === 'unreachable' ? [position] : [],
        );
        expect(silent).toEqual(failing);
        expect(after).toBeLessThanOrEqual(told);
        await expectNothingLeft(client);
      }
      for (const { client: other } of quorum.clients) await quorum.clock.until(other.shutdown(0));
    }
  };

  it('grants the lock with any minority dead, and names at once the nodes that it did not reach when a majority is dead', async () => {
    await every((node) => (node.fault = 'dead'), 0);
  });

  it('grants the lock when any minority sends no replies; with a majority it rejects after one nodeTimeout, and keeps no vote', async () => {
    await every((node) => (node.fault = 'mute'), 200);
  });

  it('grants the lock when any minority dies between its vote and the token round, and never without that round', async () => {
    await every(
      (node) => {
        node.before = (kind) => {
          if (kind === 'renew') node.fault = 'dead';
        };
      },
      0,
      // The largest token is its own: it has stored it with its vote.
      (node) => node !== highest,
    );
  });

  it('does not wait for a slow minority, and waits for a slow majority', async () => {
    for (const mask of masks(size)) {
      const client = await troubled(size, mask, (node) => (node.fault = 'slow'));
      const { error, after } = await outcome(client);
      // 100 ms for the vote, and the same for the token.
      expect([mask, error, after]).toEqual([mask, undefined, mask.length <= spare ? 0 : after]);
      expect(after).toBeLessThanOrEqual(200);
      for (const { client: other } of quorum.clients) await quorum.clock.until(other.shutdown(0));
    }
  });

  it('releases everything when any nodes die between the vote and the release', async () => {
    for (const mask of masks(size)) {
      const client = await troubled(size, [], () => {});
      const lock = await quorum.clock.until(client.acquire(name, { lease: '10s' }));
      await quorum.clock.advance(10);
      for (const position of mask) client.nodes[position]!.fault = 'dead';
      await quorum.clock.until(lock.release());
      const left = quorum.holders(name).flatMap((holder, position) => (holder === undefined ? [] : [position]));
      expect(left).toEqual(mask);
      await expectNothingLeft(client);
      for (const { client: other } of quorum.clients) await quorum.clock.until(other.shutdown(0));
    }
  });
});

describe('a node whose reply is under way', () => {
  it('is asked again after that reply, and once, for all times that the others came back before it', async () => {
    quorum = new VirtualQuorum(3);
    const { clock } = quorum;
    const [holder, waiter] = [await quorum.join(), await quorum.join()];
    const held = await clock.until(holder.acquire(name, { lease: '10s' }));
    const [first, second, slow] = waiter.nodes;
    slow!.wayBack = 100;
    const asked = (): number[] => waiter.nodes.map(({ calls }) => calls.filter((call) => call === 'acquire').length);
    const waiting = waiter.acquire(name);
    await clock.advance(10);
    expect(asked()).toEqual([1, 1, 1]);
    for (const node of [first, second, first]) {
      node!.heal();
      await clock.advance(10);
    }
    expect(asked()).toEqual([4, 4, 1]);
    await clock.advance(200);
    expect(asked()).toEqual([4, 4, 2]);
    await held.release();
    await (await clock.until(waiting)).release();
  });
});

describe('a single try whose votes are gone before the token round', () => {
  /** The first two nodes answer after 180 ms; the second has the largest token, so that the first has to confirm it. */
  const slowTry = async (third: Partial<FaultyNode>): Promise<QuorumClient> => {
    quorum = new VirtualQuorum(3);
    runAhead(quorum.servers[1]!, 5_000_000);
    const client = await quorum.join();
    for (const node of client.nodes) [node.distance, node.wayBack] = [90, 90];
    Object.assign(client.nodes[2]!, third);
    return client;
  };

  const rejected = async (client: QuorumClient): Promise<unknown> => {
    const error = await quorum.clock.until(
      client.acquire(name, { wait: 0, lease: '10s' }).catch((reason: unknown) => reason),
    );
    // A request and, behind it, the round for the token.
    expect(quorum.clock.now()).toBeLessThanOrEqual(400);
    return error;
  };

  it('rejects within twice nodeTimeout, although the server that lost its vote is asked again', async () => {
    const client = await slowTry({ fault: 'dead' });
    quorum.clock.timer(200, () => quorum.servers[0]!.faults.lose(name));
    expect(await rejected(client)).toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: `Lock '${name}': node-1 did not confirm its vote. Check that node.`,
    });
    await expectNothingLeft(client);
  });

  it('rejects within twice nodeTimeout, although another server has voted in that time', async () => {
    const client = await slowTry({ distance: 90, wayBack: 105 });
    client.nodes[0]!.before = (kind) => {
      if (kind === 'renew') Object.assign(client.nodes[0]!, { fault: 'mute', distance: 0, wayBack: 0 });
    };
    expect(await rejected(client)).toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: `Lock '${name}': node-1 did not confirm its vote. Check that node.`,
    });
    await expectNothingLeft(client);
  });
});
