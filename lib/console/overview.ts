import type {
  FurtherName,
  HeldLock,
  HotName,
  LockIncident,
  ProcessActivity,
  WaitedForLock,
} from '../core/activity-record.js';
import type {
  ContendedLock,
  Count,
  HeldByProcess,
  Lists,
  Overview,
  ProcessIncident,
  WaitingProcess,
} from './answers.js';
import { type Party, waitTree } from './wait-tree.js';

/** Entries of each list in an overview, and waiting processes of one lock. */
const most = { contended: 50, leaders: 50, long: 50, hot: 20, incidents: 50, findings: 20, processes: 100 };
const mostWaiters = 5;

export type SeenProcess = ProcessActivity & { /** ms */ readonly age: number };

/** What the processes of a fleet told, as whole lists. */
export type Picture = { readonly [List in keyof Lists]: ReadonlyArray<Lists[List]> } & {
  readonly seen: readonly SeenProcess[];
  /** For each contended name all processes that wait for it, in the order of `contended`. */
  readonly waiters: ReadonlyMap<string, readonly WaitingProcess[]>;
  readonly counts: Overview['counts'];
};

/** @param seen one entry for each process */
export function pictureOf(seen: readonly SeenProcess[]): Picture {
  const waits = waitsOf(seen);
  const lists = {
    contended: waits.map(({ lock }) => lock).sort((one, other) => other.longest - one.longest),
    leaders: leadersOf(seen),
    long: holdsOf(seen, (process) => process.long.first),
    hot: hotOf(seen),
    incidents: incidentsOf(seen),
    findings: findingsOf(seen),
    processes: [...seen]
      .sort((one, other) => other.waiting - one.waiting || other.held - one.held)
      .map(({ client, host, pid, held, waiting, age }) => ({ client, host, pid, held, waiting, age: Math.round(age) })),
  };
  const untold = {
    // The names that two processes do not tell may be the same ones, and they may be names that others tell.
    contended: sum(seen, ({ contended, further }) => Math.max(0, contended.more - further.length)),
    long: sum(seen, (process) => process.long.more),
  };
  const counted = (list: keyof Lists): Count => {
    const { length } = lists[list];
    if (list === 'long') return { count: length + untold.long, atMost: length + untold.long };
    return { count: length, atMost: length + (list === 'contended' ? untold.contended : 0) };
  };
  const names = Object.keys(lists) as Array<keyof Lists>;
  return {
    ...lists,
    seen,
    waiters: new Map(waits.map(({ lock, waiters }) => [lock.key, waiters])),
    counts: Object.fromEntries(names.map((list) => [list, counted(list)])) as Overview['counts'],
  };
}

/** The first entries of each list. @param total how many processes there are to read */
export function overviewOf(picture: Picture, total: number): Overview {
  const { seen, counts, contended, leaders, long, hot, incidents, findings, processes } = picture;
  const first = {
    contended: contended.slice(0, most.contended),
    leaders: leaders.slice(0, most.leaders),
    long: long.slice(0, most.long),
    hot: hot.slice(0, most.hot),
    incidents: incidents.slice(0, most.incidents),
    findings: findings.slice(0, most.findings),
    processes: processes.slice(0, most.processes),
  };
  return {
    ...first,
    counts,
    moreContended: counts.contended.count - first.contended.length,
    moreLong: counts.long.count - first.long.length,
    waiting: sum(seen, ({ waiting }) => waiting),
    waits: waitTree(seen),
    total: Math.max(total, seen.length),
  };
}

/** The oldest first. */
function holdsOf(
  processes: readonly SeenProcess[],
  of: (process: SeenProcess) => readonly HeldLock[],
): HeldByProcess[] {
  return processes
    .flatMap((process) => of(process).map((held) => ({ ...partyOf(process, held), ...aged(held, process.age) })))
    .sort((one, other) => other.heldFor - one.heldFor);
}

/** One for each election, the newest epoch: the record of a leader that is gone stays for a while. */
function leadersOf(processes: readonly SeenProcess[]): HeldByProcess[] {
  const byEpoch = holdsOf(processes, ({ leads }) => leads.first).sort(
    (one, other) => one.fencingToken - other.fencingToken,
  );
  const newest = new Map(byEpoch.map((leader) => [leader.key, leader]));
  return [...newest.values()].sort((one, other) => other.heldFor - one.heldFor);
}

/** A name that callers of several processes wait for is one entry. */
function waitsOf(processes: readonly SeenProcess[]): Array<{ lock: ContendedLock; waiters: WaitingProcess[] }> {
  const byKey = new Map<string, Seen[]>();
  for (const process of processes) {
    for (const lock of [...process.contended.first, ...process.further]) {
      const known = byKey.get(lock.key);
      if (known) known.push({ lock, process });
      else byKey.set(lock.key, [{ lock, process }]);
    }
  }
  return [...byKey.values()].map(contendedLock);
}

interface Seen {
  readonly lock: FurtherName & Partial<WaitedForLock>;
  readonly process: SeenProcess;
}

function contendedLock(seen: readonly Seen[]): { lock: ContendedLock; waiters: WaitingProcess[] } {
  const waiters = seen
    .map(({ lock, process }) => ({
      ...partyOf(process, { method: lock.method, label: lock.label }),
      callers: lock.callers,
      longest: Math.round(lock.longest + process.age),
    }))
    .sort((one, other) => other.longest - one.longest);
  // The process that told last knows best who holds the lock.
  let newest: Seen | undefined;
  for (const one of seen) if (one.lock.holder && !(newest && newest.process.age <= one.process.age)) newest = one;
  const { lock: told } = seen.find(({ lock }) => lock.kind) ?? seen[0]!;
  const lock = {
    key: told.key,
    name: told.name,
    kind: told.kind,
    callers: waiters.reduce((count, { callers }) => count + callers, 0),
    longest: waiters[0]!.longest,
    holder: newest && agedHolder(newest.lock.holder!, newest.process.age),
    waiters: waiters.slice(0, mostWaiters),
    processes: seen.length,
  };
  return { lock, waiters };
}

type Holder = NonNullable<WaitedForLock['holder']>;

export const agedHolder = (holder: Holder, age: number): Holder => ({
  ...holder,
  heldFor: holder.heldFor === undefined ? undefined : Math.round(holder.heldFor + age),
});

function hotOf(processes: readonly SeenProcess[]): HotName[] {
  const sums = new Map<string, HotName>();
  for (const { name, waited, most: atOnce } of processes.flatMap(({ hot }) => hot.first)) {
    const known = sums.get(name) ?? { waited: 0, most: 0 };
    // The peaks of two processes may have been at different times: the sum would be a guess.
    sums.set(name, { name, waited: known.waited + waited, most: Math.max(known.most, atOnce) });
  }
  return [...sums.values()].sort((one, other) => other.waited - one.waited);
}

/** The newest first. A forced release and the loss that it caused are one entry. */
function incidentsOf(processes: readonly SeenProcess[]): ProcessIncident[] {
  const all = processes.flatMap((process) =>
    process.incidents.first.map((incident) => ({
      ...partyOf(process, incident),
      ...incident,
      ago: Math.round(incident.ago + process.age),
    })),
  );
  const grantOf = ({ key, fencingToken }: LockIncident): string => `${fencingToken} ${key}`;
  const losses = new Map(all.filter(({ lost }) => lost === 'revoked').map((loss) => [grantOf(loss), loss]));
  const forced = new Set(all.filter(({ type }) => type === 'forced').map(grantOf));
  return all
    .filter(({ lost, ...incident }) => lost !== 'revoked' || !forced.has(grantOf(incident)))
    .map((incident) => {
      const loss = incident.type === 'forced' ? losses.get(grantOf(incident)) : undefined;
      // Of the process that lost it, not of the one that the person used.
      return loss ? { ...incident, client: loss.client, host: loss.host, pid: loss.pid } : incident;
    })
    .sort((one, other) => one.ago - other.ago);
}

function findingsOf(processes: readonly SeenProcess[]): Overview['findings'] {
  const byMessage = new Map<string, Overview['findings'][number]>();
  for (const finding of processes.flatMap(({ findings }) => findings.first)) {
    const known = byMessage.get(finding.message);
    byMessage.set(finding.message, { ...finding, processes: (known?.processes ?? 0) + 1 });
  }
  return [...byMessage.values()];
}

function partyOf({ client, host, pid }: SeenProcess, { method, label }: Pick<Party, 'method' | 'label'>): Party {
  return { client, host, pid, method, label };
}

export function aged<T extends HeldLock>(held: T, age: number): T {
  // A renewal since then is not known.
  return { ...held, heldFor: Math.round(held.heldFor + age), leaseLeft: Math.max(0, Math.round(held.leaseLeft - age)) };
}

const sum = (processes: readonly SeenProcess[], of: (process: SeenProcess) => number): number =>
  processes.reduce((total, process) => total + of(process), 0);
