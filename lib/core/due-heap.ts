/** Who can stand in a heap: the heap keeps its place in the member itself. */
export interface DueMember {
  /** When it is due, by the clock that all members share. Whoever makes it earlier tells the heap (`moved`). */
  readonly dueAt: number;
  place: number;
}

/**
 * Members by the time at which they are due: whoever is first due is first. A binary heap: a thousand members that each change their time
 * cost ten comparisons each, where a look at all of them would cost a thousand.
 */
export class DueHeap<T extends DueMember> {
  private readonly members: T[] = [];
  /** What each of them stands there for: its `dueAt` when the heap was told last. */
  private readonly times: number[] = [];

  get first(): T | undefined {
    return this.members[0];
  }

  /** The time for which the first one stands there. It may be due later by now. */
  get firstTime(): number {
    return this.times[0] ?? Number.POSITIVE_INFINITY;
  }

  get size(): number {
    return this.members.length;
  }

  has(member: T): boolean {
    return this.members[member.place] === member;
  }

  add(member: T): void {
    this.rise(member, member.dueAt, this.members.length);
  }

  /** Answers whether it stood in this heap. */
  remove(member: T): boolean {
    if (!this.has(member)) return false;
    const last = this.members.pop()!;
    const time = this.times.pop()!;
    if (last !== member) this.put(last, time, member.place);
    member.place = -1;
    return true;
  }

  /** The member's `dueAt` is another one. */
  moved(member: T): void {
    this.put(member, member.dueAt, member.place);
  }

  /** Whoever stands in it at this moment, in no order: anybody may leave or come meanwhile. */
  [Symbol.iterator](): IterableIterator<T> {
    return [...this.members].values();
  }

  private put(member: T, time: number, place: number): void {
    if (place > 0 && this.times[(place - 1) >> 1]! > time) this.rise(member, time, place);
    else this.sink(member, time, place);
  }

  private rise(member: T, time: number, from: number): void {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (this.times[above]! <= time) break;
      this.set(place, this.members[above]!, this.times[above]!);
      place = above;
    }
    this.set(place, member, time);
  }

  private sink(member: T, time: number, from: number): void {
    const { times } = this;
    let place = from;
    for (;;) {
      let below = 2 * place + 1;
      if (below + 1 < times.length && times[below + 1]! < times[below]!) below++;
      if (below >= times.length || times[below]! >= time) break;
      this.set(place, this.members[below]!, times[below]!);
      place = below;
    }
    this.set(place, member, time);
  }

  private set(place: number, member: T, time: number): void {
    this.members[place] = member;
    this.times[place] = time;
    member.place = place;
  }
}
