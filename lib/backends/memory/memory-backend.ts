import { certainUntil, type Clock } from '../../core/clock.js';
import { type Duration, parseDuration } from '../../core/duration.js';
import type {
  AcquireReply,
  AcquireRequest,
  AdoptReply,
  AdoptRequest,
  HolderRef,
  ReleaseRequest,
  LockBackend,
  LockBackendEvents,
  LockSnapshot,
  PushedGrant,
  ReleaseReply,
  RenewReply,
  RenewRequest,
} from '../../core/lock-backend.js';
import { refusals } from '../../core/refusals.js';
import { claimWindow } from './lock-table.js';
import { memoryRefusals } from './memory.messages.js';
import { MemoryLockServer } from './memory-server.js';
import type { GrantMessage } from './table-messages.js';
import { nextTurn } from './turns.js';

export interface MemoryLockBackendOptions {
  /**
   * Where the locks live. Backends on one server contend with each other, as processes on one Redis do.
   * @default a server of its own, on the system's clock
   */
  server?: MemoryLockServer;
  /** The longest time for an answer: only what `server.faults` delays ever takes that long. Minimum 10. @default '1s' */
  commandTimeout?: Duration;
  /** How often a waiter asks by itself, in case that a message was lost. Minimum 100. @default '5s' */
  poll?: Duration;
  /** Whether messages never reach this client: it learns of its grants by asking. @default false */
  deaf?: boolean;
  /** What `server.inspect` calls this client. @default its random id */
  label?: string;
}

/**
 * Locks in the memory of this process, with everything that Redis guarantees: owners, leases, order, hand-off, fencing tokens.
 * For tests, and for development without a Redis. One backend is one client's connection; after `close()` it may be started again.
 */
export class MemoryLockBackend implements LockBackend {
  readonly server: MemoryLockServer;
  readonly clock: Clock;
  readonly commandTimeout: number;
  readonly poll: number;
  readonly claimWindow = claimWindow;

  private clientId: string | undefined;
  /** Clients that were refused: their `close()` is not meant for the one that is served. */
  private refused = 0;
  /** Ends everything that waits for time to pass. */
  private readonly pauses = new Set<() => void>();

  /** @throws LockConfigurationError for a wrong duration. */
  constructor(private readonly options: MemoryLockBackendOptions = {}) {
    const { server = new MemoryLockServer(), commandTimeout = 1000, poll = 5000 } = options;
    this.server = server;
    this.clock = server.clock;
    this.commandTimeout = parseDuration('commandTimeout', commandTimeout, { min: 10 });
    this.poll = parseDuration('poll', poll, { min: 100 });
  }

  /** @throws LockConfigurationError while another client uses it, LockUnavailableError while the server is away. */
  async start(clientId: string, events: LockBackendEvents): Promise<void> {
    if (this.clientId !== undefined) {
      this.refused++;
      throw memoryRefusals.inUse();
    }
    this.clientId = clientId;
    const { deaf = false, label } = this.options;
    this.server.connect(clientId, {
      label,
      granted: deaf ? undefined : (grant) => events.granted(this.received(grant)),
      revoked: deaf ? undefined : (claim) => events.revoked?.(claim),
      recovered: () => {
        events.recovered();
      },
    });
    await nextTurn();
    if (!this.server.available) throw memoryRefusals.unavailable(undefined, 'cannot be reached');
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { clock } = this;
    const { name, claim, kind, permits, limit, lease, reserve, enqueue, giveUpAt } = request;
    await this.rideOut(name, giveUpAt);
    if (!request.isWanted()) throw memoryRefusals.unavailable(name, 'was away, and the lock is not wanted any more');
    const sentAt = clock.now();
    const patience = enqueue ? this.patience : 0;
    const answer = await this.send(name, 'useless', () =>
      this.server.table.acquire({ name, claim, kind, permits, limit, lease, reserve, patience }),
    );
    if (answer.status === 'contended') return answer;
    if (answer.status === 'mismatch') throw refusals.kindMismatch(name, kind, answer.held);
    if (answer.status === 'queued') {
      // Nobody may tell us: when the holder's lease has ended, and now and then anyway.
      const pause = Math.min(answer.rest, this.poll, answer.heard ? Number.POSITIVE_INFINITY : claimWindow / 3);
      return { status: 'queued', askAt: clock.now() + pause };
    }
    const { rest, ...grant } = answer;
    return { ...grant, validUntil: certainUntil(sentAt, rest) };
  }

  async release({ name, claim, keepUntil = 0 }: ReleaseRequest): Promise<ReleaseReply> {
    await this.rideOut(name, Number.POSITIVE_INFINITY);
    return this.send(name, 'useful', () =>
      this.server.table.release(name, claim, Math.max(0, keepUntil - this.clock.now())),
    );
  }

  async renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    const sentAt = this.clock.now();
    try {
      const answers = await this.send(holds[0]?.name, 'useful', () =>
        holds.map((hold) => this.server.table.renew(hold)),
      );
      return answers.map((answer) => {
        if (answer === 'lost') return answer;
        const { rest, ...outlook } = answer;
        return { ...outlook, validUntil: certainUntil(sentAt, rest) };
      });
    } catch {
      return holds.map(() => 'unanswered');
    }
  }

  async inspect(name: string, waiters: number): Promise<LockSnapshot> {
    await this.rideOut(name, this.clock.now() + this.commandTimeout);
    return this.send(name, 'useless', () => this.server.table.snapshot(name, waiters));
  }

  async revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    await this.rideOut(name, this.clock.now() + this.commandTimeout);
    return this.send(name, 'useful', () => this.server.table.revoke(name, holders));
  }

  async adopt(request: AdoptRequest): Promise<AdoptReply> {
    await this.rideOut(request.name, request.giveUpAt);
    const sentAt = this.clock.now();
    const answer = await this.send(request.name, 'useless', () => this.server.table.adopt(request));
    return typeof answer === 'object' ? { validUntil: certainUntil(sentAt, answer.rest) } : answer;
  }

  async *list(startsWith: string): AsyncGenerator<readonly string[]> {
    await this.rideOut(undefined, this.clock.now() + this.commandTimeout);
    yield (await this.send(undefined, 'useless', () => this.server.table.held())).filter((name) =>
      name.startsWith(startsWith),
    );
  }

  async close(): Promise<void> {
    if (this.refused > 0) {
      this.refused--;
      return;
    }
    if (this.clientId === undefined) return;
    this.server.disconnect(this.clientId);
    this.clientId = undefined;
    for (const end of this.pauses) end();
    this.pauses.clear();
  }

  /** A waiter that has not asked again for this long (ms) counts as dead. */
  private get patience(): number {
    return 2 * this.poll + this.commandTimeout;
  }

  /** An outage that is over within `commandTimeout` of its beginning is not noticed; any other is told at once. */
  private async rideOut(name: string | undefined, giveUpAt: number): Promise<void> {
    this.assertOpen(name);
    const { available, away } = this.server;
    if (available) return;
    if (away.until > Math.min(giveUpAt, away.from + this.commandTimeout))
      throw memoryRefusals.unavailable(name, 'cannot be reached');
    await this.pause(away.until - this.clock.now());
  }

  /**
   * One command: it travels to the server, is executed there in one step, and its answer travels back.
   * @param whenLate a command may arrive after its caller gave it up. An acquire carries the time from which on it is `useless`
   * and changes nothing then; the others are executed.
   */
  private async send<T>(name: string | undefined, whenLate: 'useful' | 'useless', command: () => T): Promise<T> {
    this.assertOpen(name);
    const { faults } = this.server;
    const delay = faults.nextCommand();
    if (delay > this.commandTimeout) {
      if (whenLate === 'useful') this.pause(delay).then(command, () => undefined);
      await this.pause(this.commandTimeout);
      throw memoryRefusals.unavailable(name, 'did not answer in time', true);
    }
    if (delay > 0) await this.pause(delay);
    await nextTurn();
    this.assertOpen(name);
    if (!this.server.available) throw memoryRefusals.unavailable(name, 'cannot be reached', true);
    const answer = command();
    if (faults.nextReplyIsLost())
      throw memoryRefusals.unavailable(name, 'broke the connection before it answered', true);
    return answer;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = this.clock.timer(ms, () => {
        this.pauses.delete(end);
        resolve();
      });
      const end = (): void => {
        stop();
        reject(memoryRefusals.unavailable(undefined, 'is not connected any more', true));
      };
      this.pauses.add(end);
    });
  }

  private assertOpen(name: string | undefined): void {
    if (this.clientId === undefined) throw memoryRefusals.unavailable(name, 'is not connected');
  }

  /** A message may have been on its way for long: when less than half of its grant is left, a renewal must confirm it first. */
  private received({ grantedAt, length, ...grant }: GrantMessage): PushedGrant {
    const validUntil = certainUntil(grantedAt, length);
    const isYoung = validUntil - this.clock.now() >= length / 2;
    return { ...grant, validUntil: isYoung ? validUntil : undefined };
  }
}
