import { getEventListeners } from 'node:events';
import { describe, expect, it, jest } from '@jest/globals';
import { LockConnection } from '../../../lib/connection/lock.connection.js';
import { LockClient } from '../../../lib/core/lock-client.js';
import type { LockHolderInfo } from '../../../lib/core/lock-info.js';
import { lockDefaults } from '../../../lib/core/options.js';
import { LockConfigurationError } from '../../../lib/errors/lock-errors.js';
import type { CampaignOptions } from '../../../lib/leader/leadership.js';
import { runOnLeader } from '../../../lib/nest/leader/leader-work.js';
import { deferred } from '../../support/scripted-backend.js';
import { Candidate, Constituency, ended } from './candidate.js';

/** Two processes; the first leads. */
async function twoCandidates() {
  const place = new Constituency();
  const [a, b] = [new Candidate(place), new Candidate(place)];
  void a.campaign();
  await place.clock.advance(1);
  void b.campaign();
  await place.clock.advance(1);
  expect([a.election.isLeader, b.election.isLeader]).toEqual([true, false]);
  return { clock: place.clock, server: place.server, a, b };
}

describe('an election', () => {
  it('has one leader, with an epoch that rises from leader to leader', async () => {
    const { clock, a, b } = await twoCandidates();
    a.terms[0]!.resign();
    await clock.advance(10);
    expect([a.election.isLeader, b.election.isLeader]).toEqual([false, true]);
    expect(b.terms[0]!.epoch).toBeGreaterThan(a.terms[0]!.epoch);
    await clock.advance(1_000);
    b.terms[0]!.resign();
    await clock.advance(10);
    expect([a.election.isLeader, b.election.isLeader]).toEqual([true, false]);
    expect(a.terms[1]!.epoch).toBeGreaterThan(b.terms[0]!.epoch);
    await clock.advance('1h');
    expect([...a.problems, ...b.problems]).toEqual([]);
  });

  it('is renewed for as long as the function runs, and the lock is released when it has settled, not before', async () => {
    const place = new Constituency();
    const { clock } = place;
    const [a, b] = [new Candidate(place), new Candidate(place)];
    void a.campaign({}, () => clock.sleep('5m'));
    await clock.advance(1);
    void b.campaign();
    await clock.advance(10 * 60_000);
    a.terms[0]!.resign();
    expect(a.election.isLeader).toBe(false);
    await clock.advance(299_000);
    expect(a.backend.releases).toEqual([]);
    expect(b.election.isLeader).toBe(false);
    await clock.advance(1_010);
    expect(b.election.isLeader).toBe(true);
    expect(a.terms).toHaveLength(1);
  });

  it('hands over by one command when the leader resigns: its release elects the next in line', async () => {
    const { clock, a, b } = await twoCandidates();
    const before = { a: a.backend.requests, b: b.backend.acquires.length };
    a.terms[0]!.resign();
    await clock.advance(10);
    expect(b.election.isLeader).toBe(true);
    expect(a.backend.requests - before.a).toBe(1);
    expect(a.backend.releases).toHaveLength(1);
    expect(b.backend.acquires).toHaveLength(before.b);
  });

  it('hands over by one command when the leader shuts down', async () => {
    const { clock, a, b } = await twoCandidates();
    const before = { a: a.backend.requests, b: b.backend.acquires.length };
    const closed = a.connection.beforeApplicationShutdown();
    await clock.advance(10);
    await closed;
    expect(b.election.isLeader).toBe(true);
    expect(a.backend.requests - before.a).toBe(1);
    expect(b.backend.acquires).toHaveLength(before.b);
  });

  it('is followed at the end of the lease when the leader crashes', async () => {
    const { clock, a, b } = await twoCandidates();
    await clock.advance(3_000);
    // Its commands do not arrive any more.
    await a.backend.close();
    await clock.advance(26_900);
    expect(b.election.isLeader).toBe(false);
    await clock.advance(200);
    expect(b.election.isLeader).toBe(true);
    expect(a.election.isLeader).toBe(false);
  });

  it('tells a leader that was paused past its lease before its first await, and elects it again only when its work has settled', async () => {
    const place = new Constituency();
    const { clock } = place;
    const a = new Candidate(place);
    void a.campaign({}, () => clock.sleep('1m'));
    await clock.advance(1);
    clock.stall(31_000);
    const [{ signal }] = a.terms as [(typeof a.terms)[0]];
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(a.election.isLeader).toBe(false);
    await clock.advance(59_000);
    expect(a.terms).toHaveLength(1);
    await clock.advance(3_000);
    expect(a.terms).toHaveLength(2);
  });

  it('shows a loss by the flag, then by the signal, then by the hook', async () => {
    const place = new Constituency();
    const { clock, server } = place;
    const a = new Candidate(place);
    const { events } = a;
    const flag = () => (a.election.isLeader ? 'leads' : 'leads not');
    let signal!: AbortSignal;
    void a.election.campaign(
      async (leadership) => {
        ({ signal } = leadership);
        events.push(`function: ${flag()}`);
        signal.addEventListener('abort', () => events.push(`signal: ${flag()}`));
        await ended(signal);
      },
      {
        onElected: ({ epoch }) => events.push(`elected: ${flag()} ${epoch > 0}`),
        onStepDown: (reason) => events.push(`stepped down: ${flag()} ${signal.aborted} ${reason === signal.reason}`),
      },
    );
    await clock.advance(1);
    server.faults.lose('scheduler');
    await clock.advance(10_100);
    expect(events.slice(0, 4)).toEqual([
      'elected: leads true',
      'function: leads',
      'signal: leads not',
      'stepped down: leads not true true',
    ]);
  });

  it('ends the signal of what a function left behind, before another process leads', async () => {
    const place = new Constituency();
    const { clock } = place;
    const a = new Candidate(place);
    let aborted: number | undefined;
    void a.election.campaign(async ({ signal }) => {
      signal.addEventListener('abort', () => (aborted = a.backend.releases.length));
      await clock.sleep('1m');
    });
    await clock.advance(60_001);
    expect(aborted).toBe(0);
    expect(a.backend.releases).toHaveLength(1);
  });

  it('gives the leadership up when the function throws, logs the error, and stands again', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    let calls = 0;
    void a.election.campaign(async ({ signal }) => {
      if (calls++ === 0) throw new Error('no disk');
      await ended(signal);
    });
    await place.clock.advance(1_100);
    expect(a.election.isLeader).toBe(true);
    expect(a.problems).toEqual([expect.stringMatching(/^error Election 'scheduler': .*has failed.*Error: no disk/)]);
  });

  it('does not log the error of a function that ended by its signal', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    void a.election.campaign(async ({ signal, resign }) => {
      queueMicrotask(resign);
      await ended(signal);
      throw signal.reason as Error;
    });
    await place.clock.advance(10);
    expect(a.backend.releases).toHaveLength(1);
    expect(a.problems).toEqual([]);
  });

  it('logs an AbortError of the function only when its signal has not aborted', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    const aborted = (): Error => Object.assign(new Error('fetch was aborted'), { name: 'AbortError' });
    let terms = 0;
    void a.election.campaign(async ({ signal, resign }) => {
      if (terms++ > 0) throw aborted();
      queueMicrotask(resign);
      await ended(signal);
      throw aborted();
    });
    await place.clock.advance(10);
    expect([terms, a.problems]).toEqual([1, []]);
    await place.clock.advance(1_100);
    expect([terms, a.problems]).toEqual([2, [expect.stringMatching(/^error .*has failed.*fetch was aborted/)]]);
  });

  it.each([
    ['ends at once', async () => undefined, /has ended at once/],
    ['throws', () => Promise.reject(new Error('no disk')), /no disk/],
    [
      'throws before its first await',
      () => {
        throw new Error('no disk');
      },
      /no disk/,
    ],
  ])(
    'does not spin with a function that %s: at most 12 calls in the first 2 minutes, 4 in each later one',
    async (_, lead, line) => {
      const place = new Constituency();
      const a = new Candidate(place);
      let calls = 0;
      void a.election.campaign(() => {
        calls++;
        return lead();
      });
      await place.clock.advance('2m');
      expect(calls).toBeGreaterThan(6);
      expect(calls).toBeLessThanOrEqual(12);
      calls = 0;
      await place.clock.advance('10m');
      expect(calls).toBeGreaterThanOrEqual(20);
      expect(calls).toBeLessThanOrEqual(40);
      expect(a.problems[0]).toMatch(line);
    },
  );

  it('pauses longer and longer after terms of two seconds, too', async () => {
    const { clock, ...place } = new Constituency();
    const a = new Candidate({ clock, ...place });
    let terms = 0;
    void a.election.campaign(async () => {
      terms++;
      await clock.sleep('2s');
      throw new Error('no disk');
    });
    await clock.advance('10m');
    expect(terms).toBeGreaterThan(10);
    expect(terms).toBeLessThanOrEqual(45);
  });

  it('stands again within a second after a term of half a minute, however many terms there were', async () => {
    const place = new Constituency();
    const { clock } = place;
    const a = new Candidate(place);
    let calls = 0;
    void a.election.campaign(async () => {
      calls++;
      await clock.sleep('30s');
    });
    for (let terms = 1; terms <= 10; terms++) {
      expect(calls).toBeLessThanOrEqual(terms);
      await clock.advance(31_001);
    }
    expect(calls).toBeGreaterThanOrEqual(10);
  });

  it('begins anew at once when the application withdraws it, and with pauses when that happens in a loop', async () => {
    const { clock, ...place } = new Constituency();
    const a = new Candidate({ clock, ...place });
    const begun: number[] = [];
    const loop = async (): Promise<void> => {
      while (clock.now() < 300_000) {
        const withdrawn = new AbortController();
        const lead = async (): Promise<void> => {
          begun.push(clock.now());
          withdrawn.abort();
        };
        await a.election.campaign(lead, { signal: withdrawn.signal });
      }
    };
    void loop();
    await clock.advance('5m');
    expect(begun.slice(0, 2)).toEqual([0, 0]);
    const pauses = begun.slice(2).map((at, index) => at - begun[index + 1]!);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(1_000);
    expect(Math.min(...pauses.slice(5))).toBeGreaterThanOrEqual(15_000);
    expect(a.backend.requests).toBeLessThan(100);
  });

  it('tries on with pauses while Redis is unavailable, and tells it once', async () => {
    const place = new Constituency();
    const { clock, server } = place;
    server.faults.unavailable('10m');
    const a = new Candidate(place);
    void a.campaign();
    await clock.advance('9m');
    expect(a.backend.acquires.length).toBeGreaterThan(15);
    expect(a.backend.acquires.length).toBeLessThan(45);
    expect(a.problems.filter((line) => line.includes('cannot join the line'))).toHaveLength(1);
    await clock.advance('2m');
    expect(a.election.isLeader).toBe(true);
  });

  it.each([
    [0, [500, 1_500, 3_500, 7_500, 15_500, 30_500, 45_500]],
    [0.5, [750, 2_250, 5_250, 11_250, 23_250, 45_750]],
  ])(
    'tries again after pauses that grow to half a minute, with a random half left out: not all candidates at once (%d)',
    async (random, tries) => {
      const place = new Constituency();
      const { clock, server } = place;
      const attempts: number[] = [];
      const chance = jest.spyOn(Math, 'random').mockReturnValue(random);
      try {
        server.faults.unavailable('10m');
        const a = new Candidate(place);
        const acquire = a.backend.acquire.bind(a.backend);
        a.backend.acquire = (request) => {
          attempts.push(clock.now());
          return acquire(request);
        };
        void a.campaign();
        await clock.advance(46_000);
        expect(attempts).toEqual([0, ...tries]);
      } finally {
        chance.mockRestore();
      }
    },
  );

  it('tells the next outage as well: after a term, and after a long time in the line', async () => {
    const place = new Constituency();
    const { clock, server } = place;
    const [a, b] = [new Candidate(place), new Candidate(place)];
    const told = (): number => a.problems.filter((line) => line.includes('cannot join the line')).length;
    void a.campaign();
    for (const outages of [1, 2]) {
      server.faults.unavailable('5m');
      await clock.advance('6m');
      expect([told(), a.election.isLeader]).toEqual([outages, true]);
    }
    void b.campaign();
    await clock.advance(1);
    a.terms.at(-1)!.resign();
    await clock.advance('10m');
    const acquire = a.backend.acquire.bind(a.backend);
    for (const refusals of [3, 4]) {
      a.backend.acquire = () => Promise.reject(new LockConfigurationError('no permission'));
      await clock.advance('2m');
      expect([told(), b.election.isLeader]).toEqual([refusals, true]);
      a.backend.acquire = acquire;
      await clock.advance('10m');
    }
  });

  it('steps down while Redis is unavailable for longer than the lease, and leads again afterwards', async () => {
    const place = new Constituency();
    const { clock, server } = place;
    const a = new Candidate(place);
    void a.campaign();
    await clock.advance('1h');
    expect(a.terms).toHaveLength(1);
    server.faults.unavailable('10m');
    await clock.advance('5m');
    expect(a.election.isLeader).toBe(false);
    expect(a.terms[0]!.signal.reason).toMatchObject({ code: 'LOCK_LOST' });
    await clock.advance('6m');
    expect(a.election.isLeader).toBe(true);
  });

  it('ends with its signal, in the line and at the head: no record, no timer and no candidate is left', async () => {
    const { clock, server, a, b } = await twoCandidates();
    const c = new Candidate({ clock, server });
    const [leads, waits] = [new AbortController(), new AbortController()];
    const done = [c.campaign({ signal: waits.signal })];
    await clock.advance(1);
    expect(server.inspect('scheduler').waiters).toHaveLength(2);
    waits.abort();
    await Promise.all(done);
    await clock.advance(1);
    expect(server.inspect('scheduler').waiters).toHaveLength(1);

    await b.connection.beforeApplicationShutdown();
    await a.connection.beforeApplicationShutdown();
    const d = new Candidate({ clock, server });
    const over = d.campaign({ signal: leads.signal });
    await clock.advance(1);
    expect(d.election.isLeader).toBe(true);
    leads.abort(new Error('enough'));
    expect(d.terms[0]!.signal.reason).toBe(leads.signal.reason);
    await over;
    expect(server.inspect('scheduler')).toMatchObject({ holders: [], waiters: [] });
    expect(clock.pending).toBe(0);
    expect(d.problems).toEqual([]);
  });

  it('leaves nothing at its signal when something else ends it', async () => {
    const a = new Candidate(new Constituency());
    const { signal } = new AbortController();
    const over = a.campaign({ signal });
    await a.connection.beforeApplicationShutdown();
    await over;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('never leads when its signal has aborted before', async () => {
    const a = new Candidate(new Constituency());
    await a.campaign({ signal: AbortSignal.abort() });
    expect(a.backend.acquires).toEqual([]);
  });

  it('steps down before waiters are rejected when the application closes, and leaves no timer', async () => {
    const { clock, a, b } = await twoCandidates();
    const held = await b.locks.acquire('printer');
    const order: string[] = [];
    const waiting = a.locks.acquire('printer', { wait: '1h' }).catch((error: Error) => order.push(error.message));
    await clock.advance(1);
    a.terms[0]!.signal.addEventListener('abort', () =>
      order.push(`leads ${a.election.isLeader}, ${a.client.counts.waiting} wait`),
    );
    const closed = a.connection.beforeApplicationShutdown();
    expect(order).toEqual(['leads false, 1 wait']);
    await clock.advance(1);
    await Promise.all([closed, waiting]);
    expect(order).toEqual(['leads false, 1 wait', expect.stringMatching(/shuts down/)]);
    await held.release();
    await b.connection.beforeApplicationShutdown();
    expect(clock.pending).toBe(0);
  });

  it('leaves no timer behind a function that ignores its signal at the shutdown', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    void a.campaign({ candidate: () => true }, () => new Promise(() => undefined));
    await place.clock.advance(1);
    const closed = a.connection.beforeApplicationShutdown();
    await place.clock.advance(501);
    await closed;
    expect(place.clock.pending).toBe(0);
  });

  it('is followed while a function that ignores its signal works on beyond shutdownTimeout, and not before that', async () => {
    const place = new Constituency();
    const [a, b] = [new Candidate(place), new Candidate(place)];
    let isAtWork = false;
    void a.campaign({}, async () => {
      isAtWork = true;
      await new Promise(() => undefined);
    });
    await place.clock.advance(1);
    void b.campaign({}, () => new Promise(() => undefined));
    const closed = a.connection.beforeApplicationShutdown();
    await place.clock.advance(490);
    expect([isAtWork, a.election.isLeader, b.election.isLeader]).toEqual([true, false, false]);
    await place.clock.advance(20);
    await closed;
    expect(b.election.isLeader).toBe(true);
    const left = b.connection.beforeApplicationShutdown();
    await place.clock.advance(501);
    await left;
  });

  it('ends with the application on a connection that was refused', async () => {
    const a = new Candidate(new Constituency());
    await a.connection.open();
    const settings = { name: 'second', strict: false, shutdownTimeout: 500 };
    const client = new LockClient(a.backend, { defaults: lockDefaults, maxWaiters: 10 }, a.log);
    const second = new LockConnection(client, settings);
    const over = second.election('scheduler').campaign(async () => undefined);
    await second.beforeApplicationShutdown();
    await over;
    expect(second.election('scheduler').isLeader).toBe(false);
  });

  it.each<[string, (begin: (options: CampaignOptions) => Promise<void>) => Promise<void>]>([
    ['a signal that has aborted', (begin) => begin({ signal: AbortSignal.abort() })],
    [
      'a candidate that withdraws',
      (begin) => {
        const withdrawn = new AbortController();
        const candidate = () => {
          withdrawn.abort();
          return true;
        };
        return begin({ signal: withdrawn.signal, candidate });
      },
    ],
    ['an application that has closed', (begin) => begin({})],
  ])('does not spin in a loop that begins it again, with %s', async (what, begin) => {
    const { clock, ...place } = new Constituency();
    const a = new Candidate({ clock, ...place });
    if (what.startsWith('an application')) await a.connection.beforeApplicationShutdown();
    let begun = 0;
    const loop = async (): Promise<void> => {
      while (begun < 1_000) {
        begun++;
        await begin((options) => a.campaign(options));
      }
    };
    void loop();
    await clock.advance('2m');
    expect(begun).toBeLessThanOrEqual(13);
    expect(a.terms).toEqual([]);
  });

  it('ends at once with the application while it pauses: no timer is left', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    const over = a.election.campaign(async () => undefined);
    await place.clock.advance(1);
    await a.connection.beforeApplicationShutdown();
    await over;
    expect(place.clock.pending).toBe(0);
  });

  it('warns of a function that goes on for a lease after its signal has aborted', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    void a.campaign({}, () => new Promise(() => undefined));
    await place.clock.advance(1);
    a.terms[0]!.resign();
    await place.clock.advance(29_999);
    expect(a.problems).toEqual([]);
    await place.clock.advance('1h');
    expect(a.problems).toEqual([expect.stringMatching(/^warn .*has gone on for 30000 ms/)]);
  });

  it('does not begin when the application has closed', async () => {
    const a = new Candidate(new Constituency());
    await a.connection.beforeApplicationShutdown();
    await a.campaign();
    expect(a.election.isLeader).toBe(false);
  });

  it('may be resigned while a renewal is under way: the reply changes nothing', async () => {
    const { clock, server, a, b } = await twoCandidates();
    await clock.advance(9_990);
    server.faults.delayCommands('500ms');
    await clock.advance(20);
    expect(a.backend.renewals.at(-1)!.replies).toBeUndefined();
    a.terms[0]!.resign();
    await clock.advance(5);
    expect(b.election.isLeader).toBe(true);
    await clock.advance(1_000);
    expect(b.election.isLeader).toBe(true);
    expect(a.problems).toEqual([]);
  });

  it('may be resigned twice, late, and in the hook: each leadership ends once', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    let elected = 0;
    let calls = 0;
    let downs = 0;
    void a.election.campaign(
      async ({ signal }) => {
        calls++;
        await ended(signal);
      },
      {
        onElected: ({ resign }) => {
          if (elected++ > 0) return;
          resign();
          resign();
          setTimeout(resign);
        },
        onStepDown: () => downs++,
      },
    );
    await place.clock.advance(2_000);
    expect({ elected, calls, downs }).toEqual({ elected: 2, calls: 1, downs: 1 });
  });

  it('goes on when hooks throw or reject, and logs it', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    void a.campaign({
      onElected: () => {
        throw new Error('first hook');
      },
      // oxlint-disable-next-line typescript/no-misused-promises -- a caller may do this
      onStepDown: async () => {
        throw new Error('second hook');
      },
    });
    await place.clock.advance(1);
    expect(a.terms).toHaveLength(1);
    a.terms[0]!.resign();
    await place.clock.advance(1_100);
    expect(a.terms).toHaveLength(2);
    expect(a.problems.slice(0, 2)).toEqual([
      expect.stringMatching(/^error .*onElected has failed.*first hook/),
      expect.stringMatching(/^error .*onStepDown has failed.*second hook/),
    ]);
  });

  it('runs outside of the request that began it, inside its lock', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    const seen: unknown[] = [];
    await a.locks.using('request', async () => {
      void a.election.campaign(async ({ signal, epoch }) => {
        seen.push(a.locks.current('request'), a.locks.current()?.fencingToken === epoch);
        await ended(signal);
      });
      await place.clock.advance(1);
    });
    expect(seen).toEqual([undefined, true]);
  });

  it('is not bounded by the defaults of the module for locks', async () => {
    const place = new Constituency();
    const a = new Candidate(place, {
      wait: 0,
      minHold: 7_200_000,
      maxHold: 60_000,
      onLost: 'throw',
      fairness: 'strict',
    });
    const b = new Candidate(place, { wait: 0, lease: 3_000 });
    void a.campaign();
    await place.clock.advance(1);
    void b.campaign({ lease: '1m' });
    await place.clock.advance('1h');
    expect(a.terms).toHaveLength(1);
    expect(b.backend.acquires.length).toBeGreaterThan(50);
    expect(b.backend.releases).toEqual([]);
    a.terms[0]!.resign();
    await place.clock.advance(1_500);
    const [{ state, leaseLeft }] = place.server.inspect('scheduler').holders as [LockHolderInfo];
    expect([state, leaseLeft > 58_000]).toEqual(['held', true]);
  });

  it('is one for all modules of an application, which stands once for each', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    expect(a.locks.election('scheduler')).toBe(a.locks.election('scheduler'));
    const over = new AbortController();
    const done = a.campaign({ signal: over.signal });
    expect(() => a.locks.election('scheduler').campaign(async () => undefined)).toThrow(
      /Election.campaign: this application stands for 'scheduler' already/,
    );
    void a.locks.election('reports').campaign(({ signal }) => ended(signal));
    await place.clock.advance(1);
    expect([a.election.isLeader, a.locks.election('reports').isLeader]).toEqual([true, true]);
    over.abort();
    await done;
    void a.campaign();
    await place.clock.advance(1);
    expect(a.election.isLeader).toBe(true);
  });

  it.each<[string, unknown, unknown, RegExp]>([
    ['no function', 'lead', {}, /Election.campaign: 'lead' given in place of the function that leads/],
    ['a misspelt option', () => 1, { leese: 1 }, /Did you mean 'lease'\?/],
    ['a wrong lease', () => 1, { lease: 'soon' }, /lease: 'soon'/],
    ['a wrong candidate', () => 1, { candidate: true }, /candidate: true given, a function expected/],
    ['a wrong signal', () => 1, { signal: {} }, /signal: an object given/],
  ])('refuses %s at once', (_, lead, options, problem) => {
    const a = new Candidate(new Constituency());
    expect(() => a.election.campaign(lead as never, options as never)).toThrow(problem);
    expect(() => a.locks.election('')).toThrow(/RedisLockService.election: key: the lock name is empty/);
  });
});

it('what a handler of the leader streams runs inside, and the next leader leads when the response is over', async () => {
  const { a, b, clock } = await twoCandidates();
  const sent = deferred<void>();
  const epochs: unknown[] = [];
  async function* steps(): AsyncGenerator<number> {
    epochs.push(a.client.current('scheduler')?.fencingToken);
    yield 1;
  }
  const answer = { byHand: false, end: () => sent.promise };
  const body = runOnLeader(a.election, a.election.enter()!, steps, answer) as AsyncGenerator<number>;
  for await (const _ of body);
  expect(epochs).toEqual([a.terms[0]!.epoch]);
  a.terms[0]!.resign();
  await clock.advance(10);
  expect(b.election.isLeader).toBe(false);
  sent.resolve();
  await clock.advance(10);
  expect(b.election.isLeader).toBe(true);
});

it('a campaign of the application takes the place of the one for methods with @LeaderOnly, and leads', async () => {
  const place = new Constituency();
  const a = new Candidate(place);
  a.connection.election('scheduler').standIn('Reports.daily');
  await place.clock.advance(1);
  expect(a.election.isLeader).toBe(true);
  void a.campaign();
  await place.clock.advance(1_100);
  expect([a.election.isLeader, a.terms.length]).toEqual([true, 1]);
});

describe('the option candidate', () => {
  it('is asked each second by the present attempt alone, however many there were', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    let asked = 0;
    const candidate = (): boolean => {
      asked++;
      return true;
    };
    // The last of ten terms lasts.
    let terms = 0;
    void a.election.campaign(({ signal }) => (++terms < 10 ? undefined : ended(signal)), { candidate });
    await place.clock.advance('10m');
    expect(terms).toBe(10);
    asked = 0;
    await place.clock.advance('1m');
    expect(asked).toBe(60);
  });

  it('that fails again after it has answered is logged again', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    let answers = false;
    const candidate = (): boolean => {
      if (!answers) throw new Error('no probe');
      return false;
    };
    void a.campaign({ candidate });
    for (const lines of [1, 2]) {
      answers = false;
      await place.clock.advance('1m');
      expect(a.problems).toHaveLength(lines);
      answers = true;
      await place.clock.advance('1m');
    }
  });

  it('keeps the process out of the line while it is false, and lets it join within a second afterwards', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    let fit = false;
    void a.campaign({ candidate: () => fit });
    await place.clock.advance('1h');
    expect(a.backend.acquires).toEqual([]);
    fit = true;
    await place.clock.advance(1_001);
    expect(a.election.isLeader).toBe(true);
  });

  it('takes the process out of the line within a second, and makes it step down where it leads', async () => {
    const { clock, server, a, b } = await twoCandidates();
    const c = new Candidate({ clock, server });
    let fit = true;
    void c.campaign({ candidate: () => fit });
    await clock.advance(5_000);
    expect(server.inspect('scheduler').waiters).toHaveLength(2);
    fit = false;
    await clock.advance(1_000);
    expect(server.inspect('scheduler').waiters).toHaveLength(1);
    fit = true;
    await clock.advance(3_000);
    await a.connection.beforeApplicationShutdown();
    await b.connection.beforeApplicationShutdown();
    await clock.advance(10);
    expect(c.election.isLeader).toBe(true);
    fit = false;
    await clock.advance(1_000);
    expect(c.election.isLeader).toBe(false);
    expect(c.terms[0]!.signal.reason).toMatchObject({
      name: 'AbortError',
      message: expect.stringContaining('candidate'),
    });
    expect(server.inspect('scheduler').holders).toEqual([]);
  });

  it('is asked again at the election: a process that became sick in the line never leads', async () => {
    const { clock, server, a, b } = await twoCandidates();
    const c = new Candidate({ clock, server });
    let fit = true;
    void c.campaign({ candidate: () => fit });
    await clock.advance(100);
    await b.connection.beforeApplicationShutdown();
    fit = false;
    a.terms[0]!.resign();
    await clock.advance(10);
    expect(c.terms).toEqual([]);
    expect(server.inspect('scheduler').holders).toEqual([]);
  });

  it.each([
    ['before the process joins the line', 1],
    ['at the election', 2],
  ])('may end the campaign %s: the process leads no more', async (_, call) => {
    const place = new Constituency();
    const a = new Candidate(place);
    const over = new AbortController();
    let calls = 0;
    const candidate = (): boolean => {
      if (++calls === call) over.abort();
      return true;
    };
    const done = a.campaign({ candidate, signal: over.signal });
    await place.clock.advance(1);
    await done;
    expect(a.terms).toEqual([]);
    expect(place.server.inspect('scheduler')).toMatchObject({ holders: [], waiters: [] });
    expect(place.clock.pending).toBe(0);
  });

  it('may take longer than the lease at the election: then no hook is called', async () => {
    const place = new Constituency();
    const a = new Candidate(place);
    let [calls, elected] = [0, 0];
    const candidate = (): boolean => {
      if (++calls === 2) place.clock.stall(31_000);
      return true;
    };
    void a.campaign({ candidate, onElected: () => elected++ });
    await place.clock.advance(1);
    expect([calls, elected, a.problems.length]).toEqual([2, 0, 1]);
    await place.clock.advance('1m');
    expect([elected, a.terms.length]).toEqual([1, 1]);
  });

  it.each<[string, () => unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('no probe');
      },
      /candidate: it threw no probe/,
    ],
    ['returns a promise', () => Promise.reject(new Error('no probe')), /candidate: it returned an object/],
  ])('counts as false when it %s, which is logged once', async (_, candidate, line) => {
    const place = new Constituency();
    const a = new Candidate(place);
    void a.campaign({ candidate: candidate as () => boolean });
    await place.clock.advance('1m');
    expect(a.backend.acquires).toEqual([]);
    expect(a.problems).toEqual([expect.stringMatching(line)]);
  });
});
