import { type Duration, parseDuration } from '../../core/duration.js';
import { readOptions } from '../../errors/read-options.js';
import { inRoot } from '../../core/root-context.js';
import type { CommandConnection } from './command-connection.js';
import type { LockLog } from '../../core/lock-log.js';
import { isRefused, toLockError } from './redis-errors.js';
import { redisLines, redisRefusals } from './redis.messages.js';

/** How many replicas must have a lock before its holder starts. */
export interface ReplicasOptions {
  /** At least 1. */
  count: number;
  /** How long they may take, in ms. At least 1, at most a third of `commandTimeout`: other replies wait for it. */
  timeout: Duration | (string & {});
}

/** The option `replicas`, in milliseconds. */
export interface ReplicaTerms {
  readonly count: number;
  readonly timeout: number;
}

/** @throws LockConfigurationError naming what is wrong. */
export function parseReplicas(given: unknown, commandTimeout: number): ReplicaTerms | undefined {
  if (given === undefined) return undefined;
  const { count, timeout } = readOptions('replicas', given, ['count', 'timeout']);
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 1) throw redisRefusals.replicaCount(count);
  const terms = { count, timeout: parseDuration('replicas.timeout', timeout, { min: 1 }) };
  if (terms.timeout > commandTimeout / 3) throw redisRefusals.replicaTimeout(terms.timeout, commandTimeout);
  return terms;
}

/** In time, too few replicas confirmed what was written. */
export class TooFewReplicas extends Error {
  override readonly name = 'TooFewReplicas';

  constructor(
    readonly confirmed: number,
    readonly terms: ReplicaTerms,
  ) {
    super();
  }
}

/** The master granted a lock, but too few replicas confirmed it: the grant does not count and has to be undone. */
export class UnconfirmedGrant extends Error {
  override readonly name = 'UnconfirmedGrant';

  constructor(override readonly cause: unknown) {
    super();
  }
}

/**
 * Confirms that replicas have what was written on the command connection (WAIT). Scripts write with each reply that contains a lease, even
 * an unchanged one: otherwise a grant whose reply was lost with an earlier connection would count without a confirmation. Redis runs no
 * other command of a connection that waits, so one WAIT is open at a time. Calls in that time share the next one, which covers everything
 * before it.
 */
export class ReplicaConfirmation {
  private underWay: Promise<unknown> | undefined;
  private next: Promise<void> | undefined;

  constructor(
    private readonly connection: CommandConnection,
    private readonly terms: ReplicaTerms,
  ) {}

  /**
   * Settles when enough replicas have everything that was sent up to and in this turn of the event loop. @throws TooFewReplicas, or errors
   * of ioredis
   */
  confirm(): Promise<void> {
    this.next ??= inRoot(() => this.confirmInTurn());
    return this.next;
  }

  /** Warns at the start of what will fail later. @throws LockConfigurationError when WAIT is not permitted */
  async rehearse(log: LockLog): Promise<void> {
    const { connection, terms } = this;
    try {
      const confirmed = await connection.copies(terms.count, terms.timeout);
      if (confirmed < terms.count) log.warn(redisLines.fewReplicas(connection.address, confirmed, terms.count));
    } catch (error) {
      if (isRefused(error)) throw toLockError(error, connection.address);
    }
  }

  private async confirmInTurn(): Promise<void> {
    // Without an open WAIT this is still the same turn: the new one follows its commands directly.
    await this.underWay;
    this.next = undefined;
    const answer = this.connection.copies(this.terms.count, this.terms.timeout);
    this.underWay = answer.catch(() => undefined);
    const confirmed = await answer;
    if (confirmed < this.terms.count) throw new TooFewReplicas(confirmed, this.terms);
  }
}
