import type { Clock } from '../../../lib/core/clock.js';
import type {
  AcquireReply,
  AcquireRequest,
  ReleaseRequest,
  HolderRef,
  LockBackend,
  LockBackendEvents,
  LockSnapshot,
  ReleaseReply,
  RenewReply,
  RenewRequest,
} from '../../../lib/core/lock-backend.js';
import { MemoryLockBackend, type MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { LockUnavailableError } from '../../../lib/errors/lock-errors.js';

type Call = 'acquire' | 'release' | 'renew' | 'view';

/** The fault of a node, as one client sees it. */
export type Fault =
  | 'none'
  /** The node is down: refused at once, nothing is executed. */
  | 'dead'
  /** Everything is executed, no answer comes back: told after `commandTimeout`. */
  | 'mute'
  /** Everything is executed, and answered after half of `commandTimeout`. */
  | 'slow';

/** A node as one client sees it: a memory backend, and a link to it with faults on demand. */
export class FaultyNode implements LockBackend {
  fault: Fault = 'none';
  /** ms that a call travels to the node. */
  distance = 0;
  /** ms that an answer travels back. */
  wayBack = 0;
  upSince: number | undefined;
  /** Everything that reached the node, in order. */
  readonly calls: string[] = [];
  /** Called before each call, so that a fault may begin between two of them. */
  before: (kind: Call) => void = () => {};
  readonly clock: Clock;
  readonly poll = 5_000;
  readonly claimWindow: number;
  events!: LockBackendEvents;
  private readonly inner: MemoryLockBackend;

  constructor(
    readonly server: MemoryLockServer,
    readonly label: string,
    readonly commandTimeout = 200,
  ) {
    this.inner = new MemoryLockBackend({ server, commandTimeout });
    this.clock = server.clock;
    this.claimWindow = this.inner.claimWindow;
  }

  async start(clientId: string, events: LockBackendEvents): Promise<void> {
    this.events = events;
    await this.inner.start(clientId, events);
    if (this.fault === 'dead') throw new LockUnavailableError(`${this.label} is dead.`);
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.pass('acquire', () => this.inner.acquire(request));
  }

  release(claim: ReleaseRequest): Promise<ReleaseReply> {
    return this.pass('release', () => this.inner.release(claim));
  }

  renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    return this.pass('renew', () => this.inner.renew(holds)).catch(() => holds.map(() => 'unanswered'));
  }

  inspect(name: string, waiters: number): Promise<LockSnapshot> {
    return this.pass('view', () => this.inner.inspect(name, waiters));
  }

  revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    return this.pass('view', () => this.inner.revoke(name, holders));
  }

  async *list(startsWith: string): AsyncGenerator<readonly string[]> {
    yield* await this.pass('view', async () => this.inner.list(startsWith));
  }

  availability(): Iterable<readonly [server: string, isAvailable: boolean]> {
    return [[this.label, this.fault !== 'dead']];
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  /** The node can be reached again. */
  heal(): void {
    this.fault = 'none';
    this.events.recovered();
  }

  private async pass<T>(kind: Call, call: () => Promise<T>): Promise<T> {
    this.before(kind);
    if (this.fault === 'dead') throw new LockUnavailableError(`${this.label} is dead.`);
    const { fault } = this;
    if (this.distance > 0) await this.pause(this.distance);
    this.calls.push(kind);
    const answer = await call();
    if (this.wayBack > 0) await this.pause(this.wayBack);
    if (fault === 'slow') await this.pause(this.commandTimeout / 2);
    if (fault === 'mute') {
      await this.pause(this.commandTimeout);
      throw new LockUnavailableError(`${this.label} did not answer.`, { uncertain: true });
    }
    return answer;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.timer(ms, resolve));
  }
}
