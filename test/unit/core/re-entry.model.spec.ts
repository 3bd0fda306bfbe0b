import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AcquireReply, ReleaseReply } from '../../../lib/core/lock-backend.js';
import { startFlow } from '../../../lib/core/lock-flow.js';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient } from './virtual-client.js';

/**
 * Programs of flows: each step enters a lock of one of two clients and runs its children inside, one after the other, side by
 * side, or detached (not awaited; they may run on after the lock was released). Names are entered in ascending order
 * on the way down, unless they are held already: no program can deadlock by itself.
 */
interface Step {
  readonly client: 0 | 1;
  readonly name: number;
  readonly pause: number;
  readonly how: 'nested' | 'parallel' | 'detached';
  readonly children: readonly Step[];
}

const names = ['a', 'b', 'c'];

const stepOfDepth = (depth: number): fc.Arbitrary<Step> =>
  fc.record({
    // Mostly one client: two of them share no flow, only the server.
    client: fc.constantFrom<Array<0 | 1>>(0, 0, 0, 1),
    name: fc.nat({ max: names.length - 1 }),
    pause: fc.nat({ max: 2 }),
    how: fc.constantFrom<Array<Step['how']>>('nested', 'parallel', 'detached'),
    children: depth === 0 ? fc.constant([]) : fc.array(stepOfDepth(depth - 1), { maxLength: 3, size: 'max' }),
  });

/** What a flow holds, from its own point of view: an immutable chain, as the model sees it. */
interface ModelHold {
  users: number;
  readonly lock: string;
  readonly outer: ModelHold | undefined;
}

/** One server for both clients: exclusive, first come, first served. */
class Place {
  readonly holders = new Map<string, string>();
  requests = 0;
  private token = 0;
  private readonly queues = new Map<string, Array<{ claim: string; grant: () => void }>>();

  acquire(name: string, claim: string, granted: (token: number) => AcquireReply): Promise<AcquireReply> | AcquireReply {
    this.requests++;
    const take = (): AcquireReply => {
      this.holders.set(name, claim);
      this.token += 1_000;
      return granted(this.token);
    };
    if (!this.holders.has(name)) return take();
    return new Promise((resolve) => {
      const queue = this.queues.get(name) ?? [];
      this.queues.set(name, queue);
      queue.push({ claim, grant: () => resolve(take()) });
    });
  }

  release(name: string, claim: string): ReleaseReply {
    this.requests++;
    if (this.holders.get(name) !== claim) return 'absent';
    this.holders.delete(name);
    this.queues.get(name)?.shift()?.grant();
    return 'released';
  }
}

class Run {
  readonly place = new Place();
  readonly clients = [this.client(), this.client()] as const;
  /** Model: who is inside which lock, over both clients. */
  readonly inside = new Map<string, ModelHold>();
  readonly detached: Array<Promise<void>> = [];
  reentries = 0;
  entries = 0;

  private client(): VirtualClient {
    const v = new VirtualClient();
    v.backend.onAcquire = ({ name, id: claim, lease }) =>
      this.place.acquire(name, claim, (fencingToken) => {
        const validUntil = v.clock.now() + lease;
        return { status: 'granted', fencingToken, validUntil, tokensUntil: fencingToken, othersWait: false };
      });
    v.backend.onRelease = ({ name, id: claim }) => this.place.release(name, claim);
    return v;
  }

  async step({ client, name: index, pause, how, children }: Step, around: ModelHold | undefined): Promise<void> {
    const v = this.clients[client];
    const name = names[index]!;
    const lock = `${client}:${name}`;
    const held = find(around, lock);
    // The program must avoid deadlocks: names that would be taken out of order are skipped.
    if (!held && highest(around) >= index) return;

    const before = this.place.requests;
    // Local hand-off has tests of its own: here every entry that is no re-entry costs exactly one acquire and one release.
    const scopePromise = v.enter(name, { wait: Number.POSITIVE_INFINITY, fairness: 'strict' });
    if (held) {
      held.users++;
      this.reentries++;
      expect(this.place.requests).toBe(before);
    } else this.entries++;
    const scope = await scopePromise;

    let own: ModelHold;
    if (held) own = held;
    else {
      own = { users: 1, lock, outer: around };
      // Mutual exclusion over flows and clients: the model has no other flow inside this name.
      for (const other of [`0:${name}`, `1:${name}`]) expect(this.inside.get(other)).toBeUndefined();
      this.inside.set(lock, own);
    }
    const chain = held ? around : own;
    expect(scope.lock.isHeld).toBe(true);
    expect(scope.lock.depth === 1).toBe(!held);
    expect(this.place.holders.has(name)).toBe(true);

    await scope.run(async () => {
      expect(v.client.current(name)?.fencingToken).toBe(scope.lock.fencingToken);
      for (let turn = 0; turn < pause; turn++) await settled();
      if (how === 'nested') for (const child of children) await this.step(child, chain);
      else {
        const branches = children.map((child) => this.step(child, chain));
        if (how === 'parallel') await Promise.all(branches);
        else this.detached.push(...branches);
      }
      expect(this.inside.get(lock)).toBe(own);
      expect(scope.lock.isHeld).toBe(true);
    });

    own.users--;
    if (own.users === 0) this.inside.delete(lock);
    await scope.leave('worked');
    if (own.users === 0 && !this.inside.has(lock)) expect(scope.lock.isHeld).toBe(false);
  }
}

function find(chain: ModelHold | undefined, lock: string): ModelHold | undefined {
  for (let hold = chain; hold; hold = hold.outer) if (hold.lock === lock && hold.users > 0) return hold;
  return undefined;
}

/** The last name, in order, that the flow holds. */
function highest(chain: ModelHold | undefined): number {
  let top = -1;
  for (let hold = chain; hold; hold = hold.outer) {
    if (hold.users > 0) top = Math.max(top, names.indexOf(hold.lock.slice(2)));
  }
  return top;
}

describe('re-entry, over random programs of nested, parallel and detached calls', () => {
  it('agrees with the model: the same flows are inside, every lock is released, and a re-entry sends no request', async () => {
    let reentries = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(stepOfDepth(3), { minLength: 1, maxLength: 3 }), async (flows) => {
        const run = new Run();
        await Promise.all(flows.map((flow) => startFlow(() => run.step(flow, undefined))));
        // Detached branches may detach further ones.
        for (let done = 0; done < run.detached.length; done++) await run.detached[done];
        await settled();
        expect(run.place.holders.size).toBe(0);
        expect(run.inside.size).toBe(0);
        expect(run.place.requests).toBe(2 * run.entries);
        for (const { clock, client } of run.clients) {
          expect(clock.pending).toBe(0);
          expect(client.current()).toBeUndefined();
        }
        reentries += run.reentries;
      }),
      { numRuns: 150 },
    );
    // The programs were not empty.
    expect(reentries).toBeGreaterThan(20);
  });
});
