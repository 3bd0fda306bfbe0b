import { describe, expect, it } from '@jest/globals';
import { lostInTheOpen, violations } from './checker.js';
import type { Ended, Happening, Lived, Mode, Settled, Started, Touched, Wiped } from './history.js';

const terms = { commandTimeout: 400 };
const quick: Lived = { beats: 1, stalls: 0 };

/** A hold of 'seat' that is asked for at `from`, certain until `until`, and reads and writes as said. */
function hold(
  hold: string,
  token: number,
  { from, until, read, write, mode = 'exclusive', name = 'seat' }: HoldTimes,
): Happening[] {
  const touched = (kind: 'read' | 'write', at: number): Touched => {
    const sent = at - 1;
    // A holder that knows of its loss reports it.
    return {
      event: 'touched',
      hold,
      name,
      mode,
      kind,
      token,
      sent,
      until: sent < until ? until : 0,
      at,
      accepted: true,
    };
  };
  const started: Started = { event: 'started', hold, name, mode, token, asked: from - 1, at: from };
  return [
    started,
    ...(read === undefined ? [] : [touched('read', read)]),
    ...(write === undefined ? [] : [touched('write', write)]),
  ];
}

interface HoldTimes {
  readonly from: number;
  readonly until: number;
  readonly read?: number;
  readonly write?: number;
  readonly mode?: Mode;
  readonly name?: string;
}

const ended = (hold: string, more: Partial<Ended> = {}): Ended => ({
  ...{ event: 'ended', hold, heldAt: 0, lateBeats: 0, lived: quick },
  ...more,
});

const settled = (more: Partial<Settled> = {}): Settled => ({
  ...{ event: 'settled', call: 'a', names: 1, outcome: 'granted', wait: 1000, lived: quick },
  ...more,
});

const wiped = (from: number, serverTime: number, name?: string): Wiped => ({ event: 'wiped', from, serverTime, name });

/** In the order in which the resources saw them, as in a real history. */
const inOrder = (...happenings: Happening[]): Happening[] =>
  happenings.toSorted((a, b) => ('at' in a && 'at' in b ? a.at - b.at : 0));

const found = (...happenings: Happening[]): string[] => violations(inOrder(...happenings), terms);

const titled = (title: string): unknown => expect.stringMatching(new RegExp(`^${title}: `));

describe('the checker of a chaos run', () => {
  it('accepts holders that follow each other', () => {
    expect(
      found(
        ...hold('a', 10, { from: 0, until: 100, read: 10, write: 20 }),
        ended('a', { heldAt: 25 }),
        ...hold('b', 11, { from: 30, until: 130, read: 40, write: 50 }),
        settled(),
      ),
    ).toEqual([]);
  });

  describe('exclusion', () => {
    it('two that were certain at the same time', () => {
      const two = found(
        ...hold('a', 10, { from: 0, until: 100, read: 10, write: 60 }),
        ...hold('b', 11, { from: 30, until: 130, read: 40, write: 50 }),
      );
      expect(two).toContainEqual(titled('more held the lock than may'));
      expect(two).toContainEqual(titled('an update was lost although no lease was'));
    });

    it('also when no resource has seen it: the holder checked, and still held the lock', () => {
      expect(
        found(
          ...hold('a', 10, { from: 0, until: 100, read: 10 }),
          ended('a', { heldAt: 60 }),
          ...hold('b', 11, { from: 30, until: 130, read: 40, write: 50 }),
        ),
      ).toEqual([titled('more held the lock than may')]);
    });

    it('not that of different names, nor of one that knew its lease to be over', () => {
      expect(
        found(
          ...hold('a', 10, { from: 0, until: 100, read: 10, write: 60, name: 'table' }),
          ...hold('b', 11, { from: 30, until: 130, read: 40, write: 50 }),
        ),
      ).toEqual([]);
      expect(
        found(
          ...hold('a', 10, { from: 0, until: 20, read: 10 }),
          ended('a', { heldAt: 0 }),
          ...hold('b', 11, { from: 30, until: 130, read: 40, write: 50 }),
        ),
      ).toEqual([]);
    });

    it('not that of a holder that Redis has forgotten, from then on', () => {
      const both = [
        ...hold('a', 10, { from: 0, until: 100, read: 10, write: 60 }),
        ...hold('b', 50_000, { from: 30, until: 130, read: 40, write: 70 }),
      ];
      expect(found(...both, wiped(20, 1000))).not.toContainEqual(titled('more held the lock than may'));
      // A wipe of another lock, and one that came later, are no excuse.
      expect(found(...both, wiped(20, 1000, 'table'))).toContainEqual(titled('more held the lock than may'));
      expect(found(...both, wiped(65, 1000))).toContainEqual(titled('more held the lock than may'));
    });

    it.each<[string, Mode, Mode, number]>([
      ['readers together', 'shared', 'shared', 0],
      ['a reader beside a writer', 'shared', 'exclusive', 1],
      ['as many permits as there are', { limit: 3, permits: 2 }, { limit: 3, permits: 1 }, 0],
      ['more permits than there are', { limit: 3, permits: 2 }, { limit: 3, permits: 2 }, 1],
      ['permits beside a reader', { limit: 3, permits: 1 }, 'shared', 1],
    ])('%s', (_, first, second, times) => {
      const lines = found(
        ...hold('a', 10, { from: 0, until: 100, read: 10, mode: first }),
        ended('a', { heldAt: 60 }),
        ...hold('b', 11, { from: 30, until: 130, read: 40, mode: second }),
        ended('b', { heldAt: 70 }),
      );
      expect(lines.filter((line) => line.startsWith('more held'))).toHaveLength(times);
    });

    it('takes a moment for a hundred thousand holds', () => {
      const many: Happening[] = [];
      for (let n = 0; n < 100_000; n++) {
        many.push(...hold(`${n}`, 10 + n, { from: n * 10, until: n * 10 + 9, read: n * 10 + 4, write: n * 10 + 6 }));
      }
      expect(violations(many, terms)).toEqual([]);
    });
  });

  describe('updates', () => {
    it('one that was written over by a paused holder, where no token is checked', () => {
      const history = inOrder(
        ...hold('a', 10, { from: 0, until: 20, read: 10, write: 60 }),
        ...hold('b', 11, { from: 30, until: 130, read: 40, write: 50 }),
      ).map((one) =>
        one.event === 'touched' && one.at === 60 ? { ...one, sent: 15, until: 20, accepted: false } : one,
      );
      // Sent while it was held, and long on its way: only the guarded resource can help, and it did.
      expect(violations(history, terms)).toEqual([]);
      expect(lostInTheOpen(history)).toBe(1);
    });

    it('one that the guarded resource took all the same', () => {
      const history = inOrder(
        ...hold('a', 10, { from: 0, until: 20, read: 10, write: 60 }),
        ...hold('b', 11, { from: 30, until: 130, read: 40, write: 50 }),
      );
      expect(violations(history, terms)).toEqual([
        titled('an accepted token decreased'),
        titled('an update was lost at the guarded resource'),
      ]);
    });

    it('a holder that was refused although it was certain', () => {
      const refused = hold('a', 10, { from: 0, until: 100, read: 10 }).map((one) => ({ ...one, accepted: false }));
      expect(found(...(refused as Happening[]))).toEqual([titled('a holder was refused')]);
    });
  });

  describe('tokens', () => {
    it('one that two have', () => {
      expect(found(...hold('a', 10, { from: 0, until: 10 }), ...hold('b', 10, { from: 20, until: 30 }))).toContainEqual(
        titled('a token was issued twice'),
      );
      expect(
        found(...hold('a', 10, { from: 0, until: 10 }), ...hold('b', 10, { from: 20, until: 30, name: 'table' })),
      ).toEqual([]);
    });

    it('a smaller one for a later request, not for a request at the same time', () => {
      const later = [...hold('a', 10, { from: 0, until: 10 }), ...hold('b', 9, { from: 20, until: 30 })];
      expect(found(...later)).toEqual([titled('a later holder got a smaller token')]);
      const meanwhile = later.map((one) => (one.event === 'started' ? { ...one, asked: -5 } : one));
      expect(found(...meanwhile)).toEqual([]);
    });
  });

  describe('answers', () => {
    const beats = (count: number, stalls = 0): Lived => ({ beats: count, stalls });

    it('a loss that the signal reported late', () => {
      expect(found(ended('a', { lateBeats: 2 }))).toEqual([]);
      expect(found(ended('a', { lateBeats: 3 }))).toEqual([titled('a loss was reported late')]);
    });

    it('a call beyond its wait and one answer of Redis, by the time that its process had', () => {
      expect(found(settled({ lived: beats(72) }))).toEqual([]);
      expect(found(settled({ lived: beats(90) }))).toEqual([titled('a call was answered late')]);
      expect(found(settled({ lived: beats(90), names: 2 }))).toEqual([]);
      expect(found(settled({ lived: beats(90, 1) }))).toEqual([]);
    });

    it('a release beyond one answer of Redis', () => {
      expect(found(ended('a', { lived: beats(22) }))).toEqual([]);
      expect(found(ended('a', { lived: beats(40) }))).toEqual([titled('a release was answered late')]);
    });

    it('an error of no known kind', () => {
      expect(found(settled({ outcome: 'LOCK_UNAVAILABLE' }))).toEqual([]);
      expect(found(settled({ outcome: 'TypeError: x is not a function' }))).toHaveLength(1);
    });
  });

  describe('the end', () => {
    const exited = { event: 'exited', process: '0.1', code: 0, unhandled: [], open: [] } as const;

    it('a process that had to be killed, an unhandled rejection, a call that never settled', () => {
      expect(found(exited)).toEqual([]);
      expect(found({ ...exited, code: null })).toEqual([titled('a process did not end well')]);
      expect(found({ ...exited, unhandled: ['Error: x'] })).toEqual([titled('a process did not end well')]);
      expect(found({ ...exited, open: ['0.1#7'] })).toEqual([titled('a call was never answered')]);
    });

    it('a caller that did not get the lock after all faults had ended', () => {
      const final = { event: 'final', flow: '0.1/0', name: 'seat', outcome: 'granted' } as const;
      expect(found(final)).toEqual([]);
      expect(found({ ...final, outcome: 'LOCK_WAIT_TIMEOUT' })).toEqual([titled('a caller starved')]);
    });

    it('keys and connections that stayed', () => {
      const left = { event: 'left', keys: [], connections: 0 } as const;
      expect(found(left)).toEqual([]);
      expect(found({ ...left, keys: ['lock:1:{x}'] })).toEqual([titled('something was left in Redis')]);
      expect(found({ ...left, connections: 1 })).toEqual([titled('something was left in Redis')]);
    });
  });
});
