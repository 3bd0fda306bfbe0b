import { describe, expect, it } from '@jest/globals';
import { longestDuration, parseDuration } from '../../../lib/core/duration.js';

const lease = (value: unknown): number => parseDuration('lease', value, { min: 10 });
const wait = (value: unknown): number => parseDuration('wait', value, { min: 0, infinite: true });

describe('a duration', () => {
  it.each([
    [500, 500],
    [10, 10],
    [longestDuration, longestDuration],
    ['500ms', 500],
    ['30s', 30_000],
    ['0.1s', 100],
    ['1.5 s', 1_500],
    ['2 minutes', 120_000],
    ['1h', 3_600_000],
  ])('%j is %d ms', (value, milliseconds) => {
    expect(lease(value)).toBe(milliseconds);
  });

  it('0 means one try, and Infinity no end, for options that allow it', () => {
    expect(wait(0)).toBe(0);
    expect(wait(-0) === 0).toBe(true);
    expect(wait('0s')).toBe(0);
    expect(wait(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
  });

  // faults.md, Bad input: Durations
  const never: Array<[string, unknown]> = [
    ['undefined', undefined],
    ['null', null],
    ['NaN', Number.NaN],
    ['a negative number', -1],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['a fraction', 1.5],
    ['true', true],
    ['false', false],
    ['an array', [500]],
    ['a Date', new Date(500)],
    ['a boxed number', Object(500)],
    ['a bigint', 500n],
    ['a symbol', Symbol('500')],
    ['a function', () => 500],
    ['an object with valueOf', { valueOf: () => 500 }],
    ['2^31 ms, at which setTimeout fires at once', 2 ** 31],
    ['25 days as text', '25 days'],
    ['the empty string', ''],
    ['a blank', ' '],
    ['text', 'soon'],
    ['digits without a unit, which the environment gives', '500'],
    ['digits between blanks', ' 10 '],
    ['a number with something behind', '5 secs or so'],
    ['an exponent', '1e3'],
    ['a fraction of a millisecond', '1.5ms'],
    ['a negative text', '-5s'],
    ['the word Infinity', 'Infinity'],
    ['the word NaN', 'NaN'],
    ['a very long text', '1'.repeat(101)],
  ];

  it.each(never)('%s is refused, and the error names the option', (_, value) => {
    for (const [option, parse] of [
      ['lease', lease],
      ['wait', wait],
    ] as const) {
      expect(() => parse(value)).toThrow(
        expect.objectContaining({ code: 'LOCK_CONFIGURATION', message: expect.stringMatching(`^${option}: `) }),
      );
    }
  });

  it('below the minimum, or Infinity for an option that needs an end, is refused', () => {
    for (const value of [0, 9, '9ms', Number.POSITIVE_INFINITY]) {
      expect(() => lease(value)).toThrow(expect.objectContaining({ code: 'LOCK_CONFIGURATION' }));
    }
  });
});
