import { describe, expect, it } from '@jest/globals';
import { InTurn } from '../../lib/console/in-turn.js';
import { nearNames } from '../../lib/console/near-names.js';
import { Turns } from '../../lib/diagnostics/turns.js';
import { settled } from '../support/virtual-clock.js';

describe('searches of people in the console', () => {
  /** Searches of 10 ms each, with pauses that the test ends. */
  function setUp() {
    let now = 0;
    const pauses: Array<{ ms: number; end: () => void }> = [];
    const begun: string[] = [];
    const rest = (ms: number) => new Promise<void>((end) => pauses.push({ ms, end }));
    const inTurn = new InTurn(1 / 20, () => now, rest);
    const search = (name: string, fails = false) =>
      inTurn.run(async (turns) => {
        turns.resume();
        begun.push(name);
        now += 10;
        if (fails) throw new Error(name);
        return name;
      });
    return { pauses, begun, search };
  }

  it('are made one after the other, and together take a twentieth of the event loop', async () => {
    const { pauses, begun, search } = setUp();
    const [a, b] = [search('a'), search('b')];
    await settled();
    expect(await a).toBe('a');
    expect([begun, pauses.map(({ ms }) => ms)]).toEqual([['a'], [190]]);
    pauses[0]!.end();
    expect(await b).toBe('b');
  });

  it('go on behind one that fails', async () => {
    const { pauses, search } = setUp();
    const [a, b] = [search('a', true), search('b')];
    await expect(a).rejects.toThrow('a');
    await settled();
    pauses[0]!.end();
    expect(await b).toBe('b');
  });

  it('are refused where forty wait, until one of them begins', async () => {
    const { pauses, search } = setUp();
    await search('first');
    await settled();
    const waiting = Array.from({ length: 40 }, (_, index) => search(`${index}`));
    expect(waiting).not.toContain(undefined);
    expect(search('one more')).toBeUndefined();
    pauses[0]!.end();
    await waiting[0];
    expect(search('now')).toBeDefined();
  });

  const names = (beginning: string, ending: string) =>
    Array.from({ length: 500 }, (_, index) => `${beginning}${index}${ending}`);

  it('let other work have its turn while they look for names that look alike', async () => {
    let now = 0;
    // Time passes with each look at the clock.
    const turns = new Turns(() => (now += 1));
    let others = 0;
    let isOver = false;
    const other = (): void => {
      others++;
      if (!isOver) setImmediate(other);
    };
    setImmediate(other);
    await nearNames('x'.repeat(64), names('y', '-'.repeat(60)), 10, turns);
    isOver = true;
    expect(others).toBeGreaterThan(125);
  });

  it('find names by what differs, not by what all of them have in common', async () => {
    const [beginning, ending] = ['tenant:customers:', ':cart'];
    const all = [`${beginning}4711${ending}`, `${beginning}99${ending}`, 'abc', 'aabbcc'];
    const near = (text: string) => nearNames(text, all, 10, new Turns());
    expect(await near(`${beginning}4171${ending}`)).toEqual([`${beginning}4711${ending}`, `${beginning}99${ending}`]);
    expect(await near('aabcc')).toEqual(['abc', 'aabbcc']);
    expect(await near('bac')).toEqual(['abc']);
    expect(await near('acb')).toEqual(['abc']);
    expect(await near('xyz')).toEqual([]);
  });
});
