import { describe, it } from '@jest/globals';
import { clusterMatrix } from './support/cluster-matrix.js';
import { javaPeer, newestRedisson, redissonVersions, whyNoJava } from './support/java.js';
import { faults } from './support/faults.js';
import { matrix } from './support/matrix.js';
import { migration } from './support/migration.js';
import { observations } from './support/observations.js';

const missing = whyNoJava();
// One JVM at a time: each version's tests end before the next begin.
if (missing === undefined)
  describe.each(redissonVersions)('Redisson %s', (version) => {
    describe('alone', () => observations(() => javaPeer(version), version));
    describe('beside this library', () => {
      matrix(() => javaPeer(version));
      faults(() => javaPeer(version));
      // The others have the same format.
      if (version === newestRedisson) migration(() => javaPeer(version));
    });
    describe('beside this library on a cluster', () => clusterMatrix(() => javaPeer(version)));
  });
else it.skip(`Redisson itself is not tested: ${missing}`, () => undefined);
