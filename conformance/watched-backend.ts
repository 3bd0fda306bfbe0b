import type {
  AcquireReply,
  AcquireRequest,
  ActivityReport,
  ActivityReports,
  AdoptReply,
  AdoptRequest,
  ClaimRef,
  Clock,
  HolderRef,
  LockBackend,
  LockBackendEvents,
  LockSnapshot,
  PushedGrant,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from 'nestjs-redis-lock/backend';
import { conditions } from './conditions.js';
import { inTime, realTime, type SuiteTime, turn } from './time.js';

/** Wraps a backend: counts the calls of a client, and lets tests wait for replies. */
export class WatchedBackend implements LockBackend {
  readonly acquires: Array<{ name: string; id: string; reply?: AcquireReply }> = [];
  readonly releases: Array<ClaimRef & { reply?: ReleaseReply }> = [];
  readonly renewals: Array<{ holds: readonly RenewRequest[]; replies?: RenewReply[] }> = [];
  readonly adoptions: Array<AdoptRequest & { reply?: AdoptReply }> = [];
  readonly reported: ActivityReport[] = [];
  readonly grants: PushedGrant[] = [];
  recoveries = 0;
  isClosed = false;
  private readonly happened = conditions();

  private readonly inner: LockBackend;

  constructor(
    backend: LockBackend,
    private readonly time: SuiteTime = realTime,
  ) {
    this.inner = inTime(backend, time);
  }

  get clock(): Clock | undefined {
    return this.inner.clock;
  }

  get commandTimeout(): number {
    return this.inner.commandTimeout;
  }

  get poll(): number {
    return this.inner.poll;
  }

  get claimWindow(): number {
    return this.inner.claimWindow;
  }

  nodeOf(name: string): unknown {
    return this.inner.nodeOf?.(name);
  }

  /** All calls so far. */
  get requests(): number {
    return this.acquires.length + this.releases.length + this.renewals.length;
  }

  /** Claims whose last reply was to wait for this lock. */
  waiting(name: string): number {
    return new Set(
      this.acquires.filter((call) => call.name === name && call.reply?.status === 'queued').map(({ id }) => id),
    ).size;
  }

  until(condition: () => boolean): Promise<void> {
    return this.happened.until(condition);
  }

  start(clientId: string, events: LockBackendEvents): Promise<void> {
    return this.inner.start(clientId, {
      ...events,
      granted: (grant) => {
        this.grants.push(grant);
        events.granted(grant);
        this.happened.changed();
      },
      recovered: (...what) => {
        this.recoveries++;
        events.recovered(...what);
        this.happened.changed();
      },
    });
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const call: (typeof this.acquires)[number] = { name: request.name, id: request.id };
    this.acquires.push(call);
    call.reply = await this.inner.acquire(request);
    // The client handles the reply first.
    void turn(this.time).then(() => this.happened.changed());
    return call.reply;
  }

  async release(request: ReleaseRequest): Promise<ReleaseReply> {
    const { name, id: claim } = request;
    const call: (typeof this.releases)[number] = { name, id: claim };
    this.releases.push(call);
    call.reply = await this.inner.release(request);
    void turn(this.time).then(() => this.happened.changed());
    return call.reply;
  }

  async renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    const call: (typeof this.renewals)[number] = { holds };
    this.renewals.push(call);
    call.replies = await this.inner.renew(holds);
    void turn(this.time).then(() => this.happened.changed());
    return call.replies;
  }

  inspect(name: string, waiters: number): Promise<LockSnapshot> {
    return this.inner.inspect!(name, waiters);
  }

  revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    return this.inner.revoke!(name, holders);
  }

  async adopt(request: AdoptRequest): Promise<AdoptReply> {
    const call: (typeof this.adoptions)[number] = { ...request };
    this.adoptions.push(call);
    call.reply = await this.inner.adopt!(request);
    return call.reply;
  }

  async report(report: ActivityReport): Promise<void> {
    this.reported.push(report);
    await this.inner.report?.(report);
    void turn(this.time).then(() => this.happened.changed());
  }

  reports(most: number): Promise<ActivityReports> {
    return this.inner.reports!(most);
  }

  list(startsWith: string): AsyncIterable<readonly string[]> {
    return this.inner.list!(startsWith);
  }

  availability(): Iterable<readonly [server: string, isAvailable: boolean]> {
    return this.inner.availability?.() ?? [];
  }

  close(): Promise<void> {
    this.isClosed = true;
    return this.inner.close();
  }
}
