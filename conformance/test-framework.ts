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
  for (const [name, value] of Object.entries(framework)) if (typeof value !== 'function') throw noFramework(name);
  return framework as TestFramework;
}

const noFramework = (name: string): Error =>
  new Error(
    `lockBackendConformance: there is no global function '${name}'. Give the functions of your test framework: ` +
      'lockBackendConformance(open, { describe, it, beforeAll, afterEach, afterAll }).',
  );
