import type { HeldLock, HotName, LockIncident, ProcessActivity, WaitedForLock } from '../core/activity-record.js';
import type { LockFinding } from '../core/lock-finding.js';
import { type Party, type WaitTree, waitTree } from './wait-tree.js';

/** Most entries of each list in one answer. */
const most = { locks: 50, waiters: 5, hot: 20, incidents: 50, findings: 20, processes: 100 };

export type SeenProcess = ProcessActivity & { /** ms */ readonly age: number };

export type ContendedLock = Omit<WaitedForLock, 'method' | 'label' | 'inside'> & {
  /** Who waits, the longest wait first. */
  readonly waiters: ReadonlyArray<Party & { readonly callers: number; readonly longest: number }>;
  readonly processes: number;
};

/** What the page shows. Times in ms, as of the answer. */
export interface Overview {
  readonly contended: readonly ContendedLock[];
  readonly moreContended: number;
  /** Who leads: the holders of elections. */
  readonly leaders: ReadonlyArray<HeldLock & Party>;
  readonly long: ReadonlyArray<HeldLock & Party>;
  readonly moreLong: number;
  readonly waits: WaitTree;
  readonly hot: readonly HotName[];
  readonly incidents: ReadonlyArray<LockIncident & Party>;
  readonly findings: ReadonlyArray<LockFinding & { readonly processes: number }>;
  readonly processes: ReadonlyArray<
    Pick<SeenProcess, 'client' | 'host' | 'pid' | 'held' | 'waiting'> & { readonly age: number }
  >;
  /** How many processes have something to tell, those included that were not read. */
  readonly total: number;
}

/** What the processes told, as one view. @param total how many processes there are to read */
export function overviewOf(processes: readonly SeenProcess[], total: number): Overview {
  const contended = contendedOf(processes);
  const long = holdsOf(processes, (process) => process.long.first);
  return {
    contended: contended.slice(0, most.locks),
    moreContended: cut(contended, most.locks) + sum(processes, ({ contended: { more } }) => more),
    leaders: leadersOf(processes).slice(0, most.locks),
    long: long.slice(0, most.locks),
    moreLong: cut(long, most.locks) + sum(processes, (process) => process.long.more),
    waits: waitTree(processes),
    hot: hotOf(processes).slice(0, most.hot),
    incidents: incidentsOf(processes).slice(0, most.incidents),
    findings: findingsOf(processes).slice(0, most.findings),
    processes: [...processes]
      .sort((one, other) => other.waiting - one.waiting || other.held - one.held)
      .slice(0, most.processes)
      .map(({ client, host, pid, held, waiting, age }) => ({ client, host, pid, held, waiting, age: Math.round(age) })),
    total: Math.max(total, processes.length),
  };
}

/** The oldest first. */
function holdsOf(
  processes: readonly SeenProcess[],
  of: (process: SeenProcess) => readonly HeldLock[],
): Array<HeldLock & Party> {
  return processes
    .flatMap((process) => of(process).map((held) => ({ ...partyOf(process, held), ...aged(held, process.age) })))
    .sort((one, other) => other.heldFor - one.heldFor);
}

/** One for each election, the newest epoch: the record of a leader that is gone stays for a while. */
function leadersOf(processes: readonly SeenProcess[]): Overview['leaders'] {
  const byEpoch = holdsOf(processes, ({ leads }) => leads.first).sort(
    (one, other) => one.fencingToken - other.fencingToken,
  );
  const newest = new Map(byEpoch.map((leader) => [leader.key, leader]));
  return [...newest.values()].sort((one, other) => other.heldFor - one.heldFor);
}

/** The longest wait first. A name that callers of several processes wait for is one entry. */
function contendedOf(processes: readonly SeenProcess[]): ContendedLock[] {
  const byKey = new Map<string, Array<{ lock: WaitedForLock; process: SeenProcess }>>();
  for (const process of processes) {
    for (const lock of process.contended.first) {
      const known = byKey.get(lock.key);
      if (known) known.push({ lock, process });
      else byKey.set(lock.key, [{ lock, process }]);
    }
  }
  return [...byKey.values()].map(contendedLock).sort((one, other) => other.longest - one.longest);
}

function contendedLock(seen: ReadonlyArray<{ lock: WaitedForLock; process: SeenProcess }>): ContendedLock {
  const waiters = seen
    .map(({ lock, process }) => ({
      ...partyOf(process, lock),
      callers: lock.callers,
      longest: Math.round(lock.longest + process.age),
    }))
    .sort((one, other) => other.longest - one.longest);
  // The process that told last knows best who holds the lock.
  const [newest] = seen.filter(({ lock }) => lock.holder).toSorted((one, other) => one.process.age - other.process.age);
  const { key, name, kind } = seen[0]!.lock;
  const holder = newest?.lock.holder && {
    ...newest.lock.holder,
    heldFor:
      newest.lock.holder.heldFor === undefined
        ? undefined
        : Math.round(newest.lock.holder.heldFor + newest.process.age),
  };
  return {
    key,
    name,
    kind,
    callers: waiters.reduce((count, { callers }) => count + callers, 0),
    longest: waiters[0]!.longest,
    holder,
    waiters: waiters.slice(0, most.waiters),
    processes: seen.length,
  };
}

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
function incidentsOf(processes: readonly SeenProcess[]): Array<LockIncident & Party> {
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

function aged<T extends HeldLock>(held: T, age: number): T {
  // A renewal since then is not known.
  return { ...held, heldFor: Math.round(held.heldFor + age), leaseLeft: Math.max(0, Math.round(held.leaseLeft - age)) };
}

const cut = (items: readonly unknown[], length: number): number => Math.max(0, items.length - length);

const sum = (processes: readonly SeenProcess[], of: (process: SeenProcess) => number): number =>
  processes.reduce((total, process) => total + of(process), 0);
