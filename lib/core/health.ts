import type { LockLostReason } from '../errors/lock-errors.js';
import { randomText } from '../diagnostics/platform.js';
import type { Clock } from './clock.js';
import type { Hold } from './hold.js';
import { exclusive, type LockBackend } from './lock-backend.js';
import type { Releases } from './releases.js';
import { inRoot } from './root-context.js';

/**
 * Why a connection is not up. `unavailable`: calls reject with LOCK_UNAVAILABLE. `refused`: Redis refuses what locks need, such as a
 * permission. With the others locks are available: `server_away`: some of the servers are not, of a quorum or a cluster. `no_messages`:
 * hand-offs from other processes are found by polling only. `renewal_overdue`: the renewal of a lock is late by half of its lease.
 * `lock_lost`: a lock expired, or was revoked, in the last minute. `findings`: the doctor found a mistake in the server's settings.
 */
export type LockHealthReason =
  'unavailable' | 'refused' | 'server_away' | 'no_messages' | 'renewal_overdue' | 'lock_lost' | 'findings';

/** A grant or renewal of this age (ms) still shows that locks are available. */
const freshness = 5_000;
/** How long a loss counts (ms). */
const lossMemory = 60_000;
/** The lease of a probe (ms), unless the locks of the application have a shorter one. A probe is released at once. */
const probeLease = 5_000;
/** Names to try until each node of a cluster has one. */
const mostNames = 1_000;

/** What it needs from its client. */
export interface HealthHost {
  readonly clock: Clock;
  readonly backend: LockBackend;
  readonly releases: Releases;
  /** Of locks without a lease of their own, in ms. */
  readonly lease: number;
  newClaimId(): string;
  holds(): Iterable<Hold>;
}

/** Answers whether a lock is available and can be kept now. Contention and long holds are no illness. */
export class Health {
  /** `Clock.now()` of the last grant or renewal by the backend. Always a number: it is written with each grant, which must allocate nothing. */
  private answeredAt = Number.NEGATIVE_INFINITY;
  /** True when a call has failed since. */
  private isDoubted = true;
  /** True when one of the last probes failed, and another did not. */
  private isPartial = false;
  private lostAt = Number.NEGATIVE_INFINITY;
  /** While a probe is under way: many who ask at once send one. */
  private probing: Promise<void> | undefined;

  constructor(private readonly host: HealthHost) {}

  /** The backend has granted or renewed a lock. */
  answered(now: number): void {
    this.answeredAt = now;
    // One node of a cluster says nothing of another one, where a call has failed.
    if (!this.host.backend.nodeOf) this.isDoubted = false;
  }

  /** A call has failed: the next check asks the backend. */
  doubt(): void {
    this.isDoubted = true;
  }

  lost(reason: LockLostReason): void {
    // The others are the end of the application, or work that took too long.
    if (reason === 'expired' || reason === 'revoked') this.lostAt = this.host.clock.now();
  }

  /** Takes a lock of its own, unless the backend has granted or renewed one a short while ago. @throws LockError when none is available */
  async check(): Promise<void> {
    const isKnown = this.host.clock.now() - this.answeredAt < freshness && !this.isDoubted && !this.isPartial;
    if (isKnown && this.servers.every(([, isAvailable]) => isAvailable)) return;
    this.probing ??= inRoot(() => this.probe()).finally(() => (this.probing = undefined));
    await this.probing;
  }

  /** Of the present, without a request. */
  problems(): readonly LockHealthReason[] {
    const { clock, backend } = this.host;
    const now = clock.now();
    const found: Array<[LockHealthReason, boolean]> = [
      ['server_away', this.isPartial || this.servers.some(([, isAvailable]) => !isAvailable)],
      ['no_messages', backend.isPolling ?? false],
      ['renewal_overdue', this.isAnyOverdue(now)],
      ['lock_lost', now - this.lostAt < lossMemory],
    ];
    return found.flatMap(([problem, isThere]) => (isThere ? [problem] : []));
  }

  /** A process may hold a million: no copy of them. */
  private isAnyOverdue(now: number): boolean {
    for (const hold of this.host.holds()) if (hold.isOverdue(now)) return true;
    return false;
  }

  /** Milliseconds since the backend has granted or renewed a lock; undefined when it never has. */
  get lastAnswer(): number | undefined {
    const age = this.host.clock.now() - this.answeredAt;
    return age === Number.POSITIVE_INFINITY ? undefined : age;
  }

  /** How long the oldest lock has been held, in ms; undefined when none is. */
  get oldestHold(): number | undefined {
    const ages = [...this.host.holds()].map(({ acquiredAt }) => this.host.clock.now() - acquiredAt);
    return ages.length === 0 ? undefined : Math.max(...ages);
  }

  private get servers(): ReadonlyArray<readonly [server: string, isAvailable: boolean]> {
    return [...(this.host.backend.availability?.() ?? [['', true] as const])];
  }

  /** One lock at each server that has locks of its own. It fails when none of them grants it. */
  private async probe(): Promise<void> {
    // A call that fails from here on is a new doubt.
    this.isDoubted = false;
    const outcomes = await Promise.allSettled(this.probeNames().map((name) => this.take(name)));
    const failures = outcomes.filter((outcome) => outcome.status === 'rejected');
    this.isPartial = failures.length > 0;
    if (failures.length === outcomes.length) throw failures[0]!.reason;
    this.answered(this.host.clock.now());
  }

  /** Takes a lock and releases it, as a caller would: a server that cannot write, is full, or refuses a permission shows here. */
  private async take(name: string): Promise<void> {
    const { backend, clock, releases } = this.host;
    const id = this.host.newClaimId();
    const lease = Math.min(this.host.lease, probeLease);
    await backend.acquire({
      ...exclusive,
      name,
      id,
      lease,
      reserve: 0,
      enqueue: false,
      again: false,
      giveUpAt: clock.now() + backend.commandTimeout,
      isWanted: () => true,
    });
    await releases.release({ name, id }, lease, 0);
  }

  /** New names, which no other caller locks: one, or one for each node of a cluster. */
  private probeNames(): string[] {
    const { backend } = this.host;
    const byNode = new Map<unknown, string>();
    const nodes = backend.nodeOf ? this.servers.length : 1;
    for (let tries = 0; tries < mostNames && byNode.size < nodes; tries++) {
      const name = `health-check:${randomText(16)}`;
      byNode.set(backend.nodeOf?.(name), name);
    }
    return [...byNode.values()];
  }
}
