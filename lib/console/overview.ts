import type { FurtherName, HeldLock, HotName, LockIncident, WaitedForLock } from '../operators/activity-record.js';
import type {
  ContendedLock,
  Count,
  FleetFinding,
  HeldByProcess,
  Lists,
  Overview,
  ProcessIncident,
  WaitingProcess,
} from './responses.js';
import type { Turns } from '../diagnostics/turns.js';
import type { SeenProcess } from '../operators/wait-graph.js';
import { agedHolder, callerIn, waitTree } from '../operators/wait-tree.js';

/** Entries of each list in an overview, and waiting processes of one lock. */
const most = { contended: 50, leaders: 50, long: 50, hot: 20, incidents: 50, findings: 20, processes: 100 };
const mostWaiters = 5;
/** Names that are listed. What a fleet has beyond is counted. */
const mostWaitedNames = 20_000;
/** Entries that a process has in a list: work is counted by them. */
const mostOf = 20;

/** What the processes of a fleet told, as whole lists. */
export type Picture = { readonly [List in keyof Lists]: ReadonlyArray<Lists[List]> } & {
  readonly seen: readonly SeenProcess[];
  /** Contended locks by name, with all processes that wait for them. */
  readonly waits: ReadonlyMap<string, LockWait>;
  readonly counts: Overview['counts'];
};

interface LockWait {
  readonly lock: ContendedLock;
  readonly waiters: readonly WaitingProcess[];
}

/** @param seen one entry for each process */
export async function pictureOf(seen: readonly SeenProcess[], turns: Turns): Promise<Picture> {
  const { waits, dropped } = await waitsOf(seen, turns);
  const lists = {
    contended: waits.map(({ lock }) => lock).sort((one, other) => other.longest - one.longest),
    leaders: leadersOf(await holdsOf(seen, ({ leads }) => leads.first, turns)),
    long: await holdsOf(seen, ({ long }) => long.first, turns),
    hot: await hotOf(seen, turns),
    incidents: await incidentsOf(seen, turns),
    findings: await findingsOf(seen, turns),
    processes: [...seen]
      .sort((one, other) => other.waiting - one.waiting || other.held - one.held)
      .map(({ client, host, pid, held, waiting, age }) => ({ client, host, pid, held, waiting, age: Math.round(age) })),
  };
  const untold = {
    // The names that two processes do not tell may be the same ones, and they may be names that others tell.
    contended: dropped + sum(seen, ({ contended, further }) => Math.max(0, contended.more - further.length)),
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
    waits: new Map(waits.map((wait) => [wait.lock.key, wait])),
    counts: Object.fromEntries(names.map((list) => [list, counted(list)])) as Overview['counts'],
  };
}

/** The first entries of each list. @param total how many processes there are to read */
export async function overviewOf(picture: Picture, total: number, turns: Turns): Promise<Overview> {
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
    waits: await waitTree(seen, turns),
    total: Math.max(total, seen.length),
  };
}

/** The oldest first. */
async function holdsOf(
  processes: readonly SeenProcess[],
  of: (process: SeenProcess) => readonly HeldLock[],
  turns: Turns,
): Promise<HeldByProcess[]> {
  const found: HeldByProcess[] = [];
  const add = (process: SeenProcess): void => {
    for (const held of of(process)) found.push({ ...callerIn(process, held), ...aged(held, process.age) });
  };
  await turns.each(processes, add, mostOf);
  return found.sort((one, other) => other.heldFor - one.heldFor);
}

/** One for each election, the newest epoch: the record of a leader that is gone stays for a while. */
function leadersOf(holds: readonly HeldByProcess[]): HeldByProcess[] {
  const byEpoch = [...holds].sort((one, other) => one.fencingToken - other.fencingToken);
  const newest = new Map(byEpoch.map((leader) => [leader.key, leader]));
  return [...newest.values()].sort((one, other) => other.heldFor - one.heldFor);
}

/** A name that callers of several processes wait for is one entry. */
async function waitsOf(
  processes: readonly SeenProcess[],
  turns: Turns,
): Promise<{ waits: LockWait[]; dropped: number }> {
  let dropped = 0;
  const byKey = new Map<string, Seen[]>();
  const add = (process: SeenProcess): void => {
    for (const lock of [...process.contended.first, ...process.further]) {
      const known = byKey.get(lock.key);
      if (known) known.push({ lock, process });
      else if (byKey.size < mostWaitedNames) byKey.set(lock.key, [{ lock, process }]);
      else dropped++;
    }
  };
  await turns.each(processes, add, 4 * mostOf);
  const found: LockWait[] = [];
  for (const seen of byKey.values()) {
    found.push(contendedLock(seen));
    const pause = turns.rest(4 * seen.length);
    if (pause) await pause;
  }
  return { waits: found, dropped };
}

interface Seen {
  readonly lock: FurtherName & Partial<WaitedForLock>;
  readonly process: SeenProcess;
}

function contendedLock(seen: readonly Seen[]): LockWait {
  const waiters = seen
    .map(({ lock, process }) => ({
      client: process.client,
      host: process.host,
      pid: process.pid,
      method: lock.method,
      label: lock.label,
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

async function hotOf(processes: readonly SeenProcess[], turns: Turns): Promise<HotName[]> {
  const sums = new Map<string, HotName>();
  const add = ({ hot }: SeenProcess): void => {
    for (const { name, waited, most: atOnce } of hot.first) {
      const known = sums.get(name) ?? { waited: 0, most: 0 };
      // The peaks of two processes may have been at different times: the sum would be a guess.
      sums.set(name, { name, waited: known.waited + waited, most: Math.max(known.most, atOnce) });
    }
  };
  await turns.each(processes, add, mostOf);
  return [...sums.values()].sort((one, other) => other.waited - one.waited);
}

/** The newest first. A forced release and the loss that it caused are one entry. */
async function incidentsOf(processes: readonly SeenProcess[], turns: Turns): Promise<ProcessIncident[]> {
  const grantOf = ({ key, fencingToken }: LockIncident): string => `${fencingToken} ${key}`;
  const all: ProcessIncident[] = [];
  const losses = new Map<string, ProcessIncident>();
  const forced = new Set<string>();
  const add = (process: SeenProcess): void => {
    for (const incident of process.incidents.first) {
      const found = { ...callerIn(process, incident), ...incident, ago: Math.round(incident.ago + process.age) };
      all.push(found);
      if (found.lost === 'revoked') losses.set(grantOf(found), found);
      if (found.type === 'forced') forced.add(grantOf(found));
    }
  };
  await turns.each(processes, add, mostOf);
  const shown: ProcessIncident[] = [];
  const show = (incident: ProcessIncident): void => {
    if (incident.lost === 'revoked' && forced.has(grantOf(incident))) return;
    const loss = incident.type === 'forced' ? losses.get(grantOf(incident)) : undefined;
    // Of the process that lost it, not of the one that the person used.
    shown.push(loss ? { ...incident, client: loss.client, host: loss.host, pid: loss.pid } : incident);
  };
  await turns.each(all, show, 2);
  return shown.sort((one, other) => one.ago - other.ago);
}

async function findingsOf(processes: readonly SeenProcess[], turns: Turns): Promise<FleetFinding[]> {
  const byMessage = new Map<string, FleetFinding>();
  const add = ({ findings }: SeenProcess): void => {
    for (const finding of findings.first) {
      const known = byMessage.get(finding.message);
      byMessage.set(finding.message, { ...finding, processes: (known?.processes ?? 0) + 1 });
    }
  };
  await turns.each(processes, add, mostOf);
  return [...byMessage.values()];
}

export function aged<T extends HeldLock>(held: T, age: number): T {
  // A renewal since then is not known.
  return { ...held, heldFor: Math.round(held.heldFor + age), leaseLeft: Math.max(0, Math.round(held.leaseLeft - age)) };
}

const sum = (processes: readonly SeenProcess[], of: (process: SeenProcess) => number): number =>
  processes.reduce((total, process) => total + of(process), 0);
