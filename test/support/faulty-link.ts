import type { MemoryLockBackend } from '../../lib/backends/memory/index.js';
import { nextTurn } from '../../lib/backends/memory/turns.js';
import type { Clock } from '../../lib/core/clock.js';
import type {
  AcquireReply,
  AcquireRequest,
  AdoptReply,
  AdoptRequest,
  HolderRef,
  LockBackend,
  LockBackendEvents,
  LockSnapshot,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../../lib/core/lock-backend.js';
import { LockUnavailableError } from '../../lib/errors/lock-errors.js';
import type { ProcessClock } from './process-clock.js';

/** What a half-open connection drops: everything, or only replies. */
type Swallows = 'everything' | 'replies';

/** Milliseconds from the break of a connection until the next one is usable. */
export const reconnecting = 50;
/** Milliseconds before a command that was refused for a moment is sent again. */
const transientPause = 100;

/** One connection: commands and answers keep their order. */
interface Line {
  swallows: Swallows | undefined;
  /** The times before which nothing more arrives at the server, and at the client. */
  arrival: number;
  answer: number;
  /** Ends pending commands. */
  readonly underWay: Set<(error: LockUnavailableError) => void>;
}

const freshLine = (): Line => ({
  swallows: undefined,
  arrival: Number.NEGATIVE_INFINITY,
  answer: Number.NEGATIVE_INFINITY,
  underWay: new Set(),
});

export interface Span {
  readonly from: number;
  to: number;
}

/**
 * The connection between one process and a memory server, which can be slow, half-open, or refused by the server, at any await. It keeps the promises of
 * the port as `RedisBackend` does: a command without a reply within `commandTimeout` fails with the connection, and a new one is made.
 */
export class FaultyLink implements LockBackend {
  /** From a fault until calls succeed again. */
  readonly troubles: Span[] = [];
  /** The durations of replies, with their times. */
  readonly delays: Array<Span & { readonly by: number }> = [];
  /** By lock name: the time of the last reply. */
  readonly answeredAt = new Map<string, number>();
  /** By lock name: when the last request for the lock was sent. */
  readonly sentAt = new Map<string, number>();
  /** By lock name: when the server read its requests for the lock. */
  readonly askedAt = new Map<string, number[]>();
  /** Names that a message was about. */
  readonly heardOf = new Set<string>();
  /** Claims of which a renewal is under way. */
  readonly renewing = new Set<string>();
  clientId = '';

  private line = freshLine();
  private usable = false;
  private closed = false;
  private events: LockBackendEvents | undefined;
  /** Also new connections are half-open until then. */
  private deadUntil = 0;
  private refusesUntil = 0;
  private refusesPassing = false;
  private silentSince: number | undefined;
  private openTrouble: Span | undefined;
  private waiters: Array<() => void> = [];
  /** Commands that were sent and not executed. */
  private onTheirWay = 0;

  /**
   * @param world the time of everything outside the process
   * @param settingUp ms that the first connection takes
   * @param looked after each command, and each message: the server may have changed
   */
  constructor(
    private readonly inner: MemoryLockBackend,
    readonly clock: ProcessClock,
    private readonly world: Clock,
    private readonly settingUp: number,
    private readonly looked: (name: string | undefined) => void,
  ) {}

  get commandTimeout(): number {
    return this.inner.commandTimeout;
  }

  get poll(): number {
    return this.inner.poll;
  }

  get claimWindow(): number {
    return this.inner.claimWindow;
  }

  // --- faults ---

  /** Replies take this long, for that many ms. */
  slow(by: number, lasts: number): void {
    const from = this.world.now();
    this.delays.push({ from, to: from + lasts, by });
  }

  /** The current connection is half-open for good; later ones are, too, for that many ms. */
  halfOpen(swallows: Swallows, lasts: number): void {
    const now = this.world.now();
    this.line.swallows = swallows;
    this.deadUntil = Math.max(this.deadUntil, now + lasts);
    this.trouble(now);
    // Without a command it is not noticed.
    if (!this.usable && this.events) this.reconnect();
  }

  /** The server executes nothing, and says so, for so many ms: a slot that moves (`passing`: a question is worth another try), too few replicas, no memory. */
  refuse(lasts: number, passing: boolean): void {
    const from = this.world.now();
    this.refusesUntil = Math.max(this.refusesUntil, from + lasts);
    this.refusesPassing = passing;
    this.troubles.push({ from, to: from + lasts });
  }

  /** The connection breaks; what is under way may have been executed. */
  reset(): void {
    if (this.usable) this.breakLine(this.line, this.world.now());
  }

  // --- what happened ---

  /** When its first connection was made; infinite before. */
  startedAt = Number.POSITIVE_INFINITY;

  /** The server, or the process, was in trouble. */
  note(span: Span): void {
    this.troubles.push(span);
  }

  /** The end of the last trouble that began before `at`; infinite while it lasts. */
  failedUntil(at: number): number {
    return this.troubles.reduce(
      (end, { from, to }) => (from <= at ? Math.max(end, to) : end),
      Number.NEGATIVE_INFINITY,
    );
  }

  /** The longest duration of a reply between two times. */
  latency(from: number, to: number): number {
    return this.delays.reduce(
      (longest, delay) => (delay.from <= to && delay.to + delay.by >= from ? Math.max(longest, delay.by) : longest),
      0,
    );
  }

  // --- the port ---

  async start(clientId: string, events: LockBackendEvents): Promise<void> {
    this.clientId = clientId;
    this.events = {
      ...events,
      granted: (grant) => this.hear(() => events.granted(grant), grant.name),
      revoked: (claim) => this.hear(() => events.revoked?.(claim), claim.name),
      freeAt: (claim, at) => this.hear(() => events.freeAt?.(claim, at), claim.name),
      recovered: (...what) => this.clock.whenRunning(() => events.recovered(...what)),
    };
    this.silentSince = this.world.now();
    if (this.settingUp > 0) await this.pause(this.settingUp);
    if (this.world.now() < this.deadUntil) {
      await this.pause(this.commandTimeout);
      if (!this.usable) this.reconnect();
      throw unavailable(undefined, 'did not answer as the application started');
    }
    await this.connect();
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    for (;;) {
      try {
        return await this.acquireOnce(request);
      } catch (error) {
        if (!(error instanceof Passing)) throw error;
        if (this.clock.now() + transientPause >= request.giveUpAt) throw refused(request.name);
        await this.pause(transientPause);
        if (!request.isWanted()) throw refused(request.name);
      }
    }
  }

  private async acquireOnce(request: AcquireRequest): Promise<AcquireReply> {
    const { name, giveUpAt } = request;
    const { answer, sentEarlier, readLater } = await this.ask(
      { name, giveUpAt, isWanted: () => request.isWanted() },
      () => {
        // As it is at the sending; and what was sent is executed, wanted or not.
        const { id, kind, permits, limit, lease, reserve, enqueue, again } = request;
        const sent = { name, id, kind, permits, limit, lease, reserve, enqueue, again, giveUpAt };
        this.sentAt.set(name, this.clock.now());
        return (isLate) => {
          this.askedAt.set(name, [...(this.askedAt.get(name) ?? []), this.world.now()]);
          return this.inner.acquire({ ...sent, isWanted: () => isLate || request.isWanted() });
        };
      },
    );
    if (answer.status === 'granted') return { ...answer, validUntil: answer.validUntil - sentEarlier };
    return answer.status === 'queued' ? { ...answer, askAt: answer.askAt + readLater } : answer;
  }

  async release({ name, id, keepUntil }: ReleaseRequest): Promise<ReleaseReply> {
    const sent = { name, id, keepUntil };
    return (await this.command({ name, executedLate: true }, () => () => this.inner.release(sent))).answer;
  }

  async renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    for (const { id: claim } of holds) this.renewing.add(claim);
    const from = this.world.now();
    try {
      const terms = { name: holds[0]?.name, giveUpAt: Number.NEGATIVE_INFINITY, executedLate: true };
      const { answer, sentEarlier } = await this.ask(terms, () => () => this.inner.renew(holds));
      // The server has a fault of its own.
      if (answer.includes('unanswered')) this.troubles.push({ from, to: this.world.now() });
      return answer.map((one) =>
        typeof one === 'object' ? { ...one, validUntil: one.validUntil - sentEarlier } : one,
      );
    } catch {
      return holds.map(() => 'unanswered');
    } finally {
      for (const { id: claim } of holds) this.renewing.delete(claim);
    }
  }

  async adopt(request: AdoptRequest): Promise<AdoptReply> {
    const { name, giveUpAt } = request;
    const { answer, sentEarlier } = await this.command({ name, giveUpAt }, () => () => this.inner.adopt(request));
    return typeof answer === 'object' ? { validUntil: answer.validUntil - sentEarlier } : answer;
  }

  async inspect(name: string, waiters: number): Promise<LockSnapshot> {
    return (await this.command({ name, giveUpAt: this.soon }, () => () => this.inner.inspect(name, waiters))).answer;
  }

  async revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    const terms = { name, giveUpAt: this.soon, executedLate: true };
    return (await this.command(terms, () => () => this.inner.revoke(name, holders))).answer;
  }

  availability(): Array<[server: string, isAvailable: boolean]> {
    return [['link', this.usable]];
  }

  async close(): Promise<void> {
    this.closed = true;
    this.usable = false;
    this.end(this.line, 'is not connected any more');
    this.wake();
    // Commands that were sent by now are still executed.
    if (this.onTheirWay === 0) await this.inner.close();
  }

  // --- how it works ---

  private get soon(): number {
    return this.clock.now() + this.commandTimeout;
  }

  private async command<T>(terms: Terms, prepare: () => (isLate: boolean) => Promise<T>): Promise<Answered<T>> {
    return this.ask(terms, prepare).catch((error: unknown) => {
      throw error instanceof Passing ? refused(terms.name) : error;
    });
  }

  /** One command: waits for a connection, travels, is executed, and its answer travels back. */
  private async ask<T>(
    { name, giveUpAt = Number.POSITIVE_INFINITY, executedLate = false, isWanted }: Terms,
    prepare: () => (isLate: boolean) => Promise<T>,
  ): Promise<Answered<T>> {
    if (!this.usable) {
      await this.whenUsable(name, giveUpAt);
      if (isWanted?.() === false) throw unavailable(name, 'was away, and the lock is not wanted any more');
    }
    const { line, clock, world } = this;
    // A test may look at what a dead process held.
    if (clock.isDead) return new Promise(() => undefined);
    const execute = prepare();
    const sentAt = clock.now();
    return new Promise((resolve, reject) => {
      let open = true;
      const stopWatch = clock.timer(this.commandTimeout, () => {
        // What has arrived while the process stood still is read first.
        void nextTurn().then(() => {
          if (open) this.breakLine(line, sentAt);
        });
      });
      const close = (): void => {
        open = false;
        line.underWay.delete(fail);
        stopWatch();
      };
      const fail = (error: LockUnavailableError): void => {
        if (open) reject(error);
        close();
      };
      line.underWay.add(fail);
      const by = this.delayAt(sentAt);
      if (line.swallows === 'everything') return;
      line.arrival = Math.max(line.arrival, sentAt + by / 2);
      this.onTheirWay++;
      this.at(line.arrival, () => {
        const arrivedAt = world.now();
        if (!executedLate && arrivedAt > sentAt + this.commandTimeout) return this.arrived();
        const answered = (settle: () => void): void => {
          this.arrived();
          this.looked(name);
          const readyAt = world.now();
          if (line.swallows !== undefined) return;
          line.answer = Math.max(line.answer, readyAt + by / 2);
          this.at(line.answer, () =>
            clock.whenRunning(() => {
              if (!open) return;
              close();
              settle();
            }),
          );
        };
        if (arrivedAt < this.refusesUntil) {
          const refusal = this.refusesPassing ? new Passing('try again') : refused(name);
          void nextTurn().then(() => answered(() => reject(refusal)));
          return;
        }
        execute(arrivedAt > sentAt).then(
          (answer) => {
            const readyAt = world.now();
            answered(() => {
              const now = clock.now();
              if (name !== undefined) this.answeredAt.set(name, now);
              resolve({ answer, sentEarlier: arrivedAt - sentAt, readLater: now - readyAt });
            });
          },
          (error: Error) => {
            // The server has a fault of its own.
            this.troubles.push({ from: sentAt, to: world.now() });
            answered(() => reject(error));
          },
        );
      });
    });
  }

  private arrived(): void {
    this.onTheirWay--;
    if (this.closed && this.onTheirWay === 0) void this.inner.close();
  }

  private at(time: number, fn: () => void): void {
    const delay = time - this.world.now();
    if (delay > 0) this.world.timer(delay, fn);
    else fn();
  }

  private delayAt(time: number): number {
    return this.delays.findLast(({ from, to }) => from <= time && time < to)?.by ?? 0;
  }

  private async whenUsable(name: string | undefined, giveUpAt: number): Promise<void> {
    const end = Math.min(giveUpAt, (this.silentSince ?? this.clock.now()) + this.commandTimeout);
    const rest = end - this.clock.now();
    if (!this.closed && rest > 0) {
      await this.pause(rest);
    }
    if (this.usable) return;
    await nextTurn();
    throw unavailable(name, 'cannot be reached');
  }

  private wake(): void {
    for (const waiter of this.waiters.splice(0)) waiter();
  }

  private async connect(): Promise<void> {
    if (this.closed) throw unavailable(undefined, 'is not connected any more');
    this.usable = true;
    this.silentSince = undefined;
    this.line = freshLine();
    if (this.openTrouble) this.openTrouble.to = this.world.now();
    this.openTrouble = undefined;
    if (this.startedAt === Number.POSITIVE_INFINITY) {
      this.startedAt = this.world.now();
      await this.inner.start(this.clientId, this.events!);
    }
    this.wake();
  }

  private reconnect(): void {
    const usableAt = Math.max(this.world.now(), this.deadUntil) + reconnecting;
    this.clock.timer(usableAt - this.world.now(), () => {
      if (this.closed || this.usable) return;
      if (this.world.now() < this.deadUntil) return this.reconnect();
      void this.connect().then(
        () => this.events?.recovered(),
        () => undefined,
      );
    });
  }

  private breakLine(line: Line, troubleSince: number): void {
    this.end(line, 'did not answer in time');
    if (line !== this.line || !this.usable) return;
    this.usable = false;
    this.silentSince = this.clock.now();
    this.trouble(troubleSince);
    this.reconnect();
  }

  private end(line: Line, why: string): void {
    for (const fail of [...line.underWay]) fail(unavailable(undefined, why, true));
  }

  private trouble(from: number): void {
    if (this.openTrouble) return;
    this.openTrouble = { from, to: Number.POSITIVE_INFINITY };
    this.troubles.push(this.openTrouble);
  }

  /** Messages come over a connection of their own, through the same network. */
  private hear(tell: () => void, name: string): void {
    this.looked(name);
    if (this.world.now() < this.deadUntil) return;
    this.clock.whenRunning(() => {
      this.heardOf.add(name);
      tell();
    });
  }

  /** Also over when the link is closed. */
  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.clock.timer(ms, resolve);
      this.waiters.push(() => {
        stop();
        resolve();
      });
    });
  }
}

interface Terms {
  readonly name: string | undefined;
  /** Until when a connection is waited for. */
  readonly giveUpAt?: number;
  /** Whether the server executes it however late it arrives. */
  readonly executedLate?: boolean;
  readonly isWanted?: () => boolean;
}

interface Answered<T> {
  readonly answer: T;
  /** Milliseconds between sending and arrival, and between the answer and its reading. */
  readonly sentEarlier: number;
  readonly readLater: number;
}

/** The server will answer otherwise soon. */
class Passing extends Error {}

const refused = (key: string | undefined): LockUnavailableError =>
  unavailable(key, 'is well, and the server refuses the command');

const unavailable = (key: string | undefined, why: string, uncertain = false): LockUnavailableError =>
  new LockUnavailableError(`The link ${why}.`, { key, uncertain });
