import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryLockBackend, MemoryLockServer } from 'nestjs-redis-lock/testing';
import { type ClaimRef, exclusive, type LockBackend, type LockDemand } from 'nestjs-redis-lock/backend';
import { RedisBackend } from '../../support/backends.js';
import { Party } from '../../../conformance/party.js';
import { until } from '../../fault/support/conditions.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { randomRuns } from '../../support/random-runs.js';
import { sharedRedisUrl } from '../../support/redis-server.js';

/** One call to a backend. Claims, parties and names are counted. `leave`: the longest holder releases the lock. */
type Step =
  | {
      readonly what: 'ask';
      readonly party: number;
      readonly name: number;
      readonly enqueue: boolean;
      readonly demand: LockDemand;
      readonly lease: number;
      readonly reserve: number;
    }
  | { readonly what: 'again'; readonly claim: number; readonly lease: number; readonly reserve: number }
  | { readonly what: 'release'; readonly claim: number; readonly keep: number }
  | {
      readonly what: 'renew';
      readonly claim: number;
      readonly later: number;
      readonly lease: number;
      readonly reserve: number;
    }
  | { readonly what: 'adopt'; readonly claim: number; readonly party: number; readonly later: number }
  | { readonly what: 'leave'; readonly name: number }
  | { readonly what: 'revoke'; readonly name: number };

const runs = randomRuns<[Step[]]>({ usual: 150, deep: 1_000 });
const parties = 3;
const names = 2;
/** In that time nothing ends by itself except pushed grants that are not confirmed, after 3 s. */
const lease = fc.constantFrom(20_000, 40_000, 60_000);
const reserve = fc.constantFrom(0, 0, 5);
const madeUp = 10 ** 12;
/** Distance of the shown token from the granted one: a token of its block, of an earlier grant, or one that was never issued. */
const later = fc.constantFrom(0, 0, 3, -1, madeUp);
const claim = fc.nat({ max: 5 });
const shared: LockDemand = { kind: 'shared', permits: 1, limit: 0 };
const demand = fc.oneof(
  { weight: 3, arbitrary: fc.constant(exclusive) },
  { weight: 2, arbitrary: fc.constant(shared) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('permits' as const),
      permits: fc.integer({ min: 1, max: 2 }),
      limit: fc.integer({ min: 2, max: 3 }),
    }),
  },
);
const party = fc.nat({ max: parties - 1 });
const name = fc.constantFrom(0, 0, 0, 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 14,
    arbitrary: fc.record({
      what: fc.constant('ask' as const),
      party,
      name,
      enqueue: fc.constantFrom(true, true, false),
      demand,
      lease,
      reserve,
    }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('again' as const), claim, lease, reserve }) },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('release' as const), claim, keep: fc.constantFrom(0, 0, 0, 30_000) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('renew' as const),
      claim,
      later,
      lease,
      reserve,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('adopt' as const), claim, party, later }),
  },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('leave' as const), name }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('revoke' as const), name }) },
);

interface Asked extends ClaimRef {
  readonly party: Party;
  readonly demand: LockDemand;
  readonly enqueue: boolean;
  /** The least number of tokens that it has for hand-offs. */
  inHand: number;
}

/** Only an exclusive holder hands the lock on inside its process. */
const reserveFor = ({ demand }: Asked, reserve: number): number => (demand.kind === 'exclusive' ? reserve : 0);

/** One side: parties at a backend, and what they have requested. */
class Side {
  readonly claims: Asked[] = [];
  readonly names = Array.from({ length: names }, () => `table:${randomUUID()}`);

  constructor(readonly parties: readonly Party[]) {}

  /** Takes a step. Returns the replies and the state, without the parts that differ between backends. */
  async take(step: Step): Promise<unknown> {
    const answer = await this.answer(step).catch(
      (error: unknown) => (error as { code?: string }).code ?? String(error),
    );
    return { answer, ...(await this.stand()) };
  }

  private async answer(step: Step): Promise<unknown> {
    if (step.what === 'ask') {
      const by = this.parties[step.party]!;
      const asked = {
        ...by.claim(this.names[step.name]!),
        party: by,
        demand: step.demand,
        enqueue: step.enqueue,
        inHand: 0,
      };
      this.claims.push(asked);
      return this.ask(asked, step.lease, step.reserve);
    }
    if (step.what === 'leave' || step.what === 'revoke') {
      const [backend, name] = [this.parties[0]!.backend, this.names[step.name]!];
      const holders = [...(await backend.inspect!(name, 0)).holders].sort((a, b) => a.fencingToken! - b.fencingToken!);
      if (step.what === 'leave') return holders[0] && backend.release({ name, id: holders[0].id });
      const revoked = await backend.revoke!(name, holders);
      return revoked.map((claim) => this.numberOf(claim)).toSorted((a, b) => a - b);
    }
    const asked = this.claims[step.claim % this.claims.length];
    if (!asked) return 'nothing to do';
    switch (step.what) {
      case 'again':
        return this.ask(asked, step.lease, step.reserve);
      case 'release':
        return asked.party.release(asked, step.keep);
      case 'renew': {
        const fencingToken = await this.tokenOf(asked, step.later);
        const [reply] = await asked.party.backend.renew([
          { ...asked, fencingToken, lease: step.lease, reserve: reserveFor(asked, step.reserve) },
        ]);
        return typeof reply === 'object' ? { othersWait: reply.othersWait } : reply;
      }
      case 'adopt': {
        const fencingToken = await this.tokenOf(asked, step.later);
        const by = this.parties[step.party]!;
        const mine = by.claim(asked.name);
        this.claims.push({ ...asked, ...mine, party: by, inHand: 0 });
        const reply = await by.adopt(mine, { id: asked.id, fencingToken });
        return typeof reply === 'number' ? 'adopted' : reply;
      }
    }
  }

  private async ask(asked: Asked, lease: number, reserve: number): Promise<unknown> {
    const { party, demand, enqueue } = asked;
    asked.inHand = reserveFor(asked, reserve);
    const reply = await party.ask(asked, { lease, reserve: asked.inHand, demand, enqueue });
    if (reply.status !== 'granted') return { status: reply.status, holder: this.numberOf(reply.holder!.id) };
    const inHand = reply.tokensUntil - reply.fencingToken >= asked.inHand;
    return { status: reply.status, othersWait: reply.othersWait, inHand };
  }

  /** The token that it shows: counted from 1 if it does not hold. */
  private async tokenOf({ name, id: claim, party, inHand }: Asked, later: number): Promise<number> {
    const { holders } = await party.backend.inspect!(name, 0);
    const token = holders.find((holder) => holder.id === claim)?.fencingToken ?? 1;
    return token + (later === madeUp ? madeUp : Math.min(later, inHand));
  }

  /** The holders, in the order of the tokens, and the waiters. */
  private async stand(): Promise<object> {
    const views = await Promise.all(
      this.names.map(async (name) => {
        const { kind, limit, holders, waiters } = await this.parties[0]!.backend.inspect!(name, 100);
        return {
          kind,
          limit,
          holders: [...holders]
            .sort((a, b) => a.fencingToken! - b.fencingToken!)
            .map(({ id: claim, state, permits }) => ({ claim: this.numberOf(claim), state, permits })),
          waiters: waiters.map(({ id: claim, kind, permits }) => ({ claim: this.numberOf(claim), kind, permits })),
        };
      }),
    );
    return { views };
  }

  /** The claims that got grants, in the order in which each party got them. */
  sent(): number[][] {
    // Messages of the previous run may still come.
    return this.parties.map(({ grants }) =>
      grants.map(({ id: claim }) => this.numberOf(claim)).filter((one) => one >= 0),
    );
  }

  private numberOf(claim: string): number {
    return this.claims.findIndex((one) => one.id === claim);
  }
}

describe('the lock table and the scripts', () => {
  const started: Party[] = [];
  let memory: Party[];
  let redis: Party[];

  beforeAll(async () => {
    const join = async (backend: LockBackend): Promise<Party> => {
      const party = new Party(backend);
      started.push(party);
      await party.start();
      return party.reachable();
    };
    const server = new MemoryLockServer();
    const settings = { commandTimeout: 5_000, poll: 60_000 };
    memory = await Promise.all(
      Array.from({ length: parties }, () => join(new MemoryLockBackend({ server, ...settings }))),
    );
    redis = await Promise.all(
      Array.from({ length: parties }, () =>
        join(new RedisBackend({ redis: sharedRedisUrl(), ...settings, log: new KeptLog() })),
      ),
    );
  });
  afterAll(() => Promise.all(started.map((one) => one.backend.close())));

  it(
    'agree on every random sequence of calls: on holders, waiters, their order, refusals, and notifications',
    async () => {
      let granted = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 30, size: 'max' }), async (steps) => {
          for (const one of [...memory, ...redis]) one.grants.length = 0;
          const [table, scripts] = [new Side(memory), new Side(redis)];
          const began = performance.now();
          const answers: unknown[] = [];
          for (const one of steps) answers.push([one.what, await table.take(one), await scripts.take(one)]);
          // A grant that was not confirmed has ended: the reply depends on the moment.
          const inTime = performance.now() - began < 2_000;
          const sentByTable = table.sent();
          // Messages travel on connections of their own.
          if (inTime) await until('as many messages', () => scripts.sent().flat().length >= sentByTable.flat().length);
          const sentByScripts = scripts.sent();
          for (const side of [table, scripts]) {
            for (const asked of side.claims) await asked.party.release(asked);
          }
          if (!inTime) return;
          granted += sentByTable.flat().length;
          for (const [what, byTable, byScripts] of answers as Array<[string, unknown, unknown]>)
            expect([what, byScripts]).toEqual([what, byTable]);
          expect(sentByScripts).toEqual(sentByTable);
        }),
        runs,
      );
      // The runs were not empty.
      expect(granted).toBeGreaterThan(runs.numRuns / 3);
    },
    runs.numRuns * 200,
  );
});
