import { describe, it } from '@jest/globals';
import { javaPeer, redissonVersions, whyNoJava } from './support/java.js';
import { observations } from './support/observations.js';

const missing = whyNoJava();
// One JVM at a time: each version's tests end before the next begin.
if (missing === undefined)
  describe.each(redissonVersions)('Redisson %s', (version) => {
    observations(() => javaPeer(version), version);
  });
else it.skip(`Redisson itself is not tested: ${missing}`, () => undefined);
