import type { ProcessActivity, WaitedForLock, WaitingFlow } from '../../lib/operators/activity-record.js';
import type { LockKind } from '../../lib/core/lock-backend.js';
import type { SeenProcess } from '../../lib/operators/wait-graph.js';

export const listed = <T>(...first: T[]) => ({ first, more: 0 });

export const party = (host: string, method?: string) => ({ client: host, host, pid: 1, method, label: undefined });

/** A lock that callers wait for, held by a process. */
export function waits(key: string, longest: number, inside: string[] = [], holder = 'h'): WaitedForLock {
  const flows = inside.length > 0 ? [flow(longest, ...inside)] : [];
  return {
    key,
    name: key.replace(/\d/, '*'),
    kind: 'exclusive',
    callers: 1,
    longest,
    method: 'Job.run',
    label: undefined,
    holder: { ...party(holder, 'Holder.work'), fencingToken: 1, heldFor: 1_000 },
    flows,
  };
}

/** A caller that has waited for so long and holds these names: 'a', or 'a/shared'. */
export const flow = (waited: number, ...names: string[]): WaitingFlow => ({
  waited,
  holds: names.map((name) => {
    const [key = '', kind = 'exclusive'] = name.split('/');
    return { key, kind: kind as LockKind };
  }),
});

/** What a process told just now. */
export function processAt(
  host: string,
  contended: WaitedForLock[],
  more: Partial<ProcessActivity & { age: number }> = {},
): SeenProcess {
  return {
    client: host,
    host,
    pid: 1,
    held: 1,
    waiting: contended.length,
    contended: listed(...contended),
    further: [],
    leads: listed(),
    long: listed(),
    holds: listed(),
    hot: listed(),
    incidents: listed(),
    findings: listed(),
    problems: [],
    age: 0,
    ...more,
  };
}
