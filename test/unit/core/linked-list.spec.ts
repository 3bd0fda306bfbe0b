import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LinkedList, type LinkedListMember } from '../../../lib/core/linked-list.js';

class Member implements LinkedListMember<Member> {
  before: Member | undefined;
  after: Member | undefined;
  constructor(readonly id: number) {}
}

describe('a linked list', () => {
  it('keeps the order of arrival, with members that leave from any position', () => {
    const step = fc.oneof(fc.constant('come' as const), fc.nat(9));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const line = new LinkedList<Member>();
        const known: Member[] = [];
        let expected: Member[] = [];
        for (const step of steps) {
          if (step === 'come') {
            const member = new Member(known.length);
            known.push(member);
            expected.push(member);
            line.push(member);
          } else if (known.length > 0) {
            const member = known[step % known.length]!;
            expect(line.remove(member)).toBe(expected.includes(member));
            expected = expected.filter((other) => other !== member);
          }
          expect([...line]).toEqual(expected);
          expect([line.first, line.last, line.size]).toEqual([expected[0], expected.at(-1), expected.length]);
          for (const member of known) expect(line.has(member)).toBe(expected.includes(member));
        }
      }),
    );
  });

  it('can be iterated while its members leave', () => {
    const line = new LinkedList<Member>();
    const members = [0, 1, 2, 3].map((id) => new Member(id));
    for (const member of members) line.push(member);
    const seen: number[] = [];
    for (const member of line) {
      seen.push(member.id);
      for (const other of members) line.remove(other);
    }
    expect(seen).toEqual([0, 1, 2, 3]);
    expect(line.size).toBe(0);
  });
});
