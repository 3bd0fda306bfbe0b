import { afterEach, describe, expect, it } from '@jest/globals';
import type { FaultyNode } from './faulty-node.js';
import { randomRuns } from '../../support/random-runs.js';
import { runAhead, VirtualQuorum } from './virtual-quorum.js';

let quorum: VirtualQuorum;

afterEach(async () => {
  for (const { client } of quorum.clients) await quorum.clock.until(client.shutdown(0));
});

/** Numbers from 0 to below `bound`, the same ones for the same seed. */
const dice = (seed: number) => {
  let state = seed;
  return (bound: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
};

/** Servers whose clocks differ by up to 80 ms, for tokens: the register of each is ahead of the common clock. */
const skew = (offsets: number[]): void => {
  quorum.servers.forEach((server, position) => {
    runAhead(server, offsets[position]!);
  });
};

/** The tokens of successive holders, each elected by its own majority; some release, some crash. */
const tokensOfHolders = async (
  size: number,
  seed: number,
  prepare: (node: FaultyNode) => void = () => undefined,
): Promise<number[]> => {
  quorum = new VirtualQuorum(size);
  const roll = dice(seed);
  const client = await quorum.join();
  client.nodes.forEach(prepare);
  const offsets = quorum.servers.map(() => roll(80_000));
  const tokens: number[] = [];
  for (let holder = 0; holder < 40; holder++) {
    skew(offsets);
    const down = new Set(Array.from({ length: (size - 1) / 2 }, () => roll(size)));
    client.nodes.forEach((node, position) => {
      if (down.has(position)) node.fault = 'dead';
      else if (node.fault === 'dead') node.heal();
    });
    const lock = await quorum.clock.until(client.acquire('a', { lease: 50 }));
    tokens.push(lock.fencingToken);
    const crashes = roll(2) === 1;
    if (crashes) await quorum.clock.advance(100);
    await quorum.clock.until(lock.release());
    await quorum.clock.advance(20);
  }
  return tokens;
};

const increasing = (tokens: readonly number[]): boolean =>
  tokens.every((token, index) => index === 0 || token > tokens[index - 1]!);

const { numRuns, seed: first } = randomRuns({ usual: 10, deep: 40 });

describe.each([3, 5])('the tokens of a quorum of %i', (size) => {
  it(
    'increase from holder to holder, with any majority for each of them, on servers whose clocks differ',
    async () => {
      for (let seed = first; seed < first + numRuns; seed++) {
        const tokens = await tokensOfHolders(size, seed);
        expect([seed, increasing(tokens)]).toEqual([seed, true]);
      }
    },
    numRuns * 2_000,
  );

  it('may decrease if the nodes confirm a token in the second round and do not keep it: the largest vote is not enough', async () => {
    const forgetful = (node: FaultyNode): void => {
      const renew = node.renew.bind(node);
      node.renew = async (holds) => {
        const replies = await renew(holds.map((hold) => ({ ...hold, reserve: 0, least: 0 })));
        return replies.map((reply, index) =>
          typeof reply === 'object' ? { ...reply, tokensUntil: holds[index]!.least ?? 0 } : reply,
        );
      };
    };
    const runs = [];
    for (let seed = 1; seed <= 10; seed++) runs.push(increasing(await tokensOfHolders(size, seed, forgetful)));
    expect(runs).toContain(false);
  });

  it('that were reserved for local hand-offs are below those of the next holder, with any majority for it', async () => {
    quorum = new VirtualQuorum(size);
    const [a, b] = [await quorum.join(), await quorum.join()];
    for (const down of [0, size - 1]) {
      skew(quorum.servers.map((_, position) => (position === down ? 0 : 70_000 - position * 1_000)));
      const [first, ...others] = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const lock = await a.acquire('a', { lease: '1s' });
          await lock.release();
          return lock.fencingToken;
        }),
      );
      b.nodes[down]!.fault = 'dead';
      const lock = await quorum.clock.until(b.acquire('a', { lease: '1s' }));
      expect(increasing([first!, ...others, lock.fencingToken])).toBe(true);
      await quorum.clock.until(lock.release());
      b.nodes[down]!.heal();
    }
  });
});

describe('the token round', () => {
  /** The commands that reached the nodes for one lock and its release. */
  const costs = async (offsets: number[]): Promise<Record<string, number>> => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    skew(offsets);
    await (await quorum.clock.until(client.acquire('a'))).release();
    await quorum.clock.advance(1);
    const count = (kind: string): number => client.calls.filter((call) => call === kind).length;
    return { acquire: count('acquire'), renew: count('renew'), release: count('release') };
  };

  it('is skipped if a majority has already voted with the largest token', async () => {
    expect(await costs([5_000, 5_000, 0])).toEqual({ acquire: 3, renew: 0, release: 3 });
  });

  it('goes to as many of the nodes that voted lower as a majority needs, and to no other', async () => {
    expect(await costs([9_000, 5_000, 0])).toEqual({ acquire: 3, renew: 1, release: 3 });
  });
});
