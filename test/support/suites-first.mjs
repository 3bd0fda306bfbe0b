import imported from '@jest/test-sequencer';

/** Its types describe its CommonJS. */
const Sequencer = /** @type {typeof imported.default} */ (/** @type {unknown} */ (imported));

/** Files of a few lines that run a suite of hundreds of tests. */
const SUITES = /\/test\/(conformance|redisson|integration\/docs\/wrong-lines)/;

/**
 * jest begins with the files that took longest, and on a fresh checkout with the largest. A suite would come last then, and its worker would go
 * on for minutes when the others have nothing left to do.
 */
export default class SuitesFirst extends Sequencer {
  /**
   * @override
   * @param {import('@jest/test-result').Test[]} tests
   */
  async sort(tests) {
    const isSuite = (/** @type {{ path: string }} */ { path }) => Number(SUITES.test(path));
    return (await super.sort(tests)).toSorted((one, other) => isSuite(other) - isSuite(one));
  }
}
