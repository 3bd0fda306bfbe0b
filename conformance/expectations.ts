import assert from 'node:assert/strict';

/** The few expectations that the suite needs, on node:assert, so that it does not depend on one test framework. */
interface Expectations {
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
  /** Has at least these properties. */
  toMatchObject(expected: object): void;
  toHaveLength(length: number): void;
  toBeTypeOf(type: 'number'): void;
  toBeDefined(): void;
  toBeGreaterThan(bound: number): void;
  toBeGreaterThanOrEqual(bound: number): void;
  toBeLessThan(bound: number): void;
  toBeLessThanOrEqual(bound: number): void;
  readonly not: { toBe(expected: unknown): void };
  readonly rejects: { toBe(expected: unknown): Promise<void>; toMatchObject(expected: object): Promise<void> };
}

export function expect(actual: unknown): Expectations {
  const compared = (holds: boolean, relation: string, bound: number): void => {
    assert.ok(holds, `expected ${String(actual)} to be ${relation} ${bound}`);
  };
  return {
    toBe: (expected) => assert.equal(actual, expected),
    toEqual: (expected) => assert.deepEqual(actual, expected),
    toMatchObject: (expected) => matches(actual, expected),
    toHaveLength: (length) => assert.equal((actual as ArrayLike<unknown>).length, length),
    toBeTypeOf: (type) => assert.equal(typeof actual, type, `expected a ${type}, not ${String(actual)}`),
    toBeDefined: () => assert.notEqual(actual, undefined),
    toBeGreaterThan: (bound) => compared((actual as number) > bound, '>', bound),
    toBeGreaterThanOrEqual: (bound) => compared((actual as number) >= bound, '>=', bound),
    toBeLessThan: (bound) => compared((actual as number) < bound, '<', bound),
    toBeLessThanOrEqual: (bound) => compared((actual as number) <= bound, '<=', bound),
    not: { toBe: (expected) => assert.notEqual(actual, expected) },
    rejects: {
      toBe: async (expected) => assert.equal(await reasonOf(actual), expected),
      toMatchObject: async (expected) => matches(await reasonOf(actual), expected),
    },
  };
}

/** Returns what `fn` throws. */
export function thrownBy(fn: () => unknown): unknown {
  try {
    fn();
  } catch (error) {
    return error;
  }
  return assert.fail('expected it to throw');
}

function matches(actual: unknown, expected: object): void {
  const source = Object(actual) as Record<string, unknown>;
  const picked = Object.fromEntries(Object.keys(expected).map((name) => [name, source[name]]));
  assert.deepEqual(picked, { ...expected }, `expected ${String(actual)} to match`);
}

async function reasonOf(promise: unknown): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (reason) {
    return reason;
  }
  return assert.fail(`expected a rejection, not ${String(value)}`);
}
