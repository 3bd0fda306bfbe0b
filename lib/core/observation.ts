import {
  channels,
  type LockAcquireContext,
  type LockAcquireOutcome,
  type LockSubject,
} from '../diagnostics/channels.js';
import { LockError, type LockErrorCode } from '../errors/lock-errors.js';
import type { CallOptions, ResolvedLockOptions } from './options.js';
import type { Clock } from './clock.js';
import type { Hold } from './hold.js';
import type { LockBackend } from './lock-backend.js';
import { LockHandle } from './lock-handle.js';
import { labelOf } from '../diagnostics/name-kind.js';
import { inRoot } from './root-context.js';

const outcomes: Partial<Record<LockErrorCode, LockAcquireOutcome>> = {
  LOCK_CONTENDED: 'contended',
  LOCK_WAIT_TIMEOUT: 'timeout',
  LOCK_QUEUE_FULL: 'queue_full',
  LOCK_UNAVAILABLE: 'unavailable',
};

/** True when a subscriber wants to know of requests. Most processes have none: a request then costs nothing more. */
export const requestsAreObserved = (): boolean =>
  channels.acquire.hasSubscribers ||
  channels.hold.hasSubscribers ||
  channels.acquired.hasSubscribers ||
  channels.contended.hasSubscribers;

/** Learns of a client in the middle of the engine: it must not throw. */
export interface ClientListener {
  lost(hold: Hold): void;
}

/** Tells what happens to the locks of one connection. All of it in the async context of the caller, where not said otherwise. */
export class Observation {
  listener: ClientListener | undefined;
  /** `Clock.now()` of the last grant or renewal by the backend. Always a number: it is written with each grant, which must allocate nothing. */
  answeredAt = Number.NEGATIVE_INFINITY;
  /** True when a call has failed since. */
  isDoubted = true;

  /** @param connection its name, for subscribers */
  constructor(
    readonly connection: string,
    private readonly clock: Clock,
    private readonly backend: Pick<LockBackend, 'nodeOf'>,
  ) {}

  /** The backend has granted or renewed a lock. */
  answered(now: number): void {
    this.answeredAt = now;
    // One node of a cluster says nothing of another one, where a call has failed.
    this.isDoubted &&= this.backend.nodeOf !== undefined;
  }

  subjectOf(key: string, { templates, kind, method, label }: ResolvedLockOptions): LockSubject {
    return { key, template: labelOf(key, templates), connection: this.connection, kind, method, label };
  }

  /** Follows one request to its end. @param join asks for the lock */
  async request(
    key: string,
    options: CallOptions,
    join: (request: LockAcquireContext) => Promise<LockHandle>,
  ): Promise<LockHandle> {
    const { calledAt = this.clock.now() } = options;
    const { template, connection, kind, method, label } = this.subjectOf(key, options);
    // Written out: V8 makes slow objects of literals with a spread, at several times the cost of all the rest.
    const request: LockAcquireContext = {
      key,
      template,
      connection,
      kind,
      method,
      label,
      contended: false,
      holder: undefined,
      trace: undefined,
      handOff: undefined,
      waited: undefined,
      outcome: undefined,
      fencingToken: undefined,
      error: undefined,
    };
    const { start, asyncEnd, error: failed } = channels.acquire;
    start.publish(request);
    try {
      const lock = await join(request);
      const { fencingToken } = lock;
      const waited = this.clock.now() - calledAt;
      request.waited = waited;
      request.outcome = 'acquired';
      request.fencingToken = fencingToken;
      asyncEnd.publish(request);
      if (channels.acquired.hasSubscribers) channels.acquired.publish({ key, fencingToken, waited });
      this.holdStarts(LockHandle.holdOf(lock), request);
      return lock;
    } catch (error) {
      Object.assign(request, { waited: this.clock.now() - calledAt, outcome: outcomeOf(error, options), error });
      failed.publish(request);
      asyncEnd.publish(request);
      throw error;
    }
  }

  /** The caller did not get the lock at once. In no request's async context. */
  contended(request: LockAcquireContext, holder: LockAcquireContext['holder']): void {
    request.holder = holder ?? request.holder;
    if (request.contended) return;
    request.contended = true;
    if (!channels.contended.hasSubscribers) return;
    const { key, template, connection, kind, method, label } = request;
    channels.contended.publish({ key, template, connection, kind, method, label, holder: request.holder });
  }

  /** @param request left out for an adopted lock */
  holdStarts(hold: Hold, request?: LockAcquireContext): void {
    if (!channels.hold.hasSubscribers) return;
    const { key, template, connection, kind, method, label } = request ?? this.subjectOf(hold.name, hold.options);
    hold.context = {
      key,
      template,
      connection,
      kind,
      method,
      label,
      fencingToken: hold.fencingToken,
      request,
      run: undefined,
      held: undefined,
      outcome: undefined,
      error: undefined,
    };
    channels.hold.start.publish(hold.context);
    // Lost before the caller went on: another call has read the clock, or the shutdown has begun.
    if (hold.lost) inRoot(() => this.fail(hold));
  }

  /** In no request's async context. */
  holdIsLost(hold: Hold): void {
    const { name: key, fencingToken, lost } = hold;
    this.listener?.lost(hold);
    if (channels.lost.hasSubscribers) channels.lost.publish({ key, fencingToken, reason: lost!.reason });
    this.fail(hold);
  }

  private fail({ context, lost }: Hold): void {
    if (!context) return;
    context.error = lost;
    channels.hold.error.publish(context);
  }

  holdEnds(hold: Hold, outcome: 'released' | 'exported'): void {
    const { name: key, fencingToken, acquiredAt, context, lost } = hold;
    const channel = channels[outcome];
    if (!channel.hasSubscribers && !context) return;
    const held = this.clock.now() - acquiredAt;
    channel.publish({ key, fencingToken, held });
    if (!context) return;
    context.held = held;
    context.outcome = lost ? 'lost' : outcome;
    channels.hold.asyncEnd.publish(context);
  }

  /**
   * In no request's async context. Not for a hold that has ended: its lease does not matter.
   * @param leaseLeft milliseconds of the lease before the reply was applied
   * @param provisional as it was then
   */
  renewed(
    hold: Hold,
    outcome: 'renewed' | 'lost' | 'unanswered',
    leaseLeft: number,
    { isUsed, provisional }: Pick<Hold, 'isUsed' | 'provisional'> = hold,
  ): void {
    if (!isUsed || !channels.renewed.hasSubscribers) return;
    const { name, fencingToken, lease, options } = hold;
    channels.renewed.publish({
      ...this.subjectOf(name, options),
      fencingToken,
      outcome,
      leaseLeft,
      lease,
      provisional,
    });
  }
}

function outcomeOf(error: unknown, { signal, wait, tryFor = 0 }: CallOptions): LockAcquireOutcome {
  if (signal?.aborted && error === signal.reason) return 'aborted';
  if (!(error instanceof LockError)) return 'failed';
  // One try of a call for several names, which waits for this name afterwards.
  if (error.code === 'LOCK_CONTENDED' && wait === 0 && tryFor > 0) return 'retried';
  return outcomes[error.code] ?? 'failed';
}
