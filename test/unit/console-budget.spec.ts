import { describe, expect, it } from '@jest/globals';
import { Budget } from '../../lib/console/budget.js';

describe('the looks of people at a console', () => {
  const setUp = () => {
    let now = 0;
    const budget = new Budget(() => now);
    const looks = (person: object | undefined, count: number, cost = 1): number =>
      Array.from({ length: count }, () => budget.take(person, cost)).filter(Boolean).length;
    return { looks, pass: (ms: number) => (now += ms) };
  };

  it('are limited to twenty a second for each of them: one who asks too much takes nothing from the others', () => {
    const { looks, pass } = setUp();
    const [eager, calm] = [{}, {}];
    expect(looks(eager, 100)).toBe(20);
    expect(looks(calm, 20)).toBe(20);
    pass(999);
    expect(looks(eager, 1)).toBe(0);
    pass(1);
    expect(looks(eager, 100)).toBe(20);
  });

  it('are limited for all together, however many connections someone opens', () => {
    const { looks, pass } = setUp();
    const people = Array.from({ length: 50 }, () => ({}));
    const sum = (): number => people.reduce<number>((total, person) => total + looks(person, 20), 0);
    expect(sum()).toBe(200);
    pass(1_000);
    expect(sum()).toBe(200);
  });

  it('are limited by what they cost, and one that is refused costs nothing', () => {
    const { looks } = setUp();
    const person = {};
    expect(looks(person, 10, 6)).toBe(3);
    expect(looks(person, 10, 1)).toBe(2);
  });

  it('share what all may ask for where a connection is not known', () => {
    const { looks } = setUp();
    expect(looks(undefined, 300)).toBe(200);
    expect(looks({}, 1)).toBe(0);
  });
});
