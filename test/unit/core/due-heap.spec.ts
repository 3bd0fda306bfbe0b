import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DueHeap, type DueMember } from '../../../lib/core/due-heap.js';

class Member implements DueMember {
  heapIndex = -1;
  constructor(public dueAt: number) {}
}

describe('a heap of due times', () => {
  it('has the earliest member first after members are added, removed, or changed', () => {
    const step = fc.record({
      what: fc.constantFrom('come', 'come', 'leave', 'move'),
      who: fc.nat(40),
      dueAt: fc.nat(20),
    });
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
        // All that are left, in the order of their times.
        const due: number[] = [];
        for (let next = heap.first; next; next = heap.first) {
          due.push(next.dueAt);
          heap.remove(next);
        }
        expect(due).toEqual(due.toSorted((a, b) => a - b));
      }),
    );
  });

  it('can be iterated while its members leave', () => {
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
