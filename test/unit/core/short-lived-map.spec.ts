import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ShortLivedMap } from '../../../lib/core/short-lived-map.js';

describe('a map of short-lived entries', () => {
  it('has what a Map has, while thousands of entries come and go', () => {
    const step = fc.record({ key: fc.nat(20), comes: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 100 }), fc.nat(3), (steps, staying) => {
        const map = new ShortLivedMap<string, number>();
        const model = new Map<string, number>();
        const set = (key: string, value: number): void => {
          map.set(key, value);
          model.set(key, value);
        };
        for (let index = 0; index < staying; index++) set(`stays ${index}`, index);
        for (let round = 0; round < 30; round++) {
          for (const { key, comes } of steps) {
            if (comes) set(`key ${key}`, round);
            else {
              map.delete(`key ${key}`);
              model.delete(`key ${key}`);
            }
            expect(map.get(`key ${key}`)).toBe(model.get(`key ${key}`));
          }
          // Enough for the map to be made anew, with and without entries that stay.
          for (let index = 0; index < 100; index++) {
            map.set('passes', index);
            map.delete('passes');
          }
          expect(map.values()).toEqual([...model.values()]);
        }
      }),
      { numRuns: 30 },
    );
  });
});
