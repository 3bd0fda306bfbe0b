import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ServerClock } from '../../../lib/backends/redis/server-clock.js';
import { certainUntil } from '../../../lib/core/clock.js';

describe('the estimate of the clock of the server', () => {
  it('is empty before the first reply, and after a reset', () => {
    const clock = new ServerClock();
    expect([clock.latest(5), clock.earliest(5)]).toEqual([undefined, undefined]);
    clock.observe(1e15, 100);
    clock.forget();
    expect([clock.latest(5), clock.earliest(5)]).toEqual([undefined, undefined]);
  });

  it('bounds every moment from the safe side, for any delay in either direction (G2)', () => {
    const milliseconds = (max: number) => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(milliseconds(1e9), milliseconds(5_000), fc.integer({ min: -1e6, max: 1e6 }), (sentAt, way, later) => {
        // The server read its clock `way` ms after the sending; its clock shows local time + 1.7e12 ms.
        const offset = 1.7e12;
        const clock = new ServerClock();
        clock.observe((sentAt + way + offset) * 1000, sentAt);
        const local = sentAt + later;
        const server = (local + offset) * 1000;
        expect(clock.latest(local)).toBeGreaterThanOrEqual(server - 1);
        expect(clock.earliest(server)).toBeLessThanOrEqual(local + 1e-3);
      }),
    );
  });

  it('is as old as the request it came from', () => {
    const clock = new ServerClock();
    clock.observe(1e15, 100);
    expect(clock.age(350)).toBe(250);
  });
});

describe('certainUntil', () => {
  it('ends a lease a thousandth and two milliseconds early', () => {
    expect(certainUntil(1_000, 10_000)).toBe(1_000 + 10_000 - 10 - 2);
  });
});
