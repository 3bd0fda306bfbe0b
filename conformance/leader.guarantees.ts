import { once } from 'node:events';
import type { CampaignOptions, Leadership } from 'nestjs-redis-lock/backend';
import type { ClientBench, WatchedMember } from './client-bench.js';
import { conditions } from './conditions.js';
import { expect } from './expectations.js';

/** The terms of one process: it leads until its signal aborts. */
class Candidate {
  readonly terms: Leadership[] = [];
  readonly over: Promise<void>;
  private readonly happened = conditions();

  constructor(
    readonly member: WatchedMember,
    readonly name: string,
    options: CampaignOptions,
  ) {
    this.over = this.election.campaign(async (leadership) => {
      this.terms.push(leadership);
      this.happened.changed();
      if (!leadership.signal.aborted) await once(leadership.signal, 'abort');
    }, options);
  }

  get election() {
    return this.member.election(this.name);
  }

  /** Its leadership of this number. */
  async term(number = 1): Promise<Leadership> {
    await this.happened.until(() => this.terms.length >= number);
    return this.terms[number - 1]!;
  }
}

/** Elections on a client. */
export function elections(bench: ClientBench): void {
  const { describe, it, join, unique } = bench;

  /** Two processes; the first leads, the second waits in the backend's queue. */
  const candidates = async (options: CampaignOptions = {}) => {
    const name = unique();
    const first = new Candidate(await join(), name, options);
    const { signal, epoch, resign } = await first.term();
    const member = await join();
    const second = new Candidate(member, name, options);
    // The first wait of a client asks again once it has subscribed.
    await member.backend.until(() => member.backend.waiting(name) > 0);
    return { name, first, second, signal, epoch, resign };
  };

  describe('an election', () => {
    it('goes from a leader that resigns to the next in line by its release, with a larger epoch', async () => {
      const { name, first, second, signal, epoch, resign } = await candidates();
      expect([first.election.isLeader, second.election.isLeader]).toEqual([true, false]);
      resign();
      expect([first.election.isLeader, signal.aborted]).toEqual([false, true]);
      const next = await second.term();
      expect(next.epoch).toBeGreaterThan(epoch);
      expect(first.member.backend.releases.filter((call) => call.name === name)).toHaveLength(1);
      expect(second.election.isLeader).toBe(true);
    });

    it('goes to the next in line when the leader shuts down', async () => {
      const { first, second, signal, epoch } = await candidates();
      const closed = first.member.close(60_000);
      expect([first.election.isLeader, signal.aborted]).toEqual([false, true]);
      expect((await second.term()).epoch).toBeGreaterThan(epoch);
      await Promise.all([closed, first.over]);
    });

    it('is won by another process at the end of the lease of a leader that has vanished', async () => {
      const { first, second, signal, epoch } = await candidates({ lease: 1_200 });
      await first.member.backend.close();
      expect((await second.term()).epoch).toBeGreaterThan(epoch);
      expect([first.election.isLeader, signal.aborted]).toEqual([false, true]);
    });

    it('is lost when the backend forgets the leader: it learns it by its next renewal, and stands again', async () => {
      const { name, first, second, signal } = await candidates({ lease: 1_800 });
      const { id } = first.member.backend.acquires.find((call) => call.name === name)!;
      // Takes the lock away by force: with the claim's own id.
      await second.member.backend.release({ name, id });
      await second.term();
      if (!signal.aborted) await once(signal, 'abort');
      expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
      expect([first.election.isLeader, second.election.isLeader]).toEqual([false, true]);
      const { epoch, resign } = await second.term();
      const { backend } = first.member;
      await backend.until(() => backend.waiting(name) > 0);
      resign();
      expect((await first.term(2)).epoch).toBeGreaterThan(epoch);
    });

    if (bench.capabilities.views)
      it('shows its leader to all: itself, the candidates, and others', async () => {
        const { name, second, epoch, resign } = await candidates();
        const other = (await join()).election(name);
        // Over a quorum it may be larger.
        expect((await other.leader())!.fencingToken).toBeGreaterThanOrEqual(epoch);
        const leaders = other.observe({ poll: 100 });
        const before = (await leaders.next()).value!;
        expect(before.fencingToken).toBeGreaterThanOrEqual(epoch);
        resign();
        const { epoch: next } = await second.term();
        // Between two leaders there may be none.
        const after = (await leaders.next()).value ?? (await leaders.next()).value!;
        expect(after.fencingToken).toBeGreaterThanOrEqual(next);
        expect(after.client === before.client).toBe(false);
        await leaders.return!();
        expect(other.isLeader).toBe(false);
      });
  });
}
