import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DueHeap, type DueMember } from '../../../lib/core/due-heap.js';

class Member implements DueMember {
  place = -1;
  constructor(public dueAt: number) {}
}

describe('a heap of what is due', () => {
  it('has first who is due first, whoever comes, leaves, or changes their time', () => {
    const step = fc.record({ what: fc.constantFrom('come', 'leave', 'move'), who: fc.nat(40), dueAt: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const heap = new DueHeap<Member>();
        const known: Member[] = [];
        const inside = new Set<Member>();
        for (const { what, who, dueAt } of steps) {
          const member = known[who % known.length];
          if (what === 'come' || !member) {
            const newcomer = new Member(dueAt);
            known.push(newcomer);
            inside.add(newcomer);
            heap.add(newcomer);
          } else if (what === 'leave') {
            expect(heap.remove(member)).toBe(inside.delete(member));
          } else if (inside.has(member)) {
            member.dueAt = dueAt;
            heap.moved(member);
          }
          expect(heap.size).toBe(inside.size);
          expect(new Set(heap)).toEqual(inside);
          expect(heap.first?.dueAt).toBe(
            inside.size > 0 ? Math.min(...[...inside].map((one) => one.dueAt)) : undefined,
          );
          expect(heap.firstTime).toBe(heap.first?.dueAt ?? Number.POSITIVE_INFINITY);
          for (const one of known) expect(heap.has(one)).toBe(inside.has(one));
        }
      }),
    );
  });

  it('can be gone through while its members leave', () => {
    const heap = new DueHeap<Member>();
    for (const dueAt of [3, 1, 2]) heap.add(new Member(dueAt));
    const seen: number[] = [];
    for (const member of heap) {
      seen.push(member.dueAt);
      for (const other of heap) heap.remove(other);
    }
    expect(new Set(seen)).toEqual(new Set([1, 2, 3]));
    expect(heap.size).toBe(0);
  });
});
