import { afterEach, describe, expect, it } from '@jest/globals';
import { exclusive, type LockBackend } from '../../../lib/core/lock-backend.js';
import { LockHandle } from '../../../lib/core/lock-handle.js';
import type { QuorumNotReachedError } from '../../../lib/errors/lock-errors.js';
import { QuorumBackend } from '../../../lib/backends/quorum/quorum-backend.js';
import { nodeClaimId, quorumClaimId } from '../../../lib/backends/quorum/node-claim-id.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { ScriptedBackend } from '../../support/scripted-backend.js';
import { VirtualClock } from '../../support/virtual-clock.js';
import { type QuorumClient, VirtualQuorum } from './virtual-quorum.js';

const name = 'product:42';
let quorum: VirtualQuorum;

afterEach(async () => {
  for (const { client } of quorum.clients) await quorum.clock.until(client.shutdown(0));
});

describe('the id of a claim at a node', () => {
  it('leads back to its quorum claim, and keeps process, method and label', () => {
    quorum = new VirtualQuorum(3);
    // A secret may have digits only.
    const claims = [
      'id.host.com.7:a',
      'id.host.7:a.12345678901',
      'id.host.com.7:a:Report.daily.1',
      'id.host.7:a::b',
      'id.host.7:a:B.c:d.2',
    ];
    for (const claim of claims) {
      expect(quorumClaimId(claim)).toBe(claim);
      expect(quorumClaimId(nodeClaimId(claim, 12))).toBe(claim);
    }
    expect(nodeClaimId('id.host.7:a:Report.daily', 3)).toBe('id.host.7:a$3:Report.daily');
  });
});

describe('views of a quorum', () => {
  it('show a claim with the votes of a majority, and none with fewer', async () => {
    quorum = new VirtualQuorum(3);
    const [a, b] = [await quorum.join(), await quorum.join()];
    const lock = await quorum.clock.until(a.acquire(name));
    await quorum.clock.advance(1);
    const [seen] = (await quorum.clock.until(b.operators.views.inspect(name))).holders;
    expect(seen).toMatchObject({ state: 'held' });
    expect(LockHandle.holdOf(lock).claim.id.startsWith(seen!.client)).toBe(true);
    quorum.servers[0]!.faults.lose(name);
    expect((await quorum.clock.until(b.operators.views.inspect(name))).holders).toHaveLength(1);
    quorum.servers[1]!.faults.lose(name);
    expect((await quorum.clock.until(b.operators.views.inspect(name))).holders).toEqual([]);
  });

  it('work without a minority, and name the missing nodes when too few reply', async () => {
    quorum = new VirtualQuorum(3);
    const [a, b] = [await quorum.join(), await quorum.join()];
    await quorum.clock.until(a.acquire(name));
    await quorum.clock.advance(1);
    b.nodes[2]!.fault = 'dead';
    expect((await quorum.clock.until(b.operators.views.inspect(name))).holders).toHaveLength(1);
    const names: string[] = [];
    for await (const each of b.operators.views.list()) names.push(each);
    expect(names).toEqual([name]);
    b.nodes[0]!.fault = 'dead';
    const error: unknown = await quorum.clock.until(b.operators.views.inspect(name).catch((reason: unknown) => reason));
    expect(error).toMatchObject({ name: 'QuorumNotReachedError', code: 'LOCK_UNAVAILABLE', key: name });
    expect((error as QuorumNotReachedError).votes.map(({ reply }) => reply)).toEqual([
      'unreachable',
      'connected',
      'unreachable',
    ]);
  });

  it('release by force at every reachable node; the holder learns it, and does not win the votes back', async () => {
    quorum = new VirtualQuorum(5);
    const [a, b] = [await quorum.join(), await quorum.join()];
    const lock = await quorum.clock.until(a.acquire(name));
    await quorum.clock.advance(1);
    b.nodes[4]!.fault = 'dead';
    expect(await quorum.clock.until(b.operators.views.forceRelease(name))).toBe(true);
    await quorum.clock.advance('15s');
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(quorum.holders(name)).toEqual([1, 2, 3, 4, 5].map(() => undefined));
    expect(await quorum.clock.until(b.operators.views.forceRelease(name))).toBe(false);
  });
});

const [first, second] = ['first.host.1:0', 'second.host.2:0'];

/** Asks a quorum, or one of its nodes alone. */
const askAt = (backend: LockBackend, claim: string, enqueue = false) =>
  quorum.clock.until(
    backend.acquire({
      ...exclusive,
      ...{ name, id: claim, lease: 30_000, reserve: 0, enqueue, again: false },
      giveUpAt: quorum.clock.now() + 1_000,
      isWanted: () => true,
    }),
  );
const ask = (client: QuorumClient, position: number, claim: string, enqueue = false) =>
  askAt(client.nodes[position]!, claim, enqueue);

describe('the holder in the reply of a quorum', () => {
  it.each([
    ['to one try', false],
    ['to a claim that waits', true],
  ])('%s is the claim with the votes of a majority, by its own id', async (_what, enqueue) => {
    quorum = new VirtualQuorum(3);
    const [client, other] = [await quorum.join(), await quorum.join()];
    await ask(client, 0, first);
    await quorum.clock.advance(5);
    const last = await ask(client, 1, nodeClaimId(first, 2));
    await quorum.clock.advance(5);
    const { fencingToken } = last as { fencingToken: number };
    const reply = await askAt(other.backend, second, enqueue);
    expect(reply).toMatchObject({
      status: enqueue ? 'queued' : 'contended',
      holder: { id: first, fencingToken, heldFor: expect.any(Number) },
    });
    const { heldFor } = (reply as { holder: { heldFor: number } }).holder;
    // Since the vote that made the majority.
    expect(Math.round(heldFor)).toBeGreaterThanOrEqual(5);
    expect(Math.round(heldFor)).toBeLessThan(10);
  });

  it('is not known while no claim has a majority', async () => {
    quorum = new VirtualQuorum(3);
    const [client, other] = [await quorum.join(), await quorum.join()];
    for (const [position, claim] of [first, second, 'third.host.3:0'].entries()) await ask(client, position, claim);
    expect(await askAt(other.backend, 'fourth.host.4:0')).toMatchObject({ status: 'contended', holder: undefined });
  });
});

describe('the availability of a quorum', () => {
  it('is that of each of its nodes', async () => {
    quorum = new VirtualQuorum(3);
    const { nodes, backend } = await quorum.join();
    nodes[1]!.fault = 'dead';
    expect([...backend.availability()]).toEqual([
      ['node-1', true],
      ['node-2', false],
      ['node-3', true],
    ]);
  });

  it('counts a node that does not report its own as available', () => {
    const nodes = [1, 2, 3].map(() => new ScriptedBackend(new VirtualClock()));
    const backend = new QuorumBackend({ nodes, log: new KeptLog() });
    expect(backend.availability()).toEqual(nodes.map((_, position) => [`node ${position + 1}`, true]));
  });
});

describe('the merged view of single nodes', () => {
  const look = ({ backend }: QuorumClient) => quorum.clock.until(backend.inspect(name, 10));

  it('groups votes by quorum claim, for any node claims that won, and shows the largest token', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    await ask(client, 0, first);
    await quorum.clock.advance(5);
    const last = await ask(client, 1, nodeClaimId(first, 2));
    const { holders } = await look(client);
    expect(holders).toMatchObject([{ id: first, fencingToken: (last as { fencingToken: number }).fencingToken }]);
  });

  it('shows a lock as kept when a majority keeps it, not before', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    for (const position of [0, 1, 2]) await ask(client, position, first);
    const states: string[] = [];
    for (const node of client.nodes) {
      await quorum.clock.until(node.release({ name, id: first, keepUntil: quorum.clock.now() + 20_000 }));
      states.push((await look(client)).holders[0]!.state);
    }
    expect(states).toEqual(['held', 'kept', 'kept']);
  });

  it('lists each waiter once, the longest waiting first, and no holder that waits for a further vote', async () => {
    quorum = new VirtualQuorum(3);
    const [client, holder] = [await quorum.join(), await quorum.join()];
    await ask(client, 2, 'other.host.3:0');
    const lock = await quorum.clock.until(holder.acquire(name));
    await ask(client, 0, first, true);
    await quorum.clock.advance(5);
    for (const position of [0, 1]) await ask(client, position, second, true);
    await quorum.clock.advance(5);
    await ask(client, 1, nodeClaimId(first, 1), true);
    const { holders, waiters } = await look(client);
    expect(holders.map(({ id: claim }) => claim)).toEqual([LockHandle.holdOf(lock).claim.id]);
    expect(waiters.map(({ id: claim, waited }) => [claim, waited])).toEqual([
      [first, 10],
      [second, 5],
    ]);
  });

  it('lists no name that only a minority holds', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    await ask(client, 0, first);
    const names: string[] = [];
    for await (const each of client.operators.views.list()) names.push(each);
    expect(names).toEqual([]);
  });

  it('revokes no lock by the token of an earlier grant', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    const lock = await quorum.clock.until(client.acquire(name));
    const { fencingToken } = lock;
    await quorum.clock.advance(1);
    const { id: claim } = LockHandle.holdOf(lock).claim;
    const revoke = (token: number) =>
      quorum.clock.until(client.backend.revoke(name, [{ id: claim, fencingToken: token }]));
    expect(await revoke(fencingToken - 1)).toEqual([]);
    expect(quorum.holders(name)).not.toContain(undefined);
    expect(await revoke(fencingToken)).toEqual([claim]);
  });

  it('reports no forced release if most of the votes had ended by themselves before', async () => {
    quorum = new VirtualQuorum(3);
    const client = await quorum.join();
    for (const position of [0, 1, 2]) await ask(client, position, first);
    const { holders } = await look(client);
    let views = 0;
    // Inspected once more; then they are gone.
    client.nodes[0]!.before = (kind) => {
      if (kind !== 'view' || ++views < 2) return;
      for (const server of quorum.servers.slice(0, 2)) server.faults.lose(name);
    };
    expect(await quorum.clock.until(client.backend.revoke(name, holders))).toEqual([]);
    expect(views).toBe(2);
  });
});
