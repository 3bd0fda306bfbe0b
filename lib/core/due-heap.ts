/** Who can stand in a heap: the heap keeps its place, and the time it stands there for, in the member itself. */
export interface DueMember {
  /** When it is due, by the clock that all members share. Whoever changes it tells the heap (`moved`); later alone may be told later. */
  readonly dueAt: number;
  place: number;
  placedFor: number;
}

/**
 * Members by the time at which they are due: whoever is first due is first. A binary heap: a thousand members that each change their time
 * cost ten comparisons each, where a look at all of them would cost a thousand.
 */
export class DueHeap<T extends DueMember> {
  private readonly members: T[] = [];

  get first(): T | undefined {
    return this.members[0];
  }

  get size(): number {
    return this.members.length;
  }

  has(member: T): boolean {
    return this.members[member.place] === member;
  }

  add(member: T): void {
    member.placedFor = member.dueAt;
    this.rise(member, this.members.length);
  }

  /** Answers whether it stood in this heap. */
  remove(member: T): boolean {
    if (!this.has(member)) return false;
    const last = this.members.pop()!;
    if (last !== member) this.put(last, member.place);
    member.place = -1;
    return true;
  }

  /** The member's `dueAt` is another one. */
  moved(member: T): void {
    member.placedFor = member.dueAt;
    this.put(member, member.place);
  }

  /** Whoever stands in it at this moment, in no order: anybody may leave or come meanwhile. */
  [Symbol.iterator](): IterableIterator<T> {
    return [...this.members].values();
  }

  private put(member: T, place: number): void {
    if (place > 0 && this.members[(place - 1) >> 1]!.placedFor > member.placedFor) this.rise(member, place);
    else this.sink(member, place);
  }

  private rise(member: T, from: number): void {
    const { members } = this;
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const other = members[above]!;
      if (other.placedFor <= member.placedFor) break;
      members[place] = other;
      other.place = place;
      place = above;
    }
    members[place] = member;
    member.place = place;
  }

  private sink(member: T, from: number): void {
    const { members } = this;
    const { length } = members;
    let place = from;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= length) break;
      if (below + 1 < length && members[below + 1]!.placedFor < members[below]!.placedFor) below++;
      const other = members[below]!;
      if (other.placedFor >= member.placedFor) break;
      members[place] = other;
      other.place = place;
      place = below;
    }
    members[place] = member;
    member.place = place;
  }
}
