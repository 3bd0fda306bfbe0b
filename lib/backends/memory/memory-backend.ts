import { certainUntil, type Clock } from '../../core/clock.js';
import { claimWindow, defaults, least } from '../../core/defaults.js';
import { type Duration, parseDuration } from '../../core/duration.js';
import type {
  AcquireReply,
  AcquireRequest,
  ActivityReport,
  ActivityReports,
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
import { ClientProcess } from './client-process.js';
import { memoryRefusals } from './memory.messages.js';
import { MemoryLockServer } from './memory-server.js';
import type { TableGrant } from './table-messages.js';
import { nextTurn } from './turns.js';

export interface MemoryLockBackendOptions {
  /**
   * The server of the locks. Backends on one server contend with each other, as processes on one Redis do.
   * @default a server of its own, on the system's clock
   */
  server?: MemoryLockServer;
  /** The longest time to wait for a reply: only `server.faults` cause such delays. Minimum 10. @default '1s' */
  commandTimeout?: Duration;
  /** How often a waiter asks by itself, in case a message was lost. Minimum 100. @default '5s' */
  poll?: Duration;
  /** True: messages never reach this client, which learns of its grants by polling. @default false */
  polling?: boolean;
  /** The name of this client in `server.inspect`. @default the beginning of its random id */
  label?: string;
}

/**
 * Locks in the memory of this process, with all guarantees of the Redis backend: owners, leases, order, hand-off, fencing tokens.
 * For tests, and for development without a Redis. One backend is one client's connection; after `close()` it may be started again.
 */
export class MemoryLockBackend implements LockBackend {
  readonly server: MemoryLockServer;
  /** That of the server. Its timers stand still while this process is stopped. */
  readonly clock: Clock;
  readonly commandTimeout: number;
  readonly poll: number;
  readonly claimWindow = claimWindow;

  #clientId: string | undefined;
  private readonly process: ClientProcess;
  /** Clients that were refused: their `close()` must not end the one that is served. */
  private refused = 0;
  /** Ends all pauses. */
  private readonly pauses = new Set<() => void>();

  /** @throws LockConfigurationError for a wrong duration. */
  constructor(private readonly options: MemoryLockBackendOptions = {}) {
    const { server = new MemoryLockServer(), commandTimeout = defaults.commandTimeout, poll = defaults.poll } = options;
    this.server = server;
    this.clock = this.process = new ClientProcess(server.clock);
    this.commandTimeout = parseDuration('commandTimeout', commandTimeout, { min: least.commandTimeout });
    this.poll = parseDuration('poll', poll, { min: least.poll });
  }

  /** @throws LockConfigurationError while another client uses it, LockUnavailableError while the server is unavailable. */
  async start(clientId: string, events: LockBackendEvents): Promise<void> {
    if (this.#clientId !== undefined) {
      this.refused++;
      throw memoryRefusals.inUse();
    }
    this.#clientId = clientId;
    const { polling = false, label } = this.options;
    this.server.connect(clientId, {
      label,
      granted: polling ? undefined : (grant) => this.arrived(() => events.granted(this.received(grant))),
      revoked: polling ? undefined : (claim) => this.arrived(() => events.revoked?.(claim)),
      freeAfter: polling
        ? undefined
        : (claim, rest) => this.arrived(() => events.freeAt?.(claim, this.clock.now() + rest)),
      recovered: () => this.arrived(() => events.recovered()),
    });
    await nextTurn();
    if (!this.server.available) throw memoryRefusals.unavailable(undefined, 'cannot be reached');
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { clock } = this;
    const { name, id: claim, kind, permits, limit, lease, reserve, enqueue, giveUpAt } = request;
    await this.rideOut(name, giveUpAt);
    if (!request.isWanted()) throw memoryRefusals.unavailable(name, 'was away, and the lock is not wanted any more');
    const sentAt = clock.now();
    const patience = enqueue ? this.patience : 0;
    const answer = await this.send(name, 'useless', () =>
      this.server.table.acquire({ name, id: claim, kind, permits, limit, lease, reserve, patience }),
    );
    if (answer.status === 'contended') return answer;
    if (answer.status === 'mismatch') throw refusals.kindMismatch(name, kind, answer.held);
    if (answer.status === 'queued') {
      // When messages can arrive, only when a lease has ended, and now and then in case one was lost.
      const pause = Math.min(answer.rest, this.poll, answer.listening ? Number.POSITIVE_INFINITY : claimWindow / 3);
      return { status: 'queued', askAt: clock.now() + pause, holder: answer.holder };
    }
    const { rest, ...grant } = answer;
    return { ...grant, validUntil: certainUntil(sentAt, rest) };
  }

  async release({ name, id: claim, keepUntil = 0 }: ReleaseRequest): Promise<ReleaseReply> {
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

  async report(report: ActivityReport): Promise<void> {
    await this.rideOut(undefined, this.clock.now() + this.commandTimeout);
    await this.send(undefined, 'useful', () => this.server.activity.keep(report));
  }

  async reports(most: number): Promise<ActivityReports> {
    await this.rideOut(undefined, this.clock.now() + this.commandTimeout);
    return this.send(undefined, 'useless', () => this.server.activity.first(most));
  }

  availability(): Array<[server: string, isAvailable: boolean]> {
    return [['memory', this.#clientId !== undefined && this.server.available]];
  }

  /**
   * The process of this client stands still, as after SIGSTOP: none of its timers runs, it renews nothing, and messages and replies wait.
   * Its connection stays open. Time passes for the others.
   */
  stop(): void {
    this.process.stop();
  }

  /** A stopped process goes on, as after SIGCONT: what fell due and what arrived in that time runs with the next `advance`. */
  continue(): void {
    this.process.continue();
  }

  /** The process dies, as after SIGKILL: its connection is closed, and its locks end with their leases. None of its calls settles. */
  kill(): void {
    this.process.kill();
    void this.close();
  }

  async close(): Promise<void> {
    if (this.refused > 0) {
      this.refused--;
      return;
    }
    if (this.#clientId === undefined) return;
    this.server.disconnect(this.#clientId);
    this.#clientId = undefined;
    for (const end of this.pauses) end();
    this.pauses.clear();
  }

  /** A waiter that has not asked again for this long (ms) counts as dead. */
  private get patience(): number {
    return 2 * this.poll + this.commandTimeout;
  }

  /** Waits out an outage that ends within `commandTimeout` of its beginning; rejects at once in a longer one. */
  private async rideOut(name: string | undefined, giveUpAt: number): Promise<void> {
    if (this.process.isBehind) await this.process.running();
    this.assertOpen(name);
    const { available, away } = this.server;
    if (available) return;
    if (away.until > Math.min(giveUpAt, away.from + this.commandTimeout))
      throw memoryRefusals.unavailable(name, 'cannot be reached');
    await this.pause(away.until - this.clock.now());
    if (this.process.isBehind) await this.process.running();
  }

  /**
   * One command: it travels to the server, is executed there in one step, and its reply travels back.
   * @param whenLate for a command that arrives after its caller gave it up. An acquire carries a deadline, after which it is `useless` and
   * changes nothing; the other commands are executed.
   */
  private async send<T>(name: string | undefined, whenLate: 'useful' | 'useless', command: () => T): Promise<T> {
    try {
      return await this.travel(name, whenLate, command);
    } finally {
      if (this.process.isBehind) await this.process.running();
    }
  }

  private async travel<T>(name: string | undefined, whenLate: 'useful' | 'useless', command: () => T): Promise<T> {
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

  /** On the way, whether this process runs or not. */
  private pause(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = this.server.clock.timer(ms, () => {
        this.pauses.delete(end);
        resolve();
      });
      const end = (): void => {
        stop();
        this.arrived(() => reject(memoryRefusals.unavailable(undefined, 'is not connected any more', true)));
      };
      this.pauses.add(end);
    });
  }

  private arrived(fn: () => void): void {
    this.process.run({ fn });
  }

  private assertOpen(name: string | undefined): void {
    if (this.#clientId === undefined) throw memoryRefusals.unavailable(name, 'is not connected');
  }

  /** A message may have been delayed: when less than half of its grant is left, a renewal must confirm it first. */
  private received({ grantedAt, length, ...grant }: TableGrant): PushedGrant {
    const validUntil = certainUntil(grantedAt, length);
    const isYoung = validUntil - this.clock.now() >= length / 2;
    return { ...grant, validUntil: isYoung ? validUntil : undefined };
  }
}
