import type { HotResult } from '../client/hot.task.js';
import type { Values } from '../report/results.js';
import { ascending, fairness, median, percentile, sum } from '../report/statistics.js';
import type { Column } from './scenario.js';

/** What several processes (or one) saw of the same hot name. `value`: what the shared ledger says at the end. */
export function hotValues(seen: readonly HotResult[], value: number): Values {
  const seconds = seen[0]!.seconds;
  const total = (of: (result: HotResult) => number) => sum(seen.map(of));
  const acquisitions = seen.flatMap((result) => [...result.acquisitions]);
  const longest = seen.flatMap((result) => [...result.longest]);
  const waits = ascending(seen.flatMap((result) => [...result.waits]));
  return {
    acquisitionsPerSecond: sum(acquisitions) / seconds,
    ownerChangesPerSecond: total(({ ownerChanges }) => ownerChanges) / seconds,
    switchesPerSecond: total(({ processChanges }) => processChanges) / seconds,
    p50: percentile(waits, 0.5),
    p99: percentile(waits, 0.99),
    longest: Math.max(...longest),
    medianLongest: median(longest),
    jain: fairness(acquisitions),
    starved: acquisitions.filter((count) => count === 0).length,
    failures: total(({ failures }) => failures),
    lost: total(({ updates }) => updates) - value,
    clientCpu: total(({ cpu }) => cpu) / sum(acquisitions),
  };
}

export const requestsPerOwnerChange = (seen: readonly HotResult[], requests: number): Values => ({
  requests: requests / sum(seen.map(({ ownerChanges, latecomers }) => ownerChanges + latecomers)),
});

export const hotColumns = (between: 'callers' | 'processes'): Column[] => [
  { key: 'acquisitionsPerSecond', title: 'acquisitions/s' },
  { key: 'ownerChangesPerSecond', title: 'owner changes/s' },
  ...(between === 'processes' ? [{ key: 'switchesPerSecond', title: 'switches/s' }] : []),
  { key: 'p50', title: 'wait p50 ms', digits: 1 },
  { key: 'p99', title: 'p99', digits: 1 },
  { key: 'longest', title: 'max' },
  { key: 'jain', title: 'Jain', digits: 3 },
  { key: 'starved', title: 'starved', across: 'total' },
  { key: 'requests', title: 'requests an owner change', digits: 2 },
  { key: 'clientCpu', title: 'client CPU µs', digits: 1 },
  { key: 'failures', title: 'gave up', across: 'total' },
  { key: 'lost', title: 'lost updates', across: 'total' },
];
