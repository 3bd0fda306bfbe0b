import { type Duration, parseDuration } from '../../core/duration.js';
import { readOptions } from '../../core/options.js';
import type { CommandConnection } from './command-connection.js';
import type { LockLog } from '../../core/lock-log.js';
import { isRefused, toLockError } from './redis-errors.js';
import { redisLines, redisRefusals } from './redis.messages.js';

/** How many replicas must have a lock before its holder starts. */
export interface ReplicasOptions {
  /** At least 1. */
  count: number;
  /** How long they may take, in ms. At least 1, at most a third of `commandTimeout`: nothing else is answered meanwhile. */
  timeout: Duration;
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

/** Too few replicas have what was written, as far as they said in time. */
export class TooFewReplicas extends Error {
  override readonly name = 'TooFewReplicas';

  constructor(
    readonly confirmed: number,
    readonly terms: ReplicaTerms,
  ) {
    super();
  }
}

/** A lock was granted by the master, and is not known to be on enough replicas: the grant is worth nothing and has to be undone. */
export class UnconfirmedGrant extends Error {
  override readonly name = 'UnconfirmedGrant';

  constructor(override readonly cause: unknown) {
    super();
  }
}

/**
 * Asks whether replicas have what was written on the command connection (WAIT). Scripts write wherever they answer with a lease, also
 * one that they find as it was: else a grant whose answer got lost with an earlier connection would count without a question. Redis runs
 * nothing else for a connection that waits, so there is one question at a time, and whoever asks meanwhile shares the next one: it covers
 * everything before it.
 */
export class ReplicaConfirmation {
  private underWay: Promise<unknown> | undefined;
  private next: Promise<void> | undefined;

  constructor(
    private readonly connection: CommandConnection,
    private readonly terms: ReplicaTerms,
  ) {}

  /** Settles when enough replicas have everything that was sent in this turn of the event loop, and before. @throws TooFewReplicas, or what ioredis says */
  ask(): Promise<void> {
    this.next ??= this.askInTurn();
    return this.next;
  }

  /** Tells at the start what will go wrong later. @throws LockConfigurationError where WAIT is not permitted */
  async rehearse(log: LockLog): Promise<void> {
    const { connection, terms } = this;
    try {
      const confirmed = await connection.copies(terms.count, terms.timeout);
      if (confirmed < terms.count) log.warn(redisLines.fewReplicas(connection.address, confirmed, terms.count));
    } catch (error) {
      if (isRefused(error)) throw toLockError(error, connection.address);
    }
  }

  private async askInTurn(): Promise<void> {
    // With none under way this is still the same turn: the question goes out right behind the commands it is about.
    await this.underWay;
    this.next = undefined;
    const answer = this.connection.copies(this.terms.count, this.terms.timeout);
    this.underWay = answer.catch(() => undefined);
    const confirmed = await answer;
    if (confirmed < this.terms.count) throw new TooFewReplicas(confirmed, this.terms);
  }
}
