import { MemoryLockBackend, type MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { QuorumBackend } from '../../../lib/backends/quorum/quorum-backend.js';
import type { Hold } from '../../../lib/core/hold.js';
import { LockClient } from '../../../lib/core/lock-client.js';
import { lockDefaults } from '../../../lib/core/options.js';
import { LockConnection } from '../../../lib/connection/lock.connection.js';
import { FaultyLink, reconnecting, type Span } from '../../support/faulty-link.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { ProcessClock } from '../../support/process-clock.js';
import type { VirtualClock } from '../../support/virtual-clock.js';
import { type Beginning, commandTimeout } from './calls.js';

/** Milliseconds that running work gets when a process closes. */
const shutdownTimeout = 2_000;

/** What a process needs of its run. */
export interface World {
  readonly clock: VirtualClock;
  /** Milliseconds in which no code could run in any process. */
  readonly stalled: number;
  readonly servers: readonly MemoryLockServer[];
  readonly poll: number;
  /** For the pauses of a quorum. */
  random(): number;
  looked(server: number, name: string | undefined): void;
  broke(promise: string): void;
}

/** A lock that the process holds, or has held. */
interface Held {
  readonly hold: Hold;
  leftAt: number | undefined;
}

/** One application with its client and its links to the servers, in virtual time. */
export class Process {
  readonly clock: ProcessClock;
  readonly links: readonly FaultyLink[];
  readonly client: LockClient;
  readonly connection: LockConnection;
  readonly held: Held[] = [];
  closingAt = Number.POSITIVE_INFINITY;

  constructor(
    readonly number: number,
    private readonly world: World,
    { opensAt, settingUp }: Beginning,
  ) {
    const { servers, poll } = world;
    this.clock = new ProcessClock(world.clock);
    const log = new KeptLog();
    this.links = servers.map((server, index) => {
      const inner = new MemoryLockBackend({ server, commandTimeout, poll });
      return new FaultyLink(inner, this.clock, world.clock, settingUp, (name) => world.looked(index, name));
    });
    const nodes = this.links;
    const backend =
      nodes.length === 1 ? nodes[0]! : new QuorumBackend({ nodes, log, random: () => this.world.random() });
    const settings = { defaults: lockDefaults, maxWaiters: 25 };
    this.client = new LockClient(backend, settings, log, this.clock);
    this.connection = new LockConnection(this.client, { name: `process ${number}`, strict: false, shutdownTimeout });
    this.clock.timer(opensAt, () => void this.connection.open().catch(() => undefined));
  }

  get clientId(): string {
    return this.links[0]!.clientId;
  }

  /** Milliseconds in which it could run: promised times count in these. */
  get lived(): number {
    return this.clock.lived - this.world.stalled;
  }

  /** The end of the last fault of the process, a server, or a link of it by then; infinite while it lasts. */
  failedUntil(at: number): number {
    return Math.max(...this.links.map((link) => link.failedUntil(at)));
  }

  /** The same; and before its start no lock can be granted. */
  troubledUntil(at: number): number {
    return Math.max(this.failedUntil(at), ...this.links.map(({ startedAt }) => startedAt));
  }

  /** The longest duration of a reply between two times. */
  latency(from: number, to: number): number {
    return Math.max(...this.links.map((link) => link.latency(from, to)));
  }

  note(span: Span): void {
    for (const link of this.links) link.note(span);
  }

  /** Settles as the promise does, and checks how long that takes. @param atMost ms of running time that it may take */
  async timely<T>(what: string, atMost: number | (() => number), promise: Promise<T>): Promise<T> {
    const { lived } = this;
    try {
      return await promise;
    } finally {
      const took = this.lived - lived;
      const promised = typeof atMost === 'function' ? atMost() : atMost;
      // A timer is not shorter than a millisecond.
      if (took > promised + 5 && !this.clock.isDead)
        this.world.broke(`${what} of process ${this.number} took ${took} ms, ${promised} promised`);
    }
  }

  stop(ms: number): void {
    if (this.clock.isStopped) return;
    const from = this.world.clock.now();
    this.clock.stop();
    this.note({ from, to: from + ms });
    this.world.clock.timer(ms, () => this.clock.resume());
  }

  /** @param halfOpen whether the servers are not told that its connections are gone */
  die(halfOpen: boolean): void {
    this.clock.kill();
    if (halfOpen) return;
    for (const [index, server] of this.world.servers.entries()) server.disconnect(this.links[index]!.clientId);
  }

  /** Closes as an application does. */
  async close(): Promise<void> {
    if (this.closingAt !== Number.POSITIVE_INFINITY) return;
    const { clock, servers, broke } = this.world;
    const from = (this.closingAt = clock.now());
    await this.timely(
      'the shutdown',
      () => {
        // Lost locks are not waited for.
        const until = this.held.map(
          ({ hold, leftAt }) => leftAt ?? (hold.lost ? hold.validUntil : Number.POSITIVE_INFINITY),
        );
        const work = Math.min(shutdownTimeout, Math.max(0, ...until.map((end) => end - from)));
        // For a missing reply, the release after it, and its repetition: each on a new connection.
        return work + 3 * (commandTimeout + reconnecting);
      },
      this.connection.beforeApplicationShutdown(),
    );
    if (this.failedUntil(clock.now()) > from - 4 * commandTimeout || servers.length > 1) return;
    // No process is left that could release anything.
    const { table } = servers[0]!;
    for (const name of table.held()) {
      for (const { id: claim, state } of table.snapshot(name, 0).holders) {
        if (claim.startsWith(`${this.clientId}:`) && state !== 'kept' && !this.isLeftToRunOut(claim))
          broke(`${name} is held by process ${this.number}, which has closed`);
      }
    }
  }

  /** Claims that are held elsewhere, or are left to expire on purpose. */
  readonly exported = new Set<string>();

  isLeftToRunOut(claim: string): boolean {
    return (
      this.exported.has(claim) ||
      this.held.some(({ hold }) => hold.claim.id === claim && hold.lost?.reason === 'max-hold')
    );
  }
}
