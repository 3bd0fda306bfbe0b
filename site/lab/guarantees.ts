import type { VirtualClock } from '../../lib/testing/virtual-clock.js';
import type { MemoryLockServer } from '../../lib/backends/memory/index.js';
import type { Hold } from '../../lib/core/hold.js';
import type { LockSnapshot } from '../../lib/core/lock-backend.js';
import type { LabProcess } from './lab-process.js';
import type { ServerStep } from './server-watch.js';

/** `open`: not promised now, because of a fault that breaks its assumptions. */
export interface Verdict {
  readonly id: string;
  readonly text: string;
  readonly state: 'holds' | 'open' | 'broken';
  readonly note: string;
}

/** The guarantees of docs/concepts/guarantees.md, and which assumptions they rest on. */
const promises = [
  ['G1', 'At most one holder at a time, by the clock of Redis', 'data'],
  ['G2', 'No process believes in its lock for longer than Redis does', 'belief'],
  ['G3', 'Tokens increase from holder to holder', ''],
  ['G4', 'First come, first served', 'data'],
  ['G5', 'A free lock finds its waiter, even if a message is lost', 'answers'],
  ['G6', 'A command that is repeated has one effect', ''],
  ['G7', 'Only the holder can release or renew', ''],
  ['G8', 'A holder learns of a loss before its lease ends', ''],
  ['G9', 'Nothing is left behind', ''],
] as const;

type Id = (typeof promises)[number][0];

/** A fault that is not covered. `data`: Redis lost data, or time. `belief`: a lock was taken from its holder. */
type Excuse = { readonly reason: string; readonly rests: 'data' | 'belief' };

/** Rounding of times since 1970, in ms. */
const rounding = 0.01;
/** How late (ms) a timer may be: the certain lease ends 2 ms early for that. */
export const lateTimer = 1 + rounding;
/** Milliseconds for which an open release may be repeated (docs/inside/protocol.md#late-commands), and the token register is kept. */
const longestRepetition = 60_000;

interface World {
  readonly clock: VirtualClock;
  readonly server: MemoryLockServer;
  readonly processes: ReadonlyMap<string, LabProcess>;
  readonly keys: readonly string[];
  ownerOf(claim: string): string | undefined;
  rankOf(token: number): number;
}

/** Compares what happened with what is promised. Computed from each step of the server, and from what the clients believe. */
export class Guarantees {
  private readonly broken = new Map<Id, string>();
  private readonly notes = new Map<Id, string>();
  /** Until clients and server agree again. */
  private excuse: Excuse | undefined;
  private readonly lastToken = new Map<string, number>();
  private readonly ended = new Set<string>();
  private readonly freeSince = new Map<string, number>();
  /** Since when no process works. */
  private idleSince: number | undefined;
  /** By process: since when it runs and does not work. A stopped one cannot end its timers. */
  private readonly restsSince = new Map<string, number>();
  private counts = { grants: 0, inOrder: 0, repeated: 0, refused: 0, learned: 0 };

  constructor(private readonly world: World) {
    this.notes.set('G7', 'No late call yet.');
    this.notes.set('G8', 'No loss yet.');
  }

  /** Data or the clock of the server was changed by hand. */
  excused(reason: string): void {
    this.excuse = { reason, rests: 'data' };
  }

  get list(): readonly Verdict[] {
    const isAway = !this.world.server.available;
    return promises.map(([id, text, rests]) => {
      const broken = this.broken.get(id);
      const isExcused = rests === 'belief' || (rests === 'data' && this.excuse?.rests === 'data');
      const reason = isExcused ? this.excuse?.reason : undefined;
      const open = rests === 'answers' && isAway ? 'Redis does not answer' : reason;
      const note =
        broken ?? (open === undefined ? undefined : `Not promised now: ${open}.`) ?? this.notes.get(id) ?? '';
      return { id, text, state: broken !== undefined ? 'broken' : open !== undefined ? 'open' : 'holds', note };
    });
  }

  stepped(step: ServerStep): void {
    // Its holder is notified, and believes in it until then.
    if (step.command === 'revoke') this.excuse ??= { reason: 'a lock was released by force', rests: 'belief' };
    this.checkHolders(step.name, step.after);
    this.checkGrants(step);
    this.checkRepetition(step);
    this.checkStrangers(step);
    this.look();
  }

  /** What the locks of a process said when it woke up, before its first `await`. */
  woke(process: LabProcess, answers: readonly boolean[]): void {
    const now = this.world.clock.now();
    process.holds.forEach((hold, index) => {
      const isOver = hold.lost !== undefined || now >= hold.validUntil;
      if (isOver === answers[index]) this.breaks('G8', `${process.name} woke up and believed in a lock that is over.`);
      if (isOver) this.learns(`${process.name} woke up and knew it before its first await.`);
    });
  }

  /** @param by when its certain lease ended */
  aborted(who: string, hold: Hold, isLate: boolean): void {
    if (isLate) this.breaks('G8', `The signal of ${who} aborted too late.`);
    else this.learns(`The signal of ${who} aborted in time (token ${this.world.rankOf(hold.fencingToken)}).`);
  }

  /** Compares clients and server, at any time. */
  look(): void {
    const { processes, keys, server } = this.world;
    const now = this.world.clock.now();
    const records = new Map(keys.map((key) => [key, server.table.snapshot(key, 100)]));
    let believers = 0;
    let agree = true;
    for (const { name, holds, state } of processes.values()) {
      if (state === 'dead') continue;
      for (const hold of holds) {
        if (hold.lost || !hold.isUsed || hold.validUntil <= now) continue;
        believers++;
        const holder = records.get(hold.name)!.holders.find(({ id }) => id === hold.claim.id);
        if (holder && now + holder.leaseLeft >= hold.validUntil - rounding) continue;
        agree = false;
        if (this.excuse === undefined) this.breaks('G2', `${name} believes in a lock that Redis has ended.`);
      }
      for (const hold of holds) {
        if (state === 'running' && hold.isUsed && !hold.lost && now > hold.validUntil + lateTimer)
          this.breaks('G8', `${name} has not noticed the end of its lease.`);
      }
    }
    if (agree) this.excuse = undefined;
    this.notes.set(
      'G2',
      `${believers === 0 ? 'No process believes' : countOf(believers, 'hold')}${believers === 0 ? ' in a lock.' : ' believed in, and in the record.'}`,
    );
    for (const [key, record] of records) this.checkWaiters(key, record, now);
    this.checkRemains(now);
  }

  private checkHolders(name: string, { kind, limit, holders }: LockSnapshot): void {
    const permits = holders.reduce((sum, holder) => sum + holder.permits, 0);
    const isOne = kind === 'permits' ? permits <= (limit ?? 0) : kind === 'shared' || holders.length <= 1;
    if (!isOne) this.breaks('G1', `${holders.length} holders of ${name}.`);
    const most = kind === 'permits' ? `${permits} of ${limit} permits of ${name} are taken.` : undefined;
    const readers = kind === 'shared' ? `${countOf(holders.length, 'reader')} of ${name}, and no writer.` : undefined;
    this.notes.set('G1', most ?? readers ?? `${countOf(holders.length, 'holder')} of ${name}.`);
  }

  private checkGrants({ name, before, after }: ServerStep): void {
    const known = new Set(before.holders.map(({ id, fencingToken }) => `${id} ${fencingToken}`));
    const granted = after.holders.filter(({ id, fencingToken }) => !known.has(`${id} ${fencingToken}`));
    for (const { id, fencingToken = 0 } of granted) {
      this.counts.grants++;
      if (fencingToken <= (this.lastToken.get(name) ?? 0)) this.breaks('G3', `A token of ${name} did not increase.`);
      this.lastToken.set(name, fencingToken);
      const place = before.waiters.findIndex((waiter) => waiter.id === id);
      const ahead = place < 0 ? before.waiters : before.waiters.slice(0, place);
      const overtaken = ahead.find(
        (waiter) =>
          after.waiters.some((one) => one.id === waiter.id && one.reachable) && this.ownerIs(waiter.id, 'running'),
      );
      const [winner, loser] = [this.world.ownerOf(id), overtaken && this.world.ownerOf(overtaken.id)];
      if (overtaken && this.excuse?.rests !== 'data') this.breaks('G4', `${winner} overtook ${loser}.`);
      if (place >= 0) this.counts.inOrder++;
    }
    this.notes.set(
      'G3',
      this.counts.grants === 0 ? 'No token yet.' : `${countOf(this.counts.grants, 'grant')}, each token larger.`,
    );
    this.notes.set('G4', `${countOf(this.counts.inOrder, 'waiter')} served, in order.`);
  }

  private checkRepetition({ command, claim, before, reply, after }: ServerStep): void {
    const had = before.holders.find(({ id }) => id === claim);
    if (command === 'acquire' && had) {
      this.counts.repeated++;
      if ((reply as { fencingToken?: number }).fencingToken !== had.fencingToken)
        this.breaks('G6', 'A second grant to one claim.');
    }
    if (command === 'release' && claim !== undefined && reply !== 'absent') this.ended.add(claim);
    const back = [...after.holders, ...after.waiters].find(({ id }) => this.ended.has(id));
    if (back) this.breaks('G6', `A claim of ${this.world.ownerOf(back.id)} came back after its release.`);
    this.notes.set(
      'G6',
      `${countOf(this.ended.size, 'claim')} ended once; ${countOf(this.counts.repeated, 'repeated request')}.`,
    );
  }

  private checkStrangers({ command, claim, before, reply, after }: ServerStep): void {
    if ((command !== 'release' && command !== 'renew') || before.holders.some(({ id }) => id === claim)) return;
    const isSame = before.holders.every(({ id, fencingToken }) =>
      after.holders.some((holder) => holder.id === id && holder.fencingToken === fencingToken),
    );
    if (!isSame || reply === 'released' || typeof reply === 'object')
      this.breaks('G7', `${this.world.ownerOf(claim!)} changed the lock of another holder.`);
    if (reply === 'cancelled') return;
    this.counts.refused++;
    this.notes.set('G7', `${countOf(this.counts.refused, 'late call')} changed nothing.`);
  }

  private checkWaiters(key: string, { holders, waiters }: LockSnapshot, now: number): void {
    const live = waiters.filter(({ id }) => this.ownerIs(id, 'running'));
    if (holders.length > 0 || live.length === 0 || !this.world.server.available) {
      this.freeSince.delete(key);
      this.notes.set(
        'G5',
        live.length === 0
          ? 'No live waiter at a free lock.'
          : `${countOf(live.length, 'waiter')} at a lock that is held.`,
      );
      return;
    }
    const since = this.freeSince.get(key) ?? now;
    this.freeSince.set(key, since);
    // After a fault a waiter asks again within 5 s; and one more round trip.
    if (now - since > 5_001) this.breaks('G5', `${key} is free, and its waiter was not served.`);
    this.notes.set('G5', `${key} is free for ${Math.round(now - since)} ms, and a waiter finds it within 5 s.`);
  }

  private checkRemains(now: number): void {
    const { keys, server, processes } = this.world;
    const live = [...processes.values()].filter(({ state }) => state !== 'dead');
    const isIdle = live.every(({ job }) => job === undefined);
    const timersOf = (some: readonly LabProcess[]): number => some.reduce((sum, process) => sum + process.timers, 0);
    // Waiters whose time is up are forgotten when the name is used again, here. In Redis their keys expire.
    const isWaitedFor = (key: string): boolean => server.table.snapshot(key, 1).waiters.length > 0;
    const records = new Set([...server.table.held(), ...keys.filter(isWaitedFor)]).size;
    this.idleSince = isIdle ? (this.idleSince ?? now) : undefined;
    for (const { name, state, job } of live) {
      if (state === 'stopped' || job !== undefined) this.restsSince.delete(name);
      else if (!this.restsSince.has(name)) this.restsSince.set(name, now);
    }
    const isOver = (since = now): boolean => server.available && now - since > longestRepetition;
    const recordsLeft = isOver(this.idleSince) ? records : 0;
    const timersLeft = timersOf(live.filter(({ name }) => isIdle && isOver(this.restsSince.get(name))));
    if (timersLeft + recordsLeft > 0)
      this.breaks('G9', `${countOf(timersLeft, 'timer')} and ${countOf(recordsLeft, 'record')} are left.`);
    const timers = countOf(timersOf(live), 'timer');
    this.notes.set('G9', `${countOf(records, 'record')}, ${timers}${isIdle ? '' : ' in use'}.`);
  }

  private learns(note: string): void {
    this.counts.learned++;
    this.notes.set('G8', note);
  }

  private ownerIs(claim: string, state: LabProcess['state']): boolean {
    return this.world.processes.get(this.world.ownerOf(claim) ?? '')?.state === state;
  }

  private breaks(id: Id, what: string): void {
    if (!this.broken.has(id)) this.broken.set(id, what);
  }
}

const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
