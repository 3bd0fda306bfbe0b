import type { BeforeApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import { type Inspect, inspectCustom, Hidden } from '../errors/describe.js';
import type { BackendCapabilities, LockBackend } from '../core/lock-backend.js';
import { type CallOptions, type LockOptions, type ResolvedLockOptions, resolveOptions } from '../core/options.js';
import type { LockClient } from '../core/lock-client.js';
import type { LockFinding } from '../diagnostics/lock-finding.js';
import { flowAround } from '../core/lock-flow.js';
import type { LockKey } from '../core/lock-key.js';
import type { Lock, LockScope } from '../core/lock.js';
import { refusals } from '../core/refusals.js';
import { onAbort } from '../core/on-abort.js';
import { Elections, type LocalElection } from '../leader/election.js';
import { inRoot } from '../core/root-context.js';
import { LockConfigurationError } from '../errors/lock-errors.js';
import type { LockHealth } from '../operators/health.js';
import { Operators } from '../operators/operators.js';
import { connectionRefusals, startLines } from './connection.messages.js';

/** Looks at locks that are requested inside another one, or together. */
export interface NestingWatch {
  check(key: LockKey, options: ResolvedLockOptions): void;
}

export interface LockConnectionSettings {
  /** The connection's name, for messages. */
  readonly name: string;
  /** True when an unreachable Redis stops the start of the application. The doctor handles its own findings. */
  readonly strict: boolean;
  /** True: it tells operators of waiting callers, long holds and losses. @default false */
  readonly activity?: boolean;
  /** Milliseconds that running work gets when the application closes. */
  readonly shutdownTimeout: number;
  /** The watch over nested locks; undefined when it is off. */
  readonly nesting?: NestingWatch | undefined;
}

interface Parts {
  readonly client: LockClient;
  readonly settings: LockConnectionSettings;
  readonly operators: Operators;
  readonly elections: Elections;
}

/** A backend calls the events of one client: the connection that starts owns it until it has closed. */
const inUse = new WeakMap<LockBackend, LockConnection>();

/**
 * One module's lock client in the life of the application. It connects when the application starts, or at the first use where a provider
 * factory or a test without `init()` needs a lock sooner. An application that is only compiled opens no socket.
 * On shutdown it rejects waiters as soon as the first hook runs. Before Nest closes its servers, and before other modules close their
 * databases in `onApplicationShutdown`, the running work has ended and all locks are released.
 */
export class LockConnection implements OnModuleDestroy, BeforeApplicationShutdown {
  private starting: Promise<Error | undefined> | undefined;
  private started = false;
  /** Why the backend must not be used: it serves another client. */
  private refusal: LockConfigurationError | undefined;
  private closed: Promise<void> | undefined;

  private readonly parts: Hidden<Parts>;

  constructor(client: LockClient, settings: LockConnectionSettings) {
    const elections = new Elections({
      client,
      acquire: (name, options) => this.ask(name, options, (it, terms) => it.acquire(name, terms)),
      holder: (name) => this.inspect(name, ({ views }) => views.holder(name)),
    });
    this.parts = new Hidden({ client, settings, operators: new Operators(client, elections.byName), elections });
  }

  enter(key: LockKey, options: ResolvedLockOptions): Promise<LockScope> {
    const { client, settings } = this.parts.reveal();
    checkNesting(settings, key, options);
    // Without a closure: each decorated call comes through here.
    if (this.started) return client.enter(key, options);
    return this.whenStarted(key, options).then((terms) => client.enter(key, terms));
  }

  /** Opens no flow: the lock may be inside other locks, but no lock is inside it. */
  acquire(key: LockKey, options: ResolvedLockOptions): Promise<Lock> {
    checkNesting(this.parts.reveal().settings, key, options);
    return this.ask(key, options, (client, terms) => client.acquire(key, terms));
  }

  /**
   * Calls the client. Before the application has started, the first call connects; `wait` and `signal` count from the call, and a single
   * try waits for the connection for `commandTimeout`.
   * @param key for messages
   * @throws LockUnavailableError, `signal.reason`, and LockConfigurationError when the backend serves another client
   */
  ask<T>(
    key: LockKey | undefined,
    options: ResolvedLockOptions,
    question: (client: LockClient, options: CallOptions) => Promise<T>,
  ): Promise<T> {
    const { client } = this.parts.reveal();
    if (this.started) return question(client, options);
    return this.whenStarted(key, options).then((terms) => question(client, terms));
  }

  /** True once the application has begun to close: then no more locks are given out. */
  get isClosing(): boolean {
    return this.closed !== undefined;
  }

  get name(): string {
    return this.parts.reveal().settings.name;
  }

  /** The module's defaults for all acquisitions. */
  get defaults(): ResolvedLockOptions {
    return this.parts.reveal().client.defaults;
  }

  /** Longest time to wait for a reply of the backend, in ms. */
  get commandTimeout(): number {
    return this.parts.reveal().client.backend.commandTimeout;
  }

  get capabilities(): BackendCapabilities | undefined {
    return this.parts.reveal().client.backend.capabilities;
  }

  /** A method of the application has these options: what they need starts with the application. */
  expect(options: LockOptions): void {
    this.parts.reveal().client.expect(resolveOptions(options, this.defaults));
  }

  /** The innermost lock of the running flow on this connection, or the hold of one name. */
  current(name?: string): Lock | undefined {
    return this.parts.reveal().client.current(name);
  }

  /** The election of this name: the same for the whole application. */
  election(name: string): LocalElection {
    return this.parts.reveal().elections.of(name);
  }

  /** What people and machines ask. Before the application has started, the first question connects. */
  inspect<T>(
    key: string | undefined,
    question: (operators: Operators) => Promise<T>,
    options = this.defaults,
  ): Promise<T> {
    return this.ask(key, options, () => question(this.operators));
  }

  /** The same without a connection: what this process knows. */
  get operators(): Operators {
    return this.parts.reveal().operators;
  }

  /** True when calls should pass their call site. */
  get watchesNesting(): boolean {
    return this.parts.reveal().settings.nesting !== undefined;
  }

  /**
   * Connects, as the application starts.
   * @throws LockConfigurationError when Redis refuses the credentials or lacks permissions, and LockUnavailableError only with `strict`.
   * Without `strict` the locks reject until Redis is available.
   */
  async open(): Promise<void> {
    const failure = await this.start();
    if (failure === undefined) return;
    // Not when it was closed before it was connected: no caller waits for it any more.
    if (!this.isClosing && failure !== this.refusal) this.parts.reveal().client.log.error(this.failedStart(failure));
    // A wrong configuration does not heal: better no start than an application without locks.
    if (!this.parts.reveal().settings.strict && !(failure instanceof LockConfigurationError)) return;
    await this.close();
    throw failure;
  }

  /**
   * The backend's findings about its server; none when the server does not answer, which is logged elsewhere. Never rejects.
   * @param isIgnored of a finding that the application does not want to hear of, in `health` either
   */
  async examine(isIgnored: (finding: LockFinding) => boolean): Promise<readonly LockFinding[]> {
    if (await this.start()) return [];
    const { client, operators } = this.parts.reveal();
    const found = (await inRoot(() => client.backend.examine?.())) ?? [];
    operators.health.findings = found.filter((finding) => !isIgnored(finding));
    return found;
  }

  /** Whether a lock is available and can be kept now. Takes one, unless that is known; settles within three times `commandTimeout`. Never rejects. */
  health(): Promise<LockHealth> {
    return this.operators.health.report(this.isClosing ? undefined : () => this.check());
  }

  /** Takes a lock, unless it is known that one is available. @throws LockError when none can */
  check(): Promise<void> {
    return this.inspect(undefined, ({ health }) => health.check(), { ...this.defaults, wait: 0 });
  }

  onModuleDestroy(): void {
    // Begun here, awaited below: the running work may need the hooks of other modules. A failure shows there too.
    this.close().catch(() => undefined);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.close();
  }

  /** Connects once and resolves to the failure, never rejects: the client keeps trying in the background. */
  start(): Promise<Error | undefined> {
    // The first use may be inside a request.
    this.starting ??= inRoot(() => this.connect());
    return this.starting;
  }

  /** Connects. @returns the options, with the time of the call */
  private async whenStarted(key: LockKey | undefined, options: ResolvedLockOptions): Promise<CallOptions> {
    const { clock, backend } = this.parts.reveal().client;
    const { wait, signal } = options;
    const calledAt = clock.now();
    const [option, patience] =
      wait > 0 ? (['wait', wait] as const) : (['commandTimeout', backend.commandTimeout] as const);
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void): void => {
        stop?.();
        stopListening?.();
        settle();
      };
      const tooLate = (): void => end(() => reject(refusals.notConnected(key, option, patience)));
      const stop = patience === Number.POSITIVE_INFINITY ? undefined : clock.timer(patience, tooLate);
      const stopListening = signal && onAbort(signal, () => end(() => reject(signal.reason as Error)));
      void this.start().then(() => end(resolve));
    });
    if (this.refusal) throw this.refusal;
    return { ...options, calledAt };
  }

  private async connect(): Promise<Error | undefined> {
    const { client, operators, settings } = this.parts.reveal();
    const { backend } = client;
    if (this.isClosing || !this.takes(backend)) return (this.refusal = connectionRefusals.backendInUse(this.name));
    try {
      operators.start(settings.activity ?? false);
      await client.start();
      return undefined;
    } catch (error) {
      return error as Error;
    } finally {
      this.started = true;
    }
  }

  /** Rejects waiters, lets running work end, and releases what is left. */
  close(): Promise<void> {
    this.closed ??= this.shutdown();
    return this.closed;
  }

  private async shutdown(): Promise<void> {
    const { client, settings, operators, elections } = this.parts.reveal();
    const { backend } = client;
    // Before waiters are rejected: the work of a leader learns the shutdown by its signal.
    inRoot(() => elections.close());
    // A backend that serves another client must not be closed here.
    if (!this.takes(backend)) return;
    // From now on a first use must not connect.
    this.started = true;
    await client.shutdown(settings.shutdownTimeout);
    operators.stop();
    inUse.delete(backend);
  }

  toJSON(): object {
    return { name: this.name };
  }

  [inspectCustom](_depth: number, options: object, inspect: Inspect): string {
    return `LockConnection ${inspect(this.toJSON(), options)}`;
  }

  private takes(backend: LockBackend): boolean {
    const user = inUse.get(backend) ?? this;
    inUse.set(backend, user);
    return user === this;
  }

  private failedStart(error: Error): string {
    if (error instanceof LockConfigurationError) return startLines.refused(this.name, error.message);
    return this.parts.reveal().settings.strict
      ? startLines.notStarted(this.name, error.message)
      : startLines.unreachable(this.name, error.message);
  }
}

/** Only what is inside another lock, or is several, can be in a wrong order. */
function checkNesting({ nesting }: LockConnectionSettings, key: LockKey, options: ResolvedLockOptions): void {
  if (nesting && (typeof key !== 'string' || flowAround())) nesting.check(key, options);
}
