import { type BackendCapabilities, allCapabilities } from '../../core/lock-backend.js';
import { BackendBench } from './backend-bench.js';
import { callers } from './callers.guarantees.js';
import { ClientBench } from './client-bench.js';
import { exclusion } from './exclusion.guarantees.js';
import { givingUpAndReEntry } from './giving-up.guarantees.js';
import { permitLocks } from './permits.guarantees.js';
import { pushedGrants } from './grant.guarantees.js';
import { adoption, handingOver, handingShares } from './hand-over.guarantees.js';
import { holding } from './holding.guarantees.js';
import type { LockPlace } from './lock-place.js';
import { queue } from './queue.guarantees.js';
import { repetition } from './repetition.guarantees.js';
import { severalNames } from './several-names.guarantees.js';
import { snapshots, views } from './views.guarantees.js';
import { sharedLocks } from './shared.guarantees.js';
import { sharing } from './sharing.guarantees.js';
import { globalFramework, type TestFramework } from './test-framework.js';

/**
 * What every LockBackend must guarantee, as tests: first asked at the port, then of a client on it, with local hand-off and
 * without. The backends work on the system's clock, and real time passes: about half a minute.
 * @param open the place where the locks live; opened for each of the three parts, closed after it
 * @param framework default: the global functions of the framework that runs this file
 * @param capabilities what the backend promises, as it says so itself; default: everything
 * @throws Error where no framework is found
 */
export function lockBackendConformance(
  open: () => Promise<LockPlace>,
  framework: TestFramework = globalFramework(),
  capabilities: BackendCapabilities = allCapabilities,
): void {
  const { describe } = framework;
  describe('the backend', () => {
    const bench = new BackendBench(open, framework, capabilities);
    exclusion(bench);
    queue(bench);
    pushedGrants(bench);
    repetition(bench);
    if (capabilities.views) snapshots(bench);
    if (capabilities.handOver) adoption(bench);
    sharedLocks(bench);
    permitLocks(bench);
  });
  for (const [title, maxLocalHandoffs] of [
    ['a client', 16],
    ['a client without local hand-off', 0],
  ] as const) {
    describe(title, () => {
      const bench = new ClientBench(open, framework, capabilities, maxLocalHandoffs);
      callers(bench);
      givingUpAndReEntry(bench);
      holding(bench);
      severalNames(bench);
      if (capabilities.views) views(bench);
      if (capabilities.handOver) handingOver(bench);
      if (capabilities.handOver && capabilities.permits) handingShares(bench);
      sharing(bench);
    });
  }
}
