import { MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { claimWindow } from '../../../lib/core/defaults.js';
import type { Hold } from '../../../lib/core/hold.js';
import { LockHandle } from '../../../lib/core/lock-handle.js';
import type { MultiLock } from '../../../lib/core/multi-lock.js';
import { lockDefaults, resolveAdoption, resolveOptions } from '../../../lib/core/options.js';
import { readTicket } from '../../../lib/core/ticket.js';
import { Random } from '../../chaos/random.js';
import type { FaultyLink } from '../../support/faulty-link.js';
import { HastyClock, PatientClock, settled, type VirtualClock } from '../../support/virtual-clock.js';
import { type Beginning, type Call, commandTimeout, type Fault, limit, names, trouble } from './calls.js';
import { FreeNames } from './free-names.js';
import { type Holding, Holdings } from './holdings.js';
import { isForgotten, shortOf } from './lasting.js';
import { Process, type World } from './process.js';

/** Longer (ms) than any work that may remain after the last fault. */
const calm = 120_000;
/** The interval of the check for locks that are never released. */
const watched = trouble + 10_000;

/** A call that fails ends with one of these. */
const known = ['LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT', 'LOCK_UNAVAILABLE', 'LOCK_LOST', 'LOCK_QUEUE_FULL', 'AbortError'];

/** The results of some runs, apart from violations. */
export interface Seen {
  granted: number;
  lost: number;
  outcomes: Map<string, number>;
}

/** The target of the calls of a run. */
export interface Terms {
  /** 1, or the number of nodes of a quorum. */
  readonly servers: number;
  /** Whether time passes while commands and messages are under way: up to the next timer, even if that is years away. Times are then not checked. */
  readonly hasty: boolean;
  /** For the pauses of a quorum. */
  readonly seed: number;
  readonly poll: number;
  readonly beginnings: readonly Beginning[];
  readonly calls: readonly Call[];
  readonly faults: readonly Fault[];
}

/** Processes on one server or quorum, in virtual time. */
export class Run implements World {
  readonly clock: VirtualClock;
  readonly servers: readonly MemoryLockServer[];
  readonly poll: number;
  stalled = 0;
  readonly processes: readonly Process[];
  readonly broken: string[] = [];
  /** For the one server; a quorum has no common queue. */
  private readonly free: FreeNames | undefined;
  private readonly holdings: Holdings;
  /** One for all: clients with equal pauses would keep splitting their votes. */
  private readonly pauses: Random;
  private readonly open = new Map<object, Process>();

  constructor(
    private readonly seen: Seen,
    private readonly terms: Terms,
  ) {
    const { servers, hasty, calls, faults, beginnings, poll, seed } = terms;
    this.poll = poll;
    this.clock = hasty ? new HastyClock() : new PatientClock();
    this.pauses = new Random(`${seed}`);
    this.servers = Array.from({ length: servers }, () => new MemoryLockServer({ clock: this.clock }));
    this.processes = beginnings.map((beginning, number) => new Process(number, this, beginning));
    this.holdings = new Holdings(this.servers, (promise) => this.broken.push(promise));
    if (servers === 1 && !hasty) this.free = new FreeNames(this.servers[0]!, this.processes, this.broke);
    for (const one of calls) {
      for (let count = 0; count < one.crowd; count++)
        this.processes[one.process]!.clock.timer(one.at + 2 * count, () => void this.call(one));
    }
    for (const one of faults) this.clock.timer(one.at, () => void this.goWrong(one));
    for (let at = 0; this.free && at < watched; at += 250) this.clock.timer(at, () => this.free!.lookForStale());
  }

  /** A call took longer or shorter than promised. */
  readonly broke = (promise: string): void => {
    if (!this.terms.hasty) this.broken.push(promise);
  };

  random(): number {
    return this.pauses.next();
  }

  looked(_server: number, name: string | undefined): void {
    this.free?.look(name);
  }

  async end(): Promise<void> {
    const { calls, faults } = this.terms;
    await this.clock.advance(trouble + calm);
    // Work that was pending when no timer was left may set new ones.
    for (let rounds = 0; rounds < 5; rounds++) {
      await settled();
      await this.clock.advance(calm);
    }
    const live = this.processes.filter(({ clock }) => !clock.isDead);
    const unanswered = [...this.open.values()].filter((process) => live.includes(process)).length;
    if (unanswered > 0) this.broken.push(`${unanswered} calls were never answered`);
    for (const { client } of live) {
      const { queues, strictQueues, waiting, renewal } = client as unknown as {
        queues: { values(): readonly unknown[] };
        strictQueues: { values(): readonly unknown[] };
        waiting: number;
        renewal: { holds: { size: number } };
      };
      const open = [...queues.values(), ...strictQueues.values()].length;
      const left = { queues: open, waiting, holds: renewal.holds.size };
      if (Object.values(left).some((size) => size > 0)) this.broken.push(`left in a client: ${JSON.stringify(left)}`);
    }
    // Locks that could not be released expire; and an acquire that arrives when its lock is held elsewhere takes a place in the queue,
    // for as long as a dead waiter keeps its place.
    const mayLeave = faults.length > 0 || calls.some(({ atLast }) => atLast.startsWith('hand over'));
    for (const server of this.servers) {
      for (const name of names) {
        const { holders, waiters } = server.inspect(name);
        if (holders.length + waiters.length > 0) this.broken.push(`a process holds ${name}, or waits for it`);
      }
      if (server.table.size > 0 && !mayLeave) this.broken.push(`${server.table.size} names are remembered`);
    }
    if (this.clock.pending > 0) this.broken.push(`${this.clock.pending} timers are left`);
    // The rest of a failed run must not keep the test from reporting it.
    void Promise.all(this.processes.map(({ client }) => client.shutdown(0)));
    await this.clock.advance(calm);
    // Of a process that died, too: the list of open connections would keep every run in memory.
    for (const { connection } of this.processes) connection.operators.stop();
  }

  private async call(call: Call): Promise<void> {
    const id = {};
    const process = this.processes[call.process]!;
    this.open.set(id, process);
    const outcome = await this.attempt(call, process, (other) => this.open.set(id, other)).catch(outcomeOf);
    this.open.delete(id);
    this.seen.outcomes.set(outcome, (this.seen.outcomes.get(outcome) ?? 0) + 1);
    if (outcome !== 'worked' && !known.includes(outcome)) this.broken.push(`a call ended by ${outcome}`);
  }

  private async attempt(call: Call, process: Process, goesOnIn: (other: Process) => void): Promise<string> {
    const { share, permits, lease, renew, wait, fairness, maxHold } = call;
    const [first] = call.names;
    const kind =
      call.names.length > 1
        ? {}
        : first === 'gate'
          ? { limit, permits }
          : first === 'book' && share
            ? { shared: true }
            : {};
    const mode = 'limit' in kind ? permits : 'shared' in kind ? 'shared' : 'exclusive';
    const abort = call.abortAfter === undefined ? undefined : new AbortController();
    if (abort) process.clock.timer(call.abortAfter!, () => abort.abort());
    const minHold = call.minHold !== undefined && call.minHold < lease ? call.minHold : undefined;
    const options = resolveOptions(
      { ...kind, ...{ lease, renew, wait, fairness, minHold, maxHold, signal: abort?.signal } },
      lockDefaults,
    );
    const before = this.holdings.tokens();
    const key = call.names.length === 1 ? first! : call.names;
    const lock = (await this.answered(call, process, process.connection.acquire(key, options))) as
      LockHandle | MultiLock;
    await this.work(lock, call, process, mode, before);
    if (!call.atLast.startsWith('hand over')) return 'worked';
    let ticket: string;
    const claims = holdsOf(lock).map(({ claim }) => claim.id);
    for (const claim of claims) process.exported.add(claim);
    try {
      ticket = await process.timely('an export', commandTimeout, lock.export());
    } catch (error) {
      for (const claim of claims) process.exported.delete(claim);
      throw error;
    } finally {
      // It does not release a lock that was handed over.
      await process.timely('a release', 2 * commandTimeout, lock.release());
    }
    const other = this.processes[(call.process + 1) % this.processes.length]!;
    goesOnIn(other);
    // A dead process adopts nothing.
    await new Promise<void>((resolve) => other.clock.timer(0, resolve));
    const terms = resolveAdoption({ lease: Math.min(lease, 500), renew, wait, maxHold }, lockDefaults);
    const { holds } = readTicket(ticket);
    const adopted = other.connection.ask(holds[0]!.name, terms, (client, given) =>
      client.adopt(readTicket(ticket), given),
    );
    if (call.atLast === 'hand over and close') void other.close();
    const limits = { ...call, abortAfter: undefined };
    await this.work(
      await this.answered(limits, other, adopted, true),
      { ...call, atLast: 'release' },
      other,
      mode,
      new Map(),
    );
    return 'worked';
  }

  /** Settles as the call does, and checks the duration and the error. */
  private async answered<T>(call: Call, process: Process, promise: Promise<T>, adopts = false): Promise<T> {
    const since = this.clock.now();
    const several = call.names.length > 1;
    // With several names, and in an adoption, granted names are released before the call rejects.
    const givenBack = several || adopts ? 2 * commandTimeout : 0;
    // Over a quorum twice that of a server: an election may need a second round, for the token.
    const longest = process.client.backend.commandTimeout;
    // Before the start, one try waits for the connection, and for its reply.
    const connects = call.wait === 0 && process.links.some(({ startedAt }) => startedAt > since);
    const connecting = connects ? longest : 0;
    const atMost = (): number =>
      Math.min(
        call.wait + connecting + longest,
        call.abortAfter ?? Number.POSITIVE_INFINITY,
        Math.max(0, process.closingAt - since) + connecting + longest,
      ) + givenBack;
    let outcome = 'granted';
    try {
      return await process.timely(`a call for ${call.names.join()} (wait ${call.wait})`, atMost, promise);
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      if (this.free && !several && !adopts && !process.clock.isDead) {
        const [name] = call.names as [string];
        if (call.wait > 0) this.free.waited({ name, process, since });
        this.judgeRefusal(outcome, name, process, since, call.wait);
      }
    }
  }

  /** Contended and unavailable are two things. */
  private judgeRefusal(outcome: string, name: string, process: Process, since: number, wait: number): void {
    const now = this.clock.now();
    const answeredAt = process.links[0]!.answeredAt.get(name) ?? Number.NEGATIVE_INFINITY;
    const said = `a call for ${name} of process ${process.number} ended by ${outcome}`;
    if (outcome === 'LOCK_UNAVAILABLE') {
      // One try that came while another acquire was pending may need two replies.
      const tooSlow = wait === 0 && 2 * process.latency(since, now) > commandTimeout;
      // A request of a claim that waits, and that failed, is repeated after a third of the window: until then nothing is known.
      const unknown = process.failedUntil(now) + claimWindow / 3 + process.latency(since, now) >= since;
      const excused = tooSlow || unknown || process.closingAt <= now || process.troubledUntil(now) >= since;
      if (!excused && answeredAt > since) this.broke(`${said}, though the server answers`);
    } else if (outcome === 'LOCK_CONTENDED' || outcome === 'LOCK_WAIT_TIMEOUT') {
      const [{ sentAt, heardOf }] = process.links as readonly [FaultyLink];
      // A request that is younger than `commandTimeout` is on its way: no silence.
      const isYoung = now - (sentAt.get(name) ?? Number.NEGATIVE_INFINITY) < commandTimeout;
      const isKnown = isYoung || answeredAt > Number.NEGATIVE_INFINITY || heardOf.has(name);
      if (!isKnown) this.broke(`${said}, though the server has never answered`);
    }
  }

  private async work(
    lock: LockHandle | MultiLock,
    { work, atLast, renew }: Pick<Call, 'work' | 'atLast' | 'renew'>,
    process: Process,
    mode: Holding['mode'],
    before: ReadonlyMap<string, number>,
  ): Promise<void> {
    const parts = partsOf(lock);
    const held = holdsOf(lock).map((hold) => ({ hold, leftAt: undefined as number | undefined }));
    const certain = held.map(({ hold }) => hold.validUntil - hold.acquiredAt);
    process.held.push(...held);
    this.seen.granted += parts.length;
    const begun = parts.map((handle) => this.holdings.begin(handle, mode, before));
    await new Promise<void>((resolve) => process.clock.timer(work, resolve));
    for (const [index, handle] of parts.entries()) {
      const { hold } = held[index]!;
      const short = shortOf({ hold, process, renew, certainAtFirst: certain[index]! });
      if (short !== undefined && (handle.isHeld || handle.lost)) this.broke(short);
      const forgotten = handle.isHeld ? isForgotten(hold, process) : undefined;
      if (forgotten !== undefined) this.broke(forgotten);
    }
    if (atLast === 'renew' || atLast === 'lengthen') {
      const renewed = lock.renew(atLast === 'lengthen' ? 20_000 : undefined);
      await process.timely('a renewal', commandTimeout, renewed).catch(() => undefined);
    }
    this.holdings.exclude();
    for (const { handle } of begun) if (handle.lost) this.seen.lost++;
    for (const holding of begun) this.holdings.finish(holding);
    for (const one of held) one.leftAt = this.clock.now();
    if (!atLast.startsWith('hand over')) await process.timely('a release', 2 * commandTimeout, lock.release());
  }

  private async goWrong(fault: Fault): Promise<void> {
    const server = this.servers[fault.server % this.servers.length]!;
    const { faults } = server;
    const now = this.clock.now();
    const everywhere = (lasts: number): void => {
      for (const process of this.processes) process.note({ from: now, to: now + lasts });
    };
    const process = 'process' in fault ? this.processes[fault.process]! : undefined;
    const link = process?.links[fault.server % this.servers.length];
    switch (fault.what) {
      case 'lose':
        faults.lose(fault.name);
        this.free?.lost(fault.name);
        return this.holdings.forget(fault.name);
      case 'forceRelease':
        return this.holdings.revoke(fault.name, this.processes[0]!.connection.operators.views.forceRelease(fault.name));
      case 'restart empty':
        for (const name of names) this.holdings.forget(name);
        this.free?.restarted();
        server.table.forgetAll();
        faults.unavailable(fault.lasts);
        for (const name of names) this.free?.lost(name);
        return everywhere(fault.lasts);
      case 'unavailable':
        everywhere(fault.lasts);
        return faults.unavailable(fault.lasts);
      case 'refuse':
        for (const { links } of this.processes) links[fault.server % links.length]!.refuse(fault.lasts, fault.passing);
        return;
      case 'stall':
        everywhere(fault.lasts);
        this.stalled += fault.lasts;
        return this.clock.stall(fault.lasts);
      case 'dropReplies':
        return faults.dropReplies(fault.count);
      case 'loseHandOffs':
        everywhere(calm);
        return faults.loseHandOffs(fault.count);
      case 'delayHandOffs':
        everywhere(calm);
        return faults.delayHandOffs(fault.by, fault.count);
      case 'slow':
        return link!.slow(fault.by, fault.lasts);
      case 'half-open':
        return link!.halfOpen('everything', fault.lasts);
      case 'replies lost':
        return link!.halfOpen('replies', fault.lasts);
      case 'reset':
        return link!.reset();
      case 'stop':
        return process!.stop(fault.lasts);
      case 'die':
      case 'die half-open':
        return process!.die(fault.what !== 'die');
      case 'shutdown':
        return process!.close();
    }
  }
}

const holdsOf = (lock: LockHandle | MultiLock): Hold[] => partsOf(lock).map((part) => LockHandle.holdOf(part));
const partsOf = (lock: LockHandle | MultiLock): readonly LockHandle[] => ('parts' in lock ? lock.parts : [lock]);

function outcomeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name: string };
  return typeof code === 'string' ? code : name;
}
