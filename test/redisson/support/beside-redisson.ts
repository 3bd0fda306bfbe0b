import { describe, it } from '@jest/globals';
import { clusterMatrix } from './cluster-matrix.js';
import { javaPeer, newestRedisson, whyNoRedisson } from './java.js';
import { faults } from './faults.js';
import { matrix } from './matrix.js';
import { migration } from './migration.js';
import { observations } from './observations.js';

/** All tests beside Redisson itself. Each version has a file of its own, so that they run side by side. */
export function besideRedisson(version: string): void {
  if (whyNoRedisson !== undefined) {
    it.skip(`Redisson ${version} is not tested: ${whyNoRedisson}`, () => undefined);
    return;
  }
  describe(`Redisson ${version}`, () => {
    describe('alone', () => observations(() => javaPeer(version), version));
    describe('beside this library', () => {
      matrix(() => javaPeer(version));
      faults(() => javaPeer(version));
      // The others have the same format.
      if (version === newestRedisson) migration(() => javaPeer(version));
    });
    describe('beside this library on a cluster', () => clusterMatrix(() => javaPeer(version)));
  });
}
