import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { longestTimer, systemClock } from '../../../lib/core/clock.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

describe('a timer that is longer than one of Node', () => {
  it.each([longestTimer, longestTimer + 1, 2.5 * longestTimer, 7 * longestTimer])(
    'fires once, and not before its time: %d ms',
    (delay) => {
      const fired = jest.fn();
      systemClock.timer(delay, fired);
      jest.advanceTimersByTime(Math.floor(delay) - 2);
      expect(fired).not.toHaveBeenCalled();
      jest.advanceTimersByTime(3 * longestTimer);
      expect(fired).toHaveBeenCalledTimes(1);
    },
  );

  it.each([true, false])('keeps the process in none of its parts if it is in the background: %p', (isBackground) => {
    const set = jest.spyOn(globalThis, 'setTimeout');
    systemClock.timer(2.5 * longestTimer, () => undefined, isBackground);
    jest.advanceTimersByTime(2 * longestTimer);
    const keeps = set.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef());
    expect(keeps).toEqual(Array(3).fill(!isBackground));
  });

  it.each([0, 1, 2])('does not fire when it was stopped after %d parts of it', (parts) => {
    const fired = jest.fn();
    const stop = systemClock.timer(2.5 * longestTimer, fired);
    jest.advanceTimersByTime(parts * longestTimer);
    stop();
    jest.advanceTimersByTime(10 * longestTimer);
    expect(fired).not.toHaveBeenCalled();
  });
});
