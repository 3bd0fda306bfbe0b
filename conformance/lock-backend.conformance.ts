import { allCapabilities, type BackendCapabilities } from 'nestjs-redis-lock/backend';
import { activity } from './activity.guarantees.js';
import { BackendBench } from './backend-bench.js';
import { callers } from './callers.guarantees.js';
import { ClientBench } from './client-bench.js';
import { availability, contention, refusedCallers } from './contention.guarantees.js';
import { exclusion } from './exclusion.guarantees.js';
import { givingUpAndReEntry } from './giving-up.guarantees.js';
import { permitLocks } from './permits.guarantees.js';
import { pushedGrants } from './grant.guarantees.js';
import { adoption, handingOver, handingShares } from './hand-over.guarantees.js';
import { holding } from './holding.guarantees.js';
import { elections } from './leader.guarantees.js';
import type { ConformanceTarget } from './target.js';
import { queue } from './queue.guarantees.js';
import { repetition } from './repetition.guarantees.js';
import { severalNames } from './several-names.guarantees.js';
import { snapshots, views } from './views.guarantees.js';
import { sharedLocks } from './shared.guarantees.js';
import { sharing } from './sharing.guarantees.js';
import { globalFramework, type TestFramework } from './test-framework.js';

/** At the port, or with a client on it: with local hand-off, or without. Each takes about a third of the time. */
export type SuitePart = 'backend' | 'handoff' | 'strict';

/** What every LockBackend must guarantee, as tests: first at the port, then with a client on it, with local hand-off and
 * without. Where the target has a virtual clock this takes seconds. In real time it takes about half a minute.
 * @param open opens the target, once for each of the three parts; each is closed after its part
 * @param framework default: the global functions of the framework that runs the file
 * @param capabilities what the backend promises, the same as its own `capabilities`; default: everything
 * @throws Error where no framework is found
 */
export function lockBackendConformance(
  open: () => Promise<ConformanceTarget>,
  framework: TestFramework = globalFramework(),
  capabilities: BackendCapabilities = allCapabilities,
): void {
  conformanceOf(['backend', 'handoff', 'strict'], open, capabilities, framework);
}

/** These parts only, for a backend that differs from another in them. */
export function conformanceOf(
  parts: readonly SuitePart[],
  open: () => Promise<ConformanceTarget>,
  capabilities: BackendCapabilities = allCapabilities,
  framework: TestFramework = globalFramework(),
): void {
  const { describe } = framework;
  for (const part of parts) {
    if (part === 'backend') describe('the backend', () => port(new BackendBench(open, framework, capabilities)));
    else describe(`a client with fairness ${part}`, () => client(new ClientBench(open, framework, capabilities, part)));
  }
}

function port(bench: BackendBench): void {
  const { capabilities } = bench;
  exclusion(bench);
  contention(bench);
  availability(bench);
  queue(bench);
  pushedGrants(bench);
  repetition(bench);
  if (capabilities.views) snapshots(bench);
  if (capabilities.views) activity(bench);
  if (capabilities.handOver) adoption(bench);
  if (capabilities.shared) sharedLocks(bench);
  permitLocks(bench);
}

function client(bench: ClientBench): void {
  const { capabilities } = bench;
  callers(bench);
  givingUpAndReEntry(bench);
  refusedCallers(bench);
  holding(bench);
  severalNames(bench);
  if (capabilities.views) views(bench);
  if (capabilities.handOver) handingOver(bench);
  if (capabilities.handOver && capabilities.permits) handingShares(bench);
  if (capabilities.shared) sharing(bench);
  elections(bench);
}
