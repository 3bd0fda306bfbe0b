import type { HeldLock, HotName, LockIncident, ProcessActivity, WaitedForLock } from '../operators/activity-record.js';
import type { LockHealthReason } from '../operators/health.js';
import type { LockKind } from '../core/lock-backend.js';
import type { LockFinding } from '../diagnostics/lock-finding.js';
import type { WaitTree } from '../operators/wait-tree.js';
import type { LockParty } from '../errors/lock-errors.js';

/** What the console answers, as JSON: undefined fields are left out. Times are milliseconds as of the answer. */

/** Why a question to Redis has no answer. It names no address and no lock. */
export type ConsoleProblem = 'unavailable' | 'refused';

/** The body of an answer that is no success: `error` says what was wrong. */
export interface RefusalResponse {
  readonly error:
    | ConsoleProblem
    /** 404: no connection, or no process, of this name. */
    | 'connection'
    | 'process'
    /** 400: no name of a lock, no list of this name, or a page that is none. */
    | 'name'
    | 'list'
    /** 400, of a release: the typed name differs; a field is missing or wrong. */
    | 'typed'
    | 'reason'
    /** 403: a page of another origin asks; the person of a release has no name. */
    | 'origin'
    | 'actor'
    /** 409: several locks are shown by this name; the lock has another holder by now. */
    | 'ambiguous'
    | 'changed'
    /** 429: this person asks too much. */
    | 'busy'
    /** 500: see the log of the process. */
    | 'failed';
}

/** A figure. `atMost` is larger where processes only tell how many more there are, and may mean the same ones. */
export interface Count {
  readonly count: number;
  readonly atMost: number;
}

/** A lock that callers wait for, with the processes in which they wait. */
export interface ContendedLock extends Pick<WaitedForLock, 'key' | 'callers' | 'longest' | 'holder'> {
  /** Undefined where a process had no room to tell it. */
  readonly name: string | undefined;
  readonly kind: LockKind | undefined;
  /** The longest wait first; the list `waiters` has all of them. */
  readonly waiters: readonly WaitingProcess[];
  /** How many processes wait. */
  readonly processes: number;
}

export interface WaitingProcess extends LockParty {
  readonly callers: number;
  readonly longest: number;
}

export type HeldByProcess = HeldLock & LockParty;
export type ProcessIncident = LockIncident & LockParty;
export type FleetFinding = LockFinding & { readonly processes: number };
interface ProcessLine extends Pick<ProcessActivity, 'client' | 'host' | 'pid' | 'held' | 'waiting'> {
  /** Since it told this. 0: the process that answers. */
  readonly age: number;
}

/** What all answers about the fleet have. */
export interface Seen {
  readonly connection: string;
  /** Since the other processes were read; undefined when they never were. */
  readonly age: number | undefined;
  readonly problem: ConsoleProblem | undefined;
}

/** The lists: in an overview the first entries, and by `api/list` all. */
export interface Lists {
  readonly contended: ContendedLock;
  /** Who leads: the holders of elections. */
  readonly leaders: HeldByProcess;
  /** Locks that are held for longer than expected. */
  readonly long: HeldByProcess;
  readonly hot: HotName;
  readonly incidents: ProcessIncident;
  readonly findings: FleetFinding;
  readonly processes: ProcessLine;
}

/** Lists of one lock, by `name`, and of one process, by `id`. */
interface PartialLists {
  /** The processes that wait for a lock, the longest wait first. */
  readonly waiters: WaitingProcess;
  /** What a process holds. */
  readonly holds: ProcessHold;
}

export type ListName = keyof Lists | keyof PartialLists;

/** `GET api/list?of=…&from=…&connection=…`: 100 entries. `of=waiters` needs `name`, `of=holds` needs `id`. */
export interface ListResponse<List extends ListName = ListName> extends Seen {
  readonly of: List;
  readonly from: number;
  readonly items: ReadonlyArray<(Lists & PartialLists)[List]>;
  /** How many entries the list has. */
  readonly total: number;
  /** Further ones that processes count and do not name, at most. */
  readonly more: number;
}

/** `GET api/find?text=…&connection=…`: locks that are held or waited for, by the beginning of their names. */
export interface FindResponse {
  readonly text: string;
  /** By name. Empty: no lock whose name begins so is held or waited for, if `isWhole`. */
  readonly names: readonly FoundName[];
  /** True when all names were looked at, and all that were found are here. */
  readonly isWhole: boolean;
  /** Where `names` is empty: names that look like it, the nearest first. */
  readonly near: readonly FoundName[];
}

interface FoundName {
  readonly key: string;
  /** How many callers wait, as far as processes tell. */
  readonly callers: number;
}

/**
 * `GET api/process?id=…&connection=…`. `id` is a client, a host, or `host:pid`: one host may have several processes, and one process
 * several clients.
 */
export interface ProcessResponse extends Seen {
  readonly id: string;
  /** Never empty: else the answer is 404 `process`. */
  readonly processes: readonly ProcessView[];
}

export interface ProcessView {
  readonly client: string;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  /** True for the process that answers. */
  readonly isOwn: boolean;
  /** Since it told this. Undefined: it tells nothing, and is known from those that wait for it; counts and lists are then not whole. */
  readonly age: number | undefined;
  /** How many locks it holds. */
  readonly held: number | undefined;
  /** How many of its callers wait. */
  readonly waiting: number | undefined;
  /** What is wrong with its connection; empty: nothing, as of then. */
  readonly problems: readonly LockHealthReason[] | undefined;
  /** Those first for which most callers wait, then the oldest. */
  readonly holds: readonly ProcessHold[];
  /** How many it holds that are not in the list. */
  readonly moreHolds: number;
  /** The longest wait first. */
  readonly waits: readonly ProcessWait[];
  /** How many names its callers wait for that are not in the list. */
  readonly moreWaits: number;
  readonly incidents: readonly LockIncident[];
  readonly findings: readonly LockFinding[];
}

/** Fields are undefined where only a process that waits has told of the hold. */
export interface ProcessHold extends Partial<Omit<HeldLock, 'key' | 'method' | 'label'>> {
  readonly key: string;
  readonly method: string | undefined;
  readonly label: string | undefined;
  /** How many callers of the fleet wait for it. */
  readonly callers: number;
  readonly isLong: boolean;
  readonly isElection: boolean;
}

export interface ProcessWait extends Pick<WaitedForLock, 'key' | 'callers' | 'longest'> {
  readonly kind?: LockKind | undefined;
  readonly method?: string | undefined;
  readonly label?: string | undefined;
  readonly holder?: WaitedForLock['holder'];
  /** What its callers hold while they wait. */
  readonly inside: ReadonlyArray<{ readonly key: string }>;
}

/** `GET api/overview?connection=…`. */
export interface OverviewResponse extends ConsoleView {
  readonly connections: readonly string[];
  readonly canRelease: boolean;
}

export interface ConsoleView extends Overview, Seen {
  /** This process, which answers. */
  readonly own: Pick<ProcessActivity, 'client' | 'host' | 'pid' | 'held' | 'waiting'> & {
    readonly holds: { readonly first: readonly HeldLock[]; readonly more: number };
    /** Whether it tells other processes what its callers wait for. */
    readonly tells: boolean;
  };
}

/** The first entries of each list. */
export type Overview = { readonly [List in keyof Lists]: ReadonlyArray<Lists[List]> } & {
  /** How many entries each list has. For `contended`: how many names callers wait for. */
  readonly counts: { readonly [List in keyof Lists]: Count };
  /** Names that callers wait for, and locks held for long, that are not shown. */
  readonly moreContended: number;
  readonly moreLong: number;
  /** All callers that wait. */
  readonly waiting: number;
  readonly waits: WaitTree;
  /** How many processes have something to tell, those included that were not read. */
  readonly total: number;
};
