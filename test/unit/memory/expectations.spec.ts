import { describe, expect, it } from '@jest/globals';
import { expect as ours, thrownBy } from '../../../conformance/expectations.js';
import { globalFramework } from '../../../conformance/test-framework.js';

const reason = new Error('x');
const rejected = (): Promise<never> => Promise.reject(reason);

describe("the suite's own expectations", () => {
  it.each<[string, () => unknown, () => unknown]>([
    ['toBe', () => ours(1).toBe(1), () => ours(1).toBe('1')],
    ['not.toBe', () => ours(1).not.toBe(2), () => ours(1).not.toBe(1)],
    ['toEqual', () => ours([1, { a: 2 }]).toEqual([1, { a: 2 }]), () => ours([1, { a: 2 }]).toEqual([1, { a: 3 }])],
    ['toMatchObject', () => ours({ a: 1, b: 2 }).toMatchObject({ a: 1 }), () => ours({ b: 2 }).toMatchObject({ a: 1 })],
    ['toHaveLength', () => ours([1]).toHaveLength(1), () => ours([1]).toHaveLength(2)],
    ['toBeTypeOf', () => ours(1).toBeTypeOf('number'), () => ours('lost').toBeTypeOf('number')],
    ['toBeDefined', () => ours(0).toBeDefined(), () => ours(undefined).toBeDefined()],
    ['toBeGreaterThan', () => ours(2).toBeGreaterThan(1), () => ours(1).toBeGreaterThan(1)],
    ['toBeGreaterThanOrEqual', () => ours(1).toBeGreaterThanOrEqual(1), () => ours(0).toBeGreaterThanOrEqual(1)],
    ['toBeLessThan', () => ours(1).toBeLessThan(2), () => ours(1).toBeLessThan(1)],
    ['toBeLessThanOrEqual', () => ours(1).toBeLessThanOrEqual(1), () => ours(2).toBeLessThanOrEqual(1)],
    ['a comparison with NaN', () => ours(1).toBeLessThan(2), () => ours(Number.NaN).toBeLessThan(1)],
  ])('%s accepts right values and no others', (_name, right, wrong) => {
    expect(right).not.toThrow();
    expect(wrong).toThrow();
  });

  it('rejects.toBe and rejects.toMatchObject require a rejection with that value', async () => {
    await ours(rejected()).rejects.toBe(reason);
    await ours(rejected()).rejects.toMatchObject({ message: 'x' });
    await expect(ours(rejected()).rejects.toBe(new Error('x'))).rejects.toThrow();
    await expect(ours(rejected()).rejects.toMatchObject({ message: 'y' })).rejects.toThrow();
    await expect(ours(Promise.resolve(reason)).rejects.toBe(reason)).rejects.toThrow(/expected a rejection/);
    await expect(ours(Promise.resolve()).rejects.toMatchObject({})).rejects.toThrow(/expected a rejection/);
  });

  it('thrownBy returns what was thrown, and fails when nothing was', () => {
    expect(
      thrownBy(() => {
        throw reason;
      }),
    ).toBe(reason);
    expect(() => thrownBy(() => 1)).toThrow(/expected it to throw/);
  });
});

describe('the framework of the suite', () => {
  it('is found by its global functions; without them the error says what to pass', () => {
    expect(globalFramework()).toMatchObject({ describe: expect.any(Function), it: expect.any(Function) });
    const { afterEach } = globalThis as { afterEach?: unknown };
    try {
      (globalThis as { afterEach?: unknown }).afterEach = undefined;
      expect(globalFramework).toThrow(/no global function 'afterEach'.*lockBackendConformance\(open, \{/);
    } finally {
      (globalThis as { afterEach?: unknown }).afterEach = afterEach;
    }
  });
});
