import type { BeforeApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import type { LockBackend } from './core/lock-backend.js';
import type { LockClient } from './core/lock-client.js';
import type { LockFinding } from './core/lock-finding.js';
import type { LockKey } from './core/lock-key.js';
import type { Lock } from './core/lock.js';
import type { LockPlace } from './core/lock-place.js';
import type { LockLog } from './core/lock-log.js';
import type { LockScope } from './core/lock-scope.js';
import type { ResolvedLockOptions } from './core/options.js';
import type { NestingWatch } from './doctor/nesting.watch.js';
import { LockConfigurationError } from './errors/lock-errors.js';
import { applicationRefusals, startLines } from './redis-lock.messages.js';

export interface LockConnectionSettings {
  /** The connection's name, for messages. */
  readonly name: string;
  /** Whether an unreachable Redis stops the start of the application. What the doctor finds is the doctor's business. */
  readonly strict: boolean;
  /** Milliseconds that running work gets when the application closes. */
  readonly shutdownTimeout: number;
  /** Where locks inside each other are watched. */
  readonly nesting?: NestingWatch | undefined;
}

/** A backend calls the events of one client: it is taken by the connection that starts, until that has closed. */
const inUse = new WeakMap<LockBackend, LockConnection>();

/**
 * One module's lock client in the life of the application: connected when the application starts or, where a provider factory or a
 * test without `init()` needs a lock sooner, by the first use; so what is only compiled opens no socket.
 * On shutdown: waiters are rejected as soon as the first hook runs, and before Nest closes its servers (and before other
 * modules close their databases in `onApplicationShutdown`) the running work has ended and everything is given back.
 */
export class LockConnection implements OnModuleDestroy, BeforeApplicationShutdown {
  private starting: Promise<Error | undefined> | undefined;
  private started = false;
  /** Why nothing may be asked of the backend: it serves somebody else. */
  private refusal: LockConfigurationError | undefined;
  private closed: Promise<void> | undefined;

  constructor(
    readonly client: LockClient,
    private readonly settings: LockConnectionSettings,
    private readonly log: LockLog,
  ) {}

  /** @param place for the watch over locks inside each other */
  enter(key: LockKey, options: ResolvedLockOptions, place?: LockPlace): Promise<LockScope> {
    const { nesting } = this.settings;
    return nesting && place
      ? nesting.watch(key, options, place, () => this.take(key, options))
      : this.take(key, options);
  }

  /** Opens no flow: it may stand inside other locks, and none stands inside it. */
  acquire(key: LockKey, options: ResolvedLockOptions, place?: LockPlace): Promise<Lock> {
    if (place) this.settings.nesting?.asked(key, options, place);
    return this.started
      ? this.client.acquire(key, options)
      : this.usable().then(() => this.client.acquire(key, options));
  }

  /** The client, as soon as it may be asked. @throws LockConfigurationError when the backend serves somebody else. */
  async ready(): Promise<LockClient> {
    if (!this.started) await this.usable();
    return this.client;
  }

  /** Whether the application has begun to close: then it gives out no locks any more. */
  get isClosing(): boolean {
    return this.closed !== undefined;
  }

  get name(): string {
    return this.settings.name;
  }

  /** Whether calls should say their place. */
  get watchesNesting(): boolean {
    return this.settings.nesting !== undefined;
  }

  /**
   * Connects, as the application starts.
   * @throws LockConfigurationError when Redis refuses the credentials or lacks permissions, and LockUnavailableError only with
   * `strict`; without, the locks reject until Redis is there.
   */
  async open(): Promise<void> {
    const failure = await this.start();
    if (failure === undefined) return;
    // Will not heal by itself: better no start than an application without locks.
    if (!this.settings.strict && !(failure instanceof LockConfigurationError)) return;
    await this.close();
    throw failure;
  }

  /** What the backend says against its server; nothing where that cannot be asked, which is told elsewhere. Never rejects. */
  async examine(): Promise<readonly LockFinding[]> {
    if (await this.start()) return [];
    return (await this.client.backend.examine?.()) ?? [];
  }

  onModuleDestroy(): void {
    // Begun here, awaited below: other modules' hooks may be what the running work still needs. A failure shows there too.
    this.close().catch(() => undefined);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.close();
  }

  private take(key: LockKey, options: ResolvedLockOptions): Promise<LockScope> {
    return this.started ? this.client.enter(key, options) : this.usable().then(() => this.client.enter(key, options));
  }

  /** Connects once, answers what went wrong with it, never rejects: the client goes on trying by itself. */
  private start(): Promise<Error | undefined> {
    this.starting ??= this.connect();
    return this.starting;
  }

  /** @throws LockConfigurationError when the backend serves somebody else: nothing may be asked of it then. */
  private async usable(): Promise<void> {
    await this.start();
    if (this.refusal) throw this.refusal;
  }

  private async connect(): Promise<Error | undefined> {
    const { backend } = this.client;
    if (this.isClosing || !this.takes(backend)) return (this.refusal = applicationRefusals.backendInUse(this.name));
    try {
      await this.client.start();
      return undefined;
    } catch (error) {
      // Closed before it was connected: nobody waits for it any more.
      if (!this.isClosing) this.log.error(this.failedStart(error as Error));
      return error as Error;
    } finally {
      this.started = true;
    }
  }

  private close(): Promise<void> {
    this.closed ??= this.shutdown();
    return this.closed;
  }

  private async shutdown(): Promise<void> {
    const { backend } = this.client;
    // What serves another client must not end with this one.
    if (!this.takes(backend)) return;
    // From now on a first use must not connect any more.
    this.started = true;
    await this.client.shutdown(this.settings.shutdownTimeout);
    inUse.delete(backend);
  }

  private takes(backend: LockBackend): boolean {
    const user = inUse.get(backend) ?? this;
    inUse.set(backend, user);
    return user === this;
  }

  private failedStart(error: Error): string {
    if (error instanceof LockConfigurationError) return startLines.refused(this.name, error.message);
    return this.settings.strict
      ? startLines.notStarted(this.name, error.message)
      : startLines.unreachable(this.name, error.message);
  }
}
