import { certainUntil, type Clock } from '../../lib/core/clock.js';
import type {
  AcquireReply,
  AcquireRequest,
  AdoptReply,
  AdoptRequest,
  ClaimRef,
  LockBackend,
  LockBackendEvents,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../../lib/core/lock-backend.js';
import { LockUnavailableError } from '../../lib/errors/lock-errors.js';

/** A backend with replies of the test: for failures that a real backend cannot produce at a chosen moment.
 * By default it grants, releases and renews everything; it does not record holders.
 */
export class ScriptedBackend implements LockBackend {
  readonly commandTimeout = 300;
  readonly poll = 5000;
  readonly claimWindow = 3000;
  /** All calls, in order: `acquire a`, `release a`, `renew a,b`. */
  readonly log: string[] = [];
  readonly acquired: AcquireRequest[] = [];
  readonly released: ReleaseRequest[] = [];
  readonly renewed: RenewRequest[] = [];
  readonly adopted: AdoptRequest[] = [];
  events!: LockBackendEvents;
  closed = false;
  /** The replies to its grants and renewals. */
  tokensInHand = 1_000;
  othersWait = false;
  private token = 0;

  constructor(readonly clock: Clock) {}

  onAcquire = (request: AcquireRequest): AcquireReply | Promise<AcquireReply> =>
    this.grant(request.lease, request.reserve);
  onAdopt = ({ lease }: AdoptRequest): AdoptReply | Promise<AdoptReply> => ({
    validUntil: certainUntil(this.clock.now(), lease),
  });
  onRelease = (_claim: ClaimRef): ReleaseReply | Promise<ReleaseReply> => 'released';
  onRenew = (holds: readonly RenewRequest[]): RenewReply[] | Promise<RenewReply[]> =>
    holds.map(({ lease }) => this.renewal(lease));

  /** A grant of this moment. */
  grant(lease: number, reserve = this.tokensInHand): AcquireReply {
    // Far apart, as the real ones are: microseconds.
    this.token += 1_000_000;
    const fencingToken = this.token;
    return {
      status: 'granted',
      fencingToken,
      validUntil: certainUntil(this.clock.now(), lease),
      tokensUntil: fencingToken + Math.min(reserve, this.tokensInHand),
      othersWait: this.othersWait,
    };
  }

  /** A renewal of this moment. */
  renewal(lease: number): Exclude<RenewReply, string> {
    const validUntil = certainUntil(this.clock.now(), lease);
    return { validUntil, tokensUntil: this.token + this.tokensInHand, othersWait: this.othersWait };
  }

  async start(_clientId: string, events: LockBackendEvents): Promise<void> {
    this.events = events;
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { name, id: claim, kind, permits, limit, lease, reserve, enqueue, again, giveUpAt } = request;
    const demand = { kind, permits, limit };
    this.log.push(`acquire ${name}`);
    const isWanted = (): boolean => request.isWanted();
    this.acquired.push({ name, id: claim, ...demand, lease, reserve, enqueue, again, giveUpAt, isWanted });
    return this.onAcquire(request);
  }

  async release({ name, id: claim, keepUntil = 0 }: ReleaseRequest): Promise<ReleaseReply> {
    this.log.push(`release ${name}`);
    this.released.push(keepUntil > 0 ? { name, id: claim, keepUntil } : { name, id: claim });
    return this.onRelease({ name, id: claim });
  }

  async renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    this.log.push(`renew ${holds.map(({ name }) => name).join()}`);
    this.renewed.push(...holds);
    return this.onRenew(holds);
  }

  async adopt(request: AdoptRequest): Promise<AdoptReply> {
    this.log.push(`adopt ${request.name}`);
    this.adopted.push(request);
    return this.onAdopt(request);
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

/** The error of a real backend when the fate of a sent command is unknown. */
export function unanswered(): LockUnavailableError {
  return new LockUnavailableError('Redis did not answer.', { uncertain: true });
}

/** A promise that the test settles. */
export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (reason: unknown) => void } {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => ([resolve, reject] = [onResolve, onReject]));
  return { promise, resolve, reject };
}
