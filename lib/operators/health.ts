import { exclusive } from '../core/lock-backend.js';
import type { LockClient } from '../core/lock-client.js';
import { refusals } from '../core/refusals.js';
import { inRoot } from '../core/root-context.js';
import type { LockFinding, LockFindingCode } from '../diagnostics/lock-finding.js';
import { randomText } from '../diagnostics/platform.js';
import { LockConfigurationError, type LockLostReason } from '../errors/lock-errors.js';
import { operatorLines } from './operators.messages.js';

/**
 * Why a connection is not up. `unavailable`: calls reject with LOCK_UNAVAILABLE. `refused`: Redis refuses what locks need, such as a
 * permission. With the others locks are available: `server_away`: some of the servers are not, of a quorum or a cluster. `no_messages`:
 * hand-offs from other processes are found by polling only. `renewal_overdue`: the renewal of a lock is late by half of its lease.
 * `lock_lost`: a lock expired, or was revoked, in the last minute. `findings`: the doctor found a mistake in the server's settings.
 */
export type LockHealthReason =
  'unavailable' | 'refused' | 'server_away' | 'no_messages' | 'renewal_overdue' | 'lock_lost' | 'findings';

/** What a health route shows beside the status. It contains no names of locks and no addresses: health routes are public. */
export interface LockHealthData {
  /** Why the status is not `up`. */
  readonly reasons: readonly LockHealthReason[];
  /** How many locks this process holds, and how many of its callers wait for one. */
  readonly held: number;
  readonly waiting: number;
  /** For how many ms the oldest of them has been held. Undefined when none is. */
  readonly oldestHold: number | undefined;
  /** Milliseconds since Redis has granted or renewed a lock. Undefined when it never has. */
  readonly lastReply: number | undefined;
  /** What the doctor found in the server's settings as the application started; remarks, too, which change no status. */
  readonly findings: readonly LockFindingCode[];
}

export interface LockHealth extends LockHealthData {
  readonly status: 'up' | 'degraded' | 'down';
}

/** A grant or renewal of this age (ms) still shows that locks are available. */
const freshness = 5_000;
/** How long a loss counts (ms). */
const lossMemory = 60_000;
/** The lease of a probe (ms), unless the locks of the application have a shorter one. A probe is released at once. */
const probeLease = 5_000;
/** Names to try until each node of a cluster has one. */
const mostNames = 1_000;

/** Answers whether a lock is available and can be kept now. Contention and long holds are no illness. */
export class Health {
  /** True when one of the last probes failed, and another did not. */
  private isPartial = false;
  private lostAt = Number.NEGATIVE_INFINITY;
  /** What is known to be wrong with the server until the next start, without what the application ignores. */
  findings: readonly LockFinding[] = [];
  /** True when the log has the reason for which no lock is available. */
  private isTold = false;
  /** While a probe is under way: many who ask at once send one. */
  private probing: Promise<void> | undefined;

  /** Hidden from loggers: it has the id of the client. */
  readonly #client: LockClient;

  constructor(client: LockClient) {
    this.#client = client;
  }

  lost(reason: LockLostReason): void {
    // The others are the end of the application, or work that took too long.
    if (reason === 'expired' || reason === 'revoked') this.lostAt = this.#client.clock.now();
  }

  /** @param check resolves when a lock is available. Undefined: the connection closes. */
  async report(check: (() => Promise<void>) | undefined): Promise<LockHealth> {
    const illness = check ? await this.examine(check) : refusals.shuttingDown();
    const reasons: LockHealthReason[] = illness ? [reasonOf(illness)] : [...this.problems()];
    if (this.findings.some(({ remark }) => !remark)) reasons.push('findings');
    return {
      status: illness ? 'down' : reasons.length > 0 ? 'degraded' : 'up',
      reasons,
      ...this.#client.counts,
      oldestHold: rounded(this.oldestHold),
      lastReply: rounded(this.lastReply),
      findings: [...new Set(this.findings.map(({ code }) => code))],
    };
  }

  /** Writes the reason to the log, since no public answer has it: once, as it may be asked each second. */
  private async examine(check: () => Promise<void>): Promise<Error | undefined> {
    try {
      await check();
      this.isTold = false;
      return undefined;
    } catch (error) {
      const illness = error as Error;
      const { log, observation } = this.#client;
      if (!this.isTold) log.warn(operatorLines.ill(observation.connection, illness.message));
      this.isTold = true;
      return illness;
    }
  }

  /** Takes a lock of its own, unless the backend has granted or renewed one a short while ago. @throws LockError when none is available */
  async check(): Promise<void> {
    const { clock, observation } = this.#client;
    const isFresh = clock.now() - observation.answeredAt < freshness;
    const isKnown = isFresh && !observation.isDoubted && !this.isPartial;
    if (isKnown && this.servers.every(([, isAvailable]) => isAvailable)) return;
    this.probing ??= inRoot(() => this.probe()).finally(() => (this.probing = undefined));
    await this.probing;
  }

  /** Of the present, without a request. */
  problems(): readonly LockHealthReason[] {
    const { clock, backend } = this.#client;
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
    for (const hold of this.#client.holds) if (hold.isOverdue(now)) return true;
    return false;
  }

  /** Milliseconds since the backend has granted or renewed a lock; undefined when it never has. */
  get lastReply(): number | undefined {
    const { clock, observation } = this.#client;
    const age = clock.now() - observation.answeredAt;
    return age === Number.POSITIVE_INFINITY ? undefined : age;
  }

  /** How long the oldest lock has been held, in ms; undefined when none is. */
  get oldestHold(): number | undefined {
    const ages = [...this.#client.holds].map(({ acquiredAt }) => this.#client.clock.now() - acquiredAt);
    return ages.length === 0 ? undefined : Math.max(...ages);
  }

  private get servers(): ReadonlyArray<readonly [server: string, isAvailable: boolean]> {
    return [...(this.#client.backend.availability?.() ?? [['', true] as const])];
  }

  /** One lock at each server that has locks of its own. It fails when none of them grants it. */
  private async probe(): Promise<void> {
    const { clock, observation } = this.#client;
    // A call that fails from here on is a new doubt.
    observation.isDoubted = false;
    const outcomes = await Promise.allSettled(this.probeNames().map((name) => this.take(name)));
    const failures = outcomes.filter((outcome) => outcome.status === 'rejected');
    this.isPartial = failures.length > 0;
    if (failures.length === outcomes.length) throw failures[0]!.reason;
    observation.answered(clock.now());
  }

  /** Takes a lock and releases it, as a caller would: a server that cannot write, is full, or refuses a permission shows here. */
  private async take(name: string): Promise<void> {
    const { backend, clock, releases } = this.#client;
    const id = this.#client.newClaimId();
    const lease = Math.min(this.#client.defaults.lease, probeLease);
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
    const { backend } = this.#client;
    const byNode = new Map<unknown, string>();
    const nodes = backend.nodeOf ? this.servers.length : 1;
    for (let tries = 0; tries < mostNames && byNode.size < nodes; tries++) {
      const name = `health-check:${randomText(16)}`;
      byNode.set(backend.nodeOf?.(name), name);
    }
    return [...byNode.values()];
  }
}

const reasonOf = (illness: Error): LockHealthReason =>
  illness instanceof LockConfigurationError ? 'refused' : 'unavailable';

const rounded = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : Math.round(ms));
