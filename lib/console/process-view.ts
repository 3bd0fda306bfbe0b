import type { HeldLock, LockIncident } from '../operators/activity-record.js';
import type { ContendedLock, ProcessHold, ProcessView, ProcessWait } from './responses.js';
import type { SeenProcess } from '../operators/wait-graph.js';
import { agedHolder } from '../operators/wait-tree.js';
import { aged, type Picture } from './overview.js';

/** Processes in one answer: a host may have several. */
const mostProcesses = 20;

/** The part of a party that says which process it is. */
type Origin = Pick<SeenProcess, 'client' | 'host' | 'pid'>;

/**
 * The processes that a person means by a client, a host, or `host:pid`: those that tell something, and those that others wait for.
 * @param own the client of the process that answers
 */
export function processesOf(id: string, picture: Picture, own: string): ProcessView[] {
  const isMeant = ({ client, host, pid }: Origin): boolean =>
    client === id || host === id || (host !== undefined && id.startsWith(host) && id === `${host}:${pid}`);
  const blocking = new Map<string, ContendedLock[]>();
  const silent = new Map<string, Origin>();
  for (const lock of picture.contended) {
    const { holder } = lock;
    if (!holder || !isMeant(holder)) continue;
    blocking.set(holder.client, [...(blocking.get(holder.client) ?? []), lock]);
    silent.set(holder.client, holder);
  }
  const telling = picture.seen.filter(isMeant);
  for (const { client } of telling) silent.delete(client);
  return [
    ...telling.map((process) => viewOf(process, blocking.get(process.client) ?? [], picture, process.client === own)),
    ...[...silent.values()].map((party) => silentView(party, blocking.get(party.client)!)),
  ].slice(0, mostProcesses);
}

function viewOf(
  process: SeenProcess,
  blocking: readonly ContendedLock[],
  { waits: known }: Picture,
  isOwn: boolean,
): ProcessView {
  const { client, host, pid, age, held, waiting, problems, long, leads, holds, contended, further } = process;
  const toHold = (lock: HeldLock, isLong: boolean, isElection: boolean): ProcessHold => ({
    ...aged(lock, age),
    callers: known.get(lock.key)?.lock.callers ?? 0,
    isLong,
    isElection,
  });
  const told = [
    ...long.first.map((lock) => toHold(lock, true, false)),
    ...leads.first.map((lock) => toHold(lock, false, true)),
    ...holds.first.map((lock) => toHold(lock, false, false)),
  ];
  const keys = new Set(told.map(({ key }) => key));
  const all = [...told, ...blocking.filter(({ key }) => !keys.has(key)).map(holdSeenBy)];
  return {
    client,
    host,
    pid,
    isOwn,
    age: Math.round(age),
    held,
    waiting,
    problems,
    holds: all.sort(byUrgency),
    moreHolds: Math.max(0, held - all.length),
    waits: [
      ...contended.first.map(({ key, kind, callers: count, longest, method, label, holder, flows }): ProcessWait => {
        const inside = new Set(flows.flatMap((flow) => flow.holds.map((hold) => hold.key)));
        return {
          key,
          kind,
          callers: count,
          longest: Math.round(longest + age),
          method,
          label,
          holder: holder && agedHolder(holder, age),
          inside: [...inside].map((name) => ({ key: name })),
        };
      }),
      ...further.map((name) => ({ ...name, longest: Math.round(name.longest + age), inside: [] })),
    ],
    moreWaits: Math.max(0, contended.more - further.length),
    incidents: process.incidents.first.map((incident): LockIncident => ({
      ...incident,
      ago: Math.round(incident.ago + age),
    })),
    findings: process.findings.first,
  };
}

const silentView = ({ client, host, pid }: Origin, blocking: readonly ContendedLock[]): ProcessView => ({
  client,
  host,
  pid,
  isOwn: false,
  age: undefined,
  held: undefined,
  waiting: undefined,
  problems: undefined,
  holds: blocking.map(holdSeenBy).sort(byUrgency),
  moreHolds: 0,
  waits: [],
  moreWaits: 0,
  incidents: [],
  findings: [],
});

/** As those tell that wait for it. */
const holdSeenBy = ({ key, name, holder, callers }: ContendedLock): ProcessHold => ({
  key,
  name,
  method: holder!.method,
  label: holder!.label,
  fencingToken: holder!.fencingToken,
  heldFor: holder!.heldFor,
  callers,
  isLong: false,
  isElection: false,
});

const byUrgency = (one: ProcessHold, other: ProcessHold): number =>
  other.callers - one.callers || (other.heldFor ?? 0) - (one.heldFor ?? 0);
