import { testingRefusals } from '../lib/testing/testing.messages.js';

/** What the suite needs of the framework that runs it: jest, vitest, mocha and node:test have it, some under other names. */
export interface TestFramework {
  describe(title: string, body: () => void): unknown;
  it(title: string, body: () => Promise<void>): unknown;
  beforeAll(body: () => Promise<void>): unknown;
  afterEach(body: () => Promise<void>): unknown;
  afterAll(body: () => Promise<void>): unknown;
}

/** The framework whose functions are global. @throws Error where there is none. */
export function globalFramework(): TestFramework {
  const {
    describe,
    it,
    before,
    beforeAll = before,
    afterEach,
    after,
    afterAll = after,
  } = globalThis as Partial<Record<string, unknown>>;
  const framework = { describe, it, beforeAll, afterEach, afterAll };
  for (const [name, value] of Object.entries(framework))
    if (typeof value !== 'function') throw testingRefusals.noFramework(name);
  return framework as TestFramework;
}
