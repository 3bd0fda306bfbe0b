import { MemoryLockBackend, MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { settled } from '../../../lib/backends/memory/turns.js';
import { QuorumBackend } from '../../../lib/backends/quorum/index.js';
import type { LockBackend } from '../../../lib/core/lock-backend.js';
import { LockClient } from '../../../lib/core/lock-client.js';
import type { LockHandle } from '../../../lib/core/lock-handle.js';
import { lockDefaults, resolveAdoption, resolveOptions } from '../../../lib/core/options.js';
import { readTicket } from '../../../lib/core/ticket.js';
import { KeptLog } from '../../support/kept-log.js';
import { Random } from '../../chaos/random.js';
import { VirtualClock } from '../../support/virtual-clock.js';
import { type Call, type Fault, limit, names, processes, trouble } from './calls.js';

const commandTimeout = 300;
const poll = 1_000;
/** Longer (ms) than whatever may go on when all is well again. */
const calm = 120_000;

/** A call that does not work ends by one of these. */
const known = ['LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT', 'LOCK_UNAVAILABLE', 'LOCK_LOST', 'LOCK_QUEUE_FULL', 'AbortError'];

interface Holding {
  readonly handle: LockHandle;
  readonly mode: 'exclusive' | 'shared' | number;
}

/** What came of some runs, beside what was broken. */
export interface Seen {
  granted: number;
  lost: number;
  outcomes: Map<string, number>;
}

/** What the calls of a run are made to. */
export interface Terms {
  /** 1, or as many as a quorum is of. */
  readonly servers: number;
  /** Whether time goes on while commands and messages are under way: up to the next timer, be it years away. */
  readonly slow: boolean;
  /** Of a quorum's pauses. */
  readonly seed: number;
  readonly calls: readonly Call[];
  readonly faults: readonly Fault[];
}

/** Processes on one place of locks, in virtual time. */
export class Run {
  private readonly clock: VirtualClock;
  private readonly servers: readonly MemoryLockServer[];
  readonly clients: readonly LockClient[];
  readonly broken: string[] = [];
  private readonly holdings = new Set<Holding>();
  /** By name: the largest token of an exclusive hold that has ended. */
  private readonly tokens = new Map<string, number>();
  /** By name: tokens up to this one were forgotten by the place of the locks; who has one cannot know, and somebody else may hold the lock. */
  private readonly forgotten = new Map<string, number>();
  /** One for all: clients whose pauses are alike would go on splitting their votes. */
  private readonly pauses: Random;
  private open = 0;

  constructor(
    private readonly seen: Seen,
    private readonly terms: Terms,
  ) {
    const { servers, slow, calls, faults } = terms;
    this.clock = slow ? new VirtualClock() : new VirtualClock(settled);
    this.pauses = new Random(`${terms.seed}`);
    this.servers = Array.from({ length: servers }, () => new MemoryLockServer({ clock: this.clock }));
    this.clients = Array.from({ length: processes }, () => this.client());
    for (const one of calls) this.clock.timer(one.at, () => void this.call(one));
    for (const one of faults) this.clock.timer(one.at, () => void this.goWrong(one));
  }

  async end(): Promise<void> {
    const { calls, faults } = this.terms;
    await this.clock.advance(trouble + calm);
    // What was under way when no timer was left may set new ones.
    for (let rounds = 0; rounds < 5; rounds++) {
      await settled();
      await this.clock.advance(calm);
    }
    if (this.open > 0) this.broken.push(`${this.open} calls were never answered`);
    for (const client of this.clients) {
      const { queues, strictQueues, waiting, held, renewal } = client as unknown as {
        queues: { size: number };
        strictQueues: { size: number };
        waiting: number;
        held: number;
        renewal: { holds: { size: number } };
      };
      const left = { queues: queues.size, strictQueues: strictQueues.size, waiting, held, holds: renewal.holds.size };
      if (Object.values(left).some((size) => size > 0)) this.broken.push(`left in a client: ${JSON.stringify(left)}`);
    }
    // What could not be given back ends by itself; and a question that arrives when its lock is held elsewhere by now takes a place in the queue,
    // for as long as a waiter lives that died.
    const mayLeave = faults.length > 0 || calls.some(({ atLast }) => atLast === 'hand over');
    for (const server of this.servers) {
      for (const name of names) {
        const { holders, waiters } = server.inspect(name);
        if (holders.length + waiters.length > 0) this.broken.push(`somebody holds ${name}, or waits for it`);
      }
      if (server.table.size > 0 && !mayLeave) this.broken.push(`${server.table.size} names are remembered`);
    }
    if (this.clock.pending > 0) this.broken.push(`${this.clock.pending} timers are left`);
    // What is left of a run that went wrong must not keep the test from telling it.
    void Promise.all(this.clients.map((client) => client.shutdown(0)));
    await this.clock.advance(calm);
  }

  private client(): LockClient {
    const log = new KeptLog();
    const nodes = this.servers.map((server) => new MemoryLockBackend({ server, commandTimeout, poll }));
    const backend: LockBackend =
      nodes.length === 1 ? nodes[0]! : new QuorumBackend({ nodes, log, random: () => this.pauses.next() });
    const settings = { defaults: lockDefaults, maxWaiters: 3, maxLocalHandoffs: 4 };
    const client = new LockClient(backend, settings, log, this.clock);
    void client.start();
    return client;
  }

  private async call(call: Call): Promise<void> {
    this.open++;
    const outcome = await this.attempt(call).catch((error: unknown) => {
      const { code, name: title } = error as { code?: unknown; name: string };
      return typeof code === 'string' ? code : title;
    });
    this.open--;
    this.seen.outcomes.set(outcome, (this.seen.outcomes.get(outcome) ?? 0) + 1);
    if (outcome !== 'worked' && !known.includes(outcome)) this.broken.push(`a call ended by ${outcome}`);
  }

  private async attempt({ names, process, abortAfter, share, permits, ...call }: Call): Promise<string> {
    const client = this.clients[process]!;
    const [first] = names;
    const kind =
      names.length > 1 ? {} : first === 'gate' ? { limit, permits } : first === 'book' && share ? { shared: true } : {};
    const mode = 'limit' in kind ? permits : 'shared' in kind ? 'shared' : 'exclusive';
    const abort = abortAfter === undefined ? undefined : new AbortController();
    if (abort) this.clock.timer(abortAfter!, () => abort.abort());
    const { lease, renew, wait, fairness, maxHold } = call;
    const minHold = call.minHold !== undefined && call.minHold < lease ? call.minHold : undefined;
    const options = resolveOptions(
      { ...kind, ...{ lease, renew, wait, fairness, minHold, maxHold, signal: abort?.signal } },
      lockDefaults,
    );
    const before = new Map(this.tokens);
    const lock = await client.acquire(names.length === 1 ? first! : names, options);
    await this.work(lock, call, mode, before);
    if (call.atLast === 'hand over') {
      let ticket: string;
      try {
        ticket = await lock.export();
      } finally {
        // Of a lock that was handed over it gives nothing back.
        await lock.release();
      }
      const other = this.clients[(process + 1) % processes]!;
      const terms = resolveAdoption({ lease, renew, wait, maxHold }, lockDefaults);
      await this.work(await other.adopt(readTicket(ticket), terms), { ...call, atLast: 'release' }, mode, new Map());
    }
    return 'worked';
  }

  private async work(
    lock: Awaited<ReturnType<LockClient['acquire']>>,
    { work, atLast }: Pick<Call, 'work' | 'atLast'>,
    mode: Holding['mode'],
    before: ReadonlyMap<string, number>,
  ): Promise<void> {
    const parts = 'parts' in lock ? lock.parts : [lock];
    const begun = parts.map((handle) => this.begin(handle, mode, before));
    await this.pass(work);
    if (atLast === 'renew') await lock.renew().catch(() => undefined);
    this.exclude();
    for (const { handle } of begun) if (handle.lost) this.seen.lost++;
    for (const holding of begun) this.finish(holding);
    if (atLast !== 'hand over') await lock.release();
  }

  private begin(handle: LockHandle, mode: Holding['mode'], before: ReadonlyMap<string, number>): Holding {
    this.seen.granted++;
    if (!this.isForgotten(handle) && handle.fencingToken <= (before.get(handle.key) ?? 0))
      this.broken.push(`a later holder of ${handle.key} got a smaller token`);
    const holding = { handle, mode };
    this.holdings.add(holding);
    this.exclude();
    return holding;
  }

  private finish(holding: Holding): void {
    this.holdings.delete(holding);
    const { key, fencingToken } = holding.handle;
    if (holding.mode === 'exclusive') this.tokens.set(key, Math.max(this.tokens.get(key) ?? 0, fencingToken));
  }

  /** Nobody is certain to hold what somebody else is certain to hold for himself. */
  private exclude(): void {
    const certain = [...this.holdings].filter(({ handle }) => !this.isForgotten(handle) && handle.isHeld);
    for (const { handle, mode } of certain) {
      const others = certain.filter((other) => other.handle !== handle && other.handle.key === handle.key);
      const beside =
        mode === 'exclusive'
          ? others.length
          : mode === 'shared'
            ? others.filter((other) => other.mode !== 'shared').length
            : Number(others.reduce((sum, other) => sum + Number(other.mode), mode) > limit);
      if (beside > 0) this.broken.push(`${handle.key} was held by more than may`);
    }
  }

  /** Whatever was granted so far, or reserved for hand-offs inside a process. */
  private forget(name: string): void {
    const registers = this.servers.map(({ table }) => (table as unknown as { register: number }).register);
    this.forgotten.set(name, Math.max(...registers));
  }

  private isForgotten({ key, fencingToken }: LockHandle): boolean {
    return fencingToken <= (this.forgotten.get(key) ?? 0);
  }

  private pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.timer(ms, resolve));
  }

  private async goWrong(fault: Fault): Promise<void> {
    const { faults } = this.servers[fault.server % this.servers.length]!;
    switch (fault.what) {
      case 'lose':
        faults.lose(fault.name);
        return this.forget(fault.name);
      case 'forceRelease':
        // Until it is answered it is not known what it takes, and from whom.
        this.forgotten.set(fault.name, Number.POSITIVE_INFINITY);
        await this.clients[0]!.views.forceRelease(fault.name).catch(() => undefined);
        return this.forget(fault.name);
      case 'unavailable':
        return faults.unavailable(fault.lasts);
      case 'stall':
        return this.clock.stall(fault.lasts);
      case 'dropReplies':
        return faults.dropReplies(fault.count);
      case 'loseHandOffs':
        return faults.loseHandOffs(fault.count);
      case 'delayCommands':
        return faults.delayCommands(fault.by, fault.count);
      case 'delayHandOffs':
        return faults.delayHandOffs(fault.by, fault.count);
      case 'shutdown':
        return this.clients[fault.process]!.shutdown(500);
    }
  }
}
