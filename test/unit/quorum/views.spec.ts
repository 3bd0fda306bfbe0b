import { afterEach, describe, expect, it } from '@jest/globals';
import type { QuorumNotReachedError } from '../../../lib/errors/lock-errors.js';
import { ballotId, candidateOf } from '../../../lib/backends/quorum/ballot-id.js';
import { type QuorumClient, VirtualQuorum } from './virtual-quorum.js';

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

describe('what single nodes say of a lock of a quorum', () => {
  const [first, second] = ['first.host.1:0', 'second.host.2:0'];

  /** Asks one node alone. */
  const ask = (client: QuorumClient, position: number, claim: string, enqueue = false) =>
    quorum.clock.until(
      client.nodes[position]!.acquire({
        ...{ name, claim, kind: 'exclusive', permits: 1, limit: 0, lease: 30_000, reserve: 0, enqueue, again: false },
        giveUpAt: quorum.clock.now() + 1_000,
        isWanted: () => true,
      }),
    );
  const look = ({ backend }: QuorumClient) => quorum.clock.until(backend.inspect(name, 10));

  it('is put together by candidates, whichever ballots won; the largest token is told', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    await ask(client, 0, first);
    await quorum.clock.advance(5);
    const last = await ask(client, 1, ballotId(first, 2));
    const { holders } = await look(client);
    expect(holders).toMatchObject([{ claim: first, fencingToken: (last as { fencingToken: number }).fencingToken }]);
  });

  it('makes it kept when a majority keeps it, not before', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    for (const position of [0, 1, 2]) await ask(client, position, first);
    const states: string[] = [];
    for (const node of client.nodes) {
      await quorum.clock.until(node.release({ name, claim: first, keepUntil: quorum.clock.now() + 20_000 }));
      states.push((await look(client)).holders[0]!.state);
    }
    expect(states).toEqual(['full', 'kept', 'kept']);
  });

  it('tells each waiter once, whoever waits longest first, and no holder that waits for a further vote', async () => {
    quorum = new VirtualQuorum(3);
    const [client, holder] = [await quorum.join(), await quorum.join()];
    await ask(client, 2, 'other.host.3:0');
    const lock = await quorum.clock.until(holder.acquire(name));
    await ask(client, 0, first, true);
    await quorum.clock.advance(5);
    for (const position of [0, 1]) await ask(client, position, second, true);
    await quorum.clock.advance(5);
    await ask(client, 1, ballotId(first, 1), true);
    const { holders, waiters } = await look(client);
    expect(holders.map(({ claim }) => claim)).toEqual([lock.hold.claim.claim]);
    expect(waiters.map(({ claim, waited }) => [claim, waited])).toEqual([
      [first, 10],
      [second, 5],
    ]);
  });

  it('makes no name of the list by a minority', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    await ask(client, 0, first);
    const names: string[] = [];
    for await (const each of client.client.views.list()) names.push(each);
    expect(names).toEqual([]);
  });

  it('takes a lock from nobody by the token of an earlier grant', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    const { fencingToken, hold } = await quorum.clock.until(client.acquire(name));
    await quorum.clock.advance(1);
    const { claim } = hold.claim;
    const revoke = (token: number) => quorum.clock.until(client.backend.revoke(name, [{ claim, fencingToken: token }]));
    expect(await revoke(fencingToken - 1)).toEqual([]);
    expect(quorum.holders(name)).not.toContain(undefined);
    expect(await revoke(fencingToken)).toEqual([claim]);
  });

  it('is no taking away where most of the votes were gone by themselves in the meantime', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    for (const position of [0, 1, 2]) await ask(client, position, first);
    const { holders } = await look(client);
    let views = 0;
    // Looked at once more; and then they are gone.
    client.nodes[0]!.before = (kind) => {
      if (kind !== 'view' || ++views < 2) return;
      for (const server of quorum.servers.slice(0, 2)) server.faults.lose(name);
    };
    expect(await quorum.clock.until(client.backend.revoke(name, holders))).toEqual([]);
    expect(views).toBe(2);
  });
});
