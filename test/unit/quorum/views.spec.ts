import { afterEach, describe, expect, it } from '@jest/globals';
import type { QuorumNotReachedError } from '../../../lib/errors/lock-errors.js';
import { ballotId, candidateOf } from '../../../lib/backends/quorum/ballot-id.js';
import { VirtualQuorum } from './virtual-quorum.js';

const name = 'product:42';
let quorum: VirtualQuorum;

afterEach(async () => {
  for (const { client } of quorum.clients) await quorum.clock.until(client.shutdown(0));
});

describe('the id of a ballot', () => {
  it('leads back to its candidate, and leaves process and method where they are', () => {
    quorum = new VirtualQuorum(3);
    for (const claim of ['id.host.com.7:a', 'id.host.com.7:a:Report.daily.1']) {
      expect(candidateOf(claim)).toBe(claim);
      expect(candidateOf(ballotId(claim, 12))).toBe(claim);
    }
    expect(ballotId('id.host.7:a:Report.daily', 3)).toBe('id.host.7:a.3:Report.daily');
  });
});

describe('looking at locks of a quorum', () => {
  it('tells who has the votes of a majority, and of nobody who has fewer', async () => {
    quorum = new VirtualQuorum(3);
    const [a, b] = [await quorum.join(), await quorum.join()];
    const lock = await quorum.clock.until(a.acquire(name));
    await quorum.clock.advance(1);
    const [seen] = (await quorum.clock.until(b.client.views.inspect(name))).holders;
    expect(seen).toMatchObject({ state: 'held' });
    expect(lock.hold.claim.claim.startsWith(seen!.client)).toBe(true);
    quorum.servers[0]!.faults.lose(name);
    expect((await quorum.clock.until(b.client.views.inspect(name))).holders).toHaveLength(1);
    quorum.servers[1]!.faults.lose(name);
    expect((await quorum.clock.until(b.client.views.inspect(name))).holders).toEqual([]);
  });

  it('goes on without a minority, and says which nodes are missing when too few answer', async () => {
    quorum = new VirtualQuorum(3);
    const [a, b] = [await quorum.join(), await quorum.join()];
    await quorum.clock.until(a.acquire(name));
    await quorum.clock.advance(1);
    b.nodes[2]!.fault = 'dead';
    expect((await quorum.clock.until(b.client.views.inspect(name))).holders).toHaveLength(1);
    const names: string[] = [];
    for await (const each of b.client.views.list()) names.push(each);
    expect(names).toEqual([name]);
    b.nodes[0]!.fault = 'dead';
    const error: unknown = await quorum.clock.until(b.client.views.inspect(name).catch((reason: unknown) => reason));
    expect(error).toMatchObject({ name: 'QuorumNotReachedError', code: 'LOCK_UNAVAILABLE', key: name });
    expect((error as QuorumNotReachedError).votes.map(({ answer }) => answer)).toEqual([
      'unreachable',
      'connected',
      'unreachable',
    ]);
  });

  it('by force: takes the votes at every node that can be reached; the holder is told, and does not win them back', async () => {
    quorum = new VirtualQuorum(5);
    const [a, b] = [await quorum.join(), await quorum.join()];
    const lock = await quorum.clock.until(a.acquire(name));
    await quorum.clock.advance(1);
    b.nodes[4]!.fault = 'dead';
    expect(await quorum.clock.until(b.client.views.forceRelease(name))).toBe(true);
    await quorum.clock.advance('15s');
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(quorum.holders(name)).toEqual([1, 2, 3, 4, 5].map(() => undefined));
    expect(await quorum.clock.until(b.client.views.forceRelease(name))).toBe(false);
  });
});
