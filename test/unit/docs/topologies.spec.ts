import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { type LockBackend, allCapabilities } from '../../../lib/core/lock-backend.js';
import type { RedisLockModuleOptions } from '../../../lib/nest/module/redis-lock.options.js';
import { resolveModuleOptions } from '../../../lib/nest/module/resolve-options.js';
import { createBackend, loadBackends } from '../../../lib/connection/create-backend.js';
import { cloneableOptions } from '../../../lib/worker/cloneable-options.js';
import { MemoryLockBackend } from '../../../lib/testing/index.js';
import { KeptLog } from '../../../conformance/kept-log.js';

const read = (page: string): string => readFileSync(new URL(`../../../docs/concepts/${page}`, import.meta.url), 'utf8');
const page = read('topologies.md');
const [head, , ...rows] = page
  .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1') // a link counts by its text
  .split('\n## What works where\n')[1]!
  .split('\n## ')[0]!
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

const node = (port: number) => ({ host: '127.0.0.1', port });
const topologies: Record<string, RedisLockModuleOptions> = {
  'one Redis': { redis: 'redis://127.0.0.1:1' },
  Sentinel: { redis: { sentinels: [node(1)], name: 'mymaster' } },
  Cluster: { cluster: { nodes: [node(1)] } },
  quorum: { quorum: { nodes: ['redis://127.0.0.1:1', 'redis://127.0.0.1:2', 'redis://127.0.0.1:3'] } },
  'in memory': { backend: new MemoryLockBackend() },
};

const takes = (options: RedisLockModuleOptions, more: RedisLockModuleOptions): boolean => {
  try {
    resolveModuleOptions({ ...options, ...more });
    return true;
  } catch {
    return false;
  }
};
const can = ({ capabilities = allCapabilities }: LockBackend) => capabilities;

/** Each line of the table, from what the code supports and refuses. Nothing here is connected. */
const facts: Record<string, (backend: LockBackend, options: RedisLockModuleOptions) => boolean> = {
  'locks for one, readers and writers, several keys': () => true,
  "order of arrival over all processes (`fairness: 'strict'`)": (backend) => can(backend).fifo,
  'permits (`limit`)': (backend) => can(backend).permits,
  'handing over (`export`, `adopt`)': (backend) => can(backend).handOver && backend.adopt !== undefined,
  '`inspect`, `list`, `forceRelease`': (backend) =>
    can(backend).views && [backend.inspect, backend.list, backend.revoke].every((method) => method !== undefined),
  '`replicas`': (_, options) => takes(options, { replicas: { count: 1, timeout: 100 } }),
  '`keyPrefix`': (_, options) => takes(options, { keyPrefix: 'a:' }),
  '`commandTimeout`': (_, options) => takes(options, { commandTimeout: 500 }),
  'the doctor looks at the server': (backend) => backend.examine !== undefined,
  "`renewFrom: 'worker'`": (_, options) => hasWorker(options),
};

function hasWorker(options: RedisLockModuleOptions): boolean {
  try {
    cloneableOptions(resolveModuleOptions(options));
    return true;
  } catch {
    return false;
  }
}

async function backendOf(options: RedisLockModuleOptions): Promise<LockBackend> {
  const resolved = resolveModuleOptions(options);
  return createBackend(resolved, { log: new KeptLog(), ...(await loadBackends(resolved)) });
}

describe('the table of what works where, in docs/concepts/topologies.md', () => {
  it('has a column for each topology and a line for each fact', () => {
    expect(head!.slice(1)).toEqual(Object.keys(topologies));
    expect(rows.map(([name]) => name)).toEqual(Object.keys(facts));
  });

  it.each(rows.map((row) => [row[0]!, row.slice(1)] as const))('%s', async (name, cells) => {
    const found = await Promise.all(
      Object.values(topologies).map(async (options) => facts[name]!(await backendOf(options), options)),
    );
    expect(cells.map((cell) => /^(yes|no)\b/.exec(cell)?.[1])).toEqual(found.map((yes) => (yes ? 'yes' : 'no')));
  });
});

it('docs/concepts/guarantees.md states the claim window of the code (G4)', async () => {
  const { claimWindow } = await backendOf(topologies['one Redis']!);
  expect(read('guarantees.md')).toContain(`at most one claim window (${claimWindow / 1000} s)`);
});
