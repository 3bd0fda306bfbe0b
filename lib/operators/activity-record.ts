import type { LockHolder, LockLostReason } from '../errors/lock-errors.js';
import type { LockKind } from '../core/lock-backend.js';
import type { LockHealthReason } from './health.js';
import type { LockFinding } from '../diagnostics/lock-finding.js';

/** The first of many, and how many more there are. */
export interface Listed<T> {
  readonly first: readonly T[];
  readonly more: number;
}

/** A name for which callers of a process wait. */
export interface WaitedForLock {
  readonly key: string;
  /** A label for many keys, as in metrics. */
  readonly name: string;
  readonly kind: LockKind;
  readonly callers: number;
  /** Milliseconds that the first of them has waited. */
  readonly longest: number;
  /** Its method, and the label of its call. */
  readonly method: string | undefined;
  readonly label: string | undefined;
  /** Who holds the lock, as of the last reply. Undefined when that is not known. */
  readonly holder: LockHolder | undefined;
  /** Callers among them that hold locks while they wait, in order of arrival. */
  readonly flows: readonly WaitingFlow[];
}

/** A caller that waits inside of other locks. */
export interface WaitingFlow {
  /** Milliseconds. */
  readonly waited: number;
  /** Innermost first. */
  readonly holds: ReadonlyArray<{ readonly key: string; readonly kind: LockKind }>;
}

/** A further name for which callers of a process wait: its record has no room for more. */
export type FurtherName = Pick<WaitedForLock, 'key' | 'callers' | 'longest'>;

/** A lock that a process holds. Times in ms. */
export interface HeldLock {
  readonly key: string;
  readonly name: string;
  readonly kind: LockKind;
  readonly method: string | undefined;
  readonly label: string | undefined;
  readonly fencingToken: number;
  readonly heldFor: number;
  readonly lease: number;
  readonly leaseLeft: number;
  /** Undefined without a limit. */
  readonly maxHold: number | undefined;
}

/** How long callers waited for locks of this name in the last five minutes, sampled. */
export interface HotName {
  readonly name: string;
  /** The sum over all callers, in ms. */
  readonly waited: number;
  /** The most callers that waited at once. */
  readonly most: number;
}

/** A lock that was lost, or released by force. */
export interface LockIncident {
  readonly type: 'lost' | 'forced';
  /** Milliseconds ago. */
  readonly ago: number;
  readonly key: string;
  readonly name: string;
  readonly fencingToken: number | undefined;
  /** Of a loss. */
  readonly lost?: LockLostReason | undefined;
  /** Who lost it: class and method, and the label of the call. */
  readonly method: string | undefined;
  readonly label: string | undefined;
  /** Of a forced release: the person, and why. */
  readonly actor?: string | undefined;
  readonly reason?: string | undefined;
}

/** What a process tells of its locks on one connection. */
export interface ProcessActivity {
  readonly client: string;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  readonly held: number;
  /** Callers that wait, without candidates of an election. */
  readonly waiting: number;
  /** The longest wait first. */
  readonly contended: Listed<WaitedForLock>;
  /** The first of those that `contended` only counts. */
  readonly further: readonly FurtherName[];
  /** Elections that it leads: the fencing token is the epoch. */
  readonly leads: Listed<HeldLock>;
  /** Locks that are held for longer than expected, the oldest first. */
  readonly long: Listed<HeldLock>;
  /** What it holds besides, the oldest first. */
  readonly holds: Listed<HeldLock>;
  readonly hot: Listed<HotName>;
  /** The newest first. */
  readonly incidents: Listed<LockIncident>;
  readonly findings: Listed<LockFinding>;
  /** What is wrong with its connection, although it can tell. */
  readonly problems: readonly LockHealthReason[];
}

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
/** One whose sums over a fleet are numbers, too. */
const number: Check = (value) => typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
const flag: Check = (value) => typeof value === 'boolean';
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
/** An object whose fields pass. Others are removed: they may be of any size and depth, and everything here is shown. */
function fields(checks: Readonly<Record<string, Check>>): Check {
  const all = Object.entries(checks);
  return (value) => {
    const object = Object(value) as Record<string, unknown>;
    let known = 0;
    for (const [field, check] of all) {
      const found = object[field];
      if (!check(found)) return false;
      if (found !== undefined) known++;
    }
    const given = Object.keys(object);
    if (given.length > known) for (const field of given) if (!Object.hasOwn(checks, field)) delete object[field];
    return true;
  };
}

const origin = { client: text, host: maybe(text), pid: maybe(number) };
const caller = { method: maybe(text), label: maybe(text) };
const lock = { ...caller, key: text, name: text };
const held = {
  ...lock,
  kind: text,
  fencingToken: number,
  heldFor: number,
  lease: number,
  leaseLeft: number,
  maxHold: maybe(number),
};
/** The entries of each list. */
const entries = {
  contended: {
    ...lock,
    kind: text,
    callers: number,
    longest: number,
    holder: maybe(
      fields({
        ...{ ...origin, ...caller, trace: maybe(text) },
        ...{ foreign: maybe(flag), fencingToken: maybe(number), heldFor: maybe(number) },
      }),
    ),
    flows: listOf(fields({ waited: number, holds: listOf(fields({ key: text, kind: text })) })),
  },
  leads: held,
  long: held,
  holds: held,
  hot: { name: text, waited: number, most: number },
  incidents: {
    ...lock,
    type: text,
    ago: number,
    fencingToken: maybe(number),
    lost: maybe(text),
    actor: maybe(text),
    reason: maybe(text),
  },
  findings: { code: text, message: text, remark: maybe(flag) },
} as const;

const lists = Object.keys(entries) as Array<keyof typeof entries>;
/** One wrong record must not hide those of the other processes. */
const isActivity = fields({
  ...origin,
  held: number,
  waiting: number,
  further: listOf(fields({ key: text, callers: number, longest: number })),
  problems: listOf(text),
  ...Object.fromEntries(lists.map((list) => [list, fields({ first: listOf(fields(entries[list])), more: number })])),
});

/** Entries in each list, and characters of the whole text: a process with a million names writes no more. */
const most = 10;
const longestText = 8_000;
/** Of this form. A later version of this library may write another one, which this one does not read. */
const form = 2;

/** The text for Redis: names no claim, no ticket and no password. */
export function encodeActivity(activity: ProcessActivity): string {
  for (let length = most; ; length = Math.floor(length / 2)) {
    const cut = Object.fromEntries(lists.map((list) => [list, shortened<unknown>(activity[list], length)]));
    const whole = { form, ...activity, ...cut, further: [] as FurtherName[] };
    let room = longestText - JSON.stringify(whole).length;
    if (room < 0 && length > 0) continue;
    for (const name of [...activity.contended.first.slice(length).map(brief), ...activity.further]) {
      room -= JSON.stringify(name).length + 1;
      if (room < 0) break;
      whole.further.push(name);
    }
    return JSON.stringify(whole);
  }
}

export const brief = ({ key, callers, longest }: WaitedForLock): FurtherName => ({ key, callers, longest });

export function shortened<T>({ first, more }: Listed<T>, length: number): Listed<T> {
  return { first: first.slice(0, length), more: more + Math.max(0, first.length - length) };
}

/** Undefined for a text of another form, or of another program. */
export function decodeActivity(written: string): ProcessActivity | undefined {
  if (written.length > longestText) return undefined;
  try {
    const { form: found, ...activity } = JSON.parse(written) as ProcessActivity & { form?: unknown };
    return found === form && isActivity(activity) ? activity : undefined;
  } catch {
    return undefined;
  }
}
