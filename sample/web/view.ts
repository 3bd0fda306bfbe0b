import type { LockInfo } from 'nestjs-redis-lock';
import { guises } from '../demo/sale-result.js';
import type { Acts, Told } from './acts.js';
import type { Lane } from './lane.js';
import { type Pace, paces } from './pace.js';
import type { Sale } from './sale.js';
import { leaseMs, type Show } from './show.js';

/** Most buyers of a lane that are shown one by one. */
const mostShown = 40;
/** Seconds of a sale that are shown. */
const latest = 60;

export interface TokenView {
  /** Short: milliseconds of the clock of Redis since the show began. */
  readonly text: string;
  readonly whole: string;
}

export interface LaneView {
  readonly id: string;
  readonly name: string;
  readonly pid: number | undefined;
  readonly state: Lane['state'];
  readonly isCut: boolean;
  readonly marks: Lane['marks'];
  /** The one who came first stands first. */
  readonly buyers: ReadonlyArray<{ readonly name: string; readonly step: 'pays' | 'holds' | 'waits' }>;
  readonly more: number;
  readonly token: TokenView | undefined;
  /** Its place in the queue of Redis, from 1. */
  readonly place: number | undefined;
  /** What is left of its lease in Redis, from 0 to 1. Undefined when it is not the holder there. */
  readonly lease: number | undefined;
}

export interface SaleView {
  readonly guard: Sale['guard'];
  readonly title: string;
  readonly tickets: number;
  /** Orders in the database, and those of them without a ticket. */
  readonly orders: number;
  readonly oversold: number;
  /** Each ticket is sold, and to one buyer. */
  readonly isSold: boolean;
  readonly refused: number;
  readonly failed: number;
  readonly waiting: number;
  readonly inside: number;
  /** Tickets sold in each of the last seconds, the present one at the end, and the longest wait of the buyers who were answered in it, in ms. */
  readonly rate: readonly number[];
  readonly waits: readonly number[];
  readonly median: number | undefined;
  readonly longest: number | undefined;
  readonly lanes: readonly LaneView[];
}

export interface ShowView {
  readonly sales: readonly SaleView[];
  readonly redis: {
    readonly isAway: boolean;
    /** It has told who holds the lock. */
    readonly isKnown: boolean;
    readonly key: string | undefined;
    readonly holder: { readonly name: string; readonly token: TokenView; readonly leaseLeft: number } | undefined;
    readonly queue: readonly string[];
  };
  readonly pace: Pace;
  readonly paces: ReadonlyArray<{ readonly id: string; readonly title: string }>;
  readonly isOpen: boolean;
  /** A ticket of the locked sale is left. */
  readonly isOn: boolean;
  readonly came: number;
  readonly toCome: number;
  readonly isBusy: boolean;
  readonly told: readonly Told[];
}

/** @param since when the show began, in ms */
export function shownToken(token: number, since: number): string {
  return Math.round(token / 1000 - since).toLocaleString('en');
}

export function viewOf(show: Show, acts: Acts, since: number): ShowView {
  const { lock, locked, pace, isOpen, came, toCome } = show;
  const tokenView = (token: number): TokenView => ({ text: shownToken(token, since), whole: String(token) });
  const nameOf = (pid: number | undefined): string =>
    locked.lanes.find((lane) => lane.pid === pid)?.name ?? 'another process';
  const [holder] = lock?.holders ?? [];
  return {
    sales: show.sales.map((sale) => saleView(sale, sale === locked ? lock : undefined, tokenView)),
    redis: {
      isAway: show.isRedisAway,
      isKnown: lock !== undefined,
      key: isOpen ? `event:${locked.eventId}` : undefined,
      holder: holder && {
        name: nameOf(holder.pid),
        token: tokenView(holder.fencingToken!),
        leaseLeft: holder.leaseLeft,
      },
      queue: (lock?.waiters ?? []).map(({ pid }) => nameOf(pid)),
    },
    pace,
    paces: Object.entries(paces).map(([id, { title }]) => ({ id, title })),
    isOpen,
    isOn: locked.isOn,
    came,
    toCome,
    isBusy: acts.busy,
    told: acts.told.slice(-8),
  };
}

function saleView(sale: Sale, lock: LockInfo | undefined, tokenView: (token: number) => TokenView): SaleView {
  const { guard, tickets, answers, books, inside, lanes } = sale;
  const orders = books?.orders ?? 0;
  const times = answers
    .flatMap(({ status, ms }) => (status === undefined ? [] : [ms]))
    .sort((one, other) => one - other);
  const present = books ? Math.floor(sale.age) : -1;
  const first = Math.max(0, present - latest + 1);
  const seconds = Array.from({ length: present - first + 1 }, () => ({ sold: 0, wait: 0 }));
  const sum = { bought: 0, refused: 0, error: 0 };
  for (const { outcome, second, status, ms } of answers) {
    sum[outcome] += 1;
    const bar = seconds[second - first];
    if (!bar) continue;
    if (outcome === 'bought') bar.sold += 1;
    if (status !== undefined) bar.wait = Math.max(bar.wait, ms);
  }
  return {
    guard,
    title: guises[guard],
    tickets,
    orders,
    oversold: Math.max(0, orders - tickets),
    isSold: books?.left === 0 && orders === tickets,
    refused: sum.refused,
    failed: sum.error,
    waiting: sale.visitors.length - inside,
    inside,
    rate: seconds.map(({ sold }) => sold),
    waits: seconds.map(({ wait }) => Math.round(wait)),
    median: times[Math.floor(times.length / 2)],
    longest: times.at(-1),
    lanes: lanes.map((lane) => laneView(lane, lock, tokenView)),
  };
}

function laneView(lane: Lane, lock: LockInfo | undefined, tokenView: (token: number) => TokenView): LaneView {
  const { id, name, pid, state, isCut, marks } = lane;
  const visitors = [...lane.visitors.values()].sort((one, other) => one.cameAt - other.cameAt);
  const isOwn = (party: { pid: number | undefined }): boolean => pid !== undefined && party.pid === pid;
  const place = (lock?.waiters ?? []).findIndex(isOwn) + 1;
  const holder = lock?.holders.find(isOwn);
  const token = holder?.fencingToken ?? visitors.find((visitor) => visitor.token !== undefined)?.token;
  return {
    ...{ id, name, pid, state, isCut, marks },
    buyers: visitors.slice(0, mostShown).map((visitor) => ({
      name: visitor.name,
      step: visitor.isPaying ? 'pays' : visitor.step === 'holds' ? 'holds' : 'waits',
    })),
    more: Math.max(0, visitors.length - mostShown),
    token: token === undefined ? undefined : tokenView(token),
    place: place > 0 ? place : undefined,
    lease: holder && Math.min(1, holder.leaseLeft / leaseMs),
  };
}
