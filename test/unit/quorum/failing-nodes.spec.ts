import { afterEach, describe, expect, it } from '@jest/globals';
import { exclusive } from '../../../lib/core/lock-backend.js';
import { LockUnavailableError, QuorumNotReachedError } from '../../../lib/errors/lock-errors.js';
import type { FaultyNode } from './faulty-node.js';
import { type QuorumClient, VirtualQuorum } from './virtual-quorum.js';

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

/** A client that sees trouble at the nodes of the mask, on servers whose tokens are far apart. */
const troubled = async (size: number, mask: number[], begin: (node: FaultyNode) => void): Promise<QuorumClient> => {
  quorum = new VirtualQuorum(size);
  quorum.servers.forEach((server, position) => {
    const ahead = (position === highest ? size : position) * 50_000;
    server.table.acquire({ ...exclusive, name: 'other', claim: 'x:0', lease: 1, reserve: ahead, patience: 0 });
  });
  const client = await quorum.join();
  for (const position of mask) begin(client.nodes[position]!);
  return client;
};

/** What came of an acquisition, and after which time. */
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

/** When everything is well again, nobody holds a vote for longer than it takes to give it back. */
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

  /**
   * @param told bound of the time in ms after which a failure is told
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
        const silent = (error as QuorumNotReachedError).votes.flatMap(({ answer }, position) =>
          answer === 'unreachable' ? [position] : [],
        );
        expect(silent).toEqual(failing);
        expect(after).toBeLessThanOrEqual(told);
        await expectNothingLeft(client);
      }
      for (const { client: other } of quorum.clients) await quorum.clock.until(other.shutdown(0));
    }
  };

  it('gives the lock whichever minority is dead, and says at once which nodes it did not reach when a majority is', async () => {
    await every((node) => (node.fault = 'dead'), 0);
  });

  it('gives the lock whichever minority swallows its answers; a majority is told after one nodeTimeout, and takes nothing for good', async () => {
    await every((node) => (node.fault = 'mute'), 200);
  });

  it('gives the lock whichever minority dies between its vote and the round of the token, and never without that round', async () => {
    await every(
      (node) => {
        node.before = (kind) => {
          if (kind === 'renew') node.fault = 'dead';
        };
      },
      0,
      // The largest token is its own: it has written it down with its vote.
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

  it('gives everything back, whichever nodes die between the vote and the release', async () => {
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
