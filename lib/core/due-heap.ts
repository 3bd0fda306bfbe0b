/** A member of a heap. The heap keeps its index in the member itself. */
export interface DueMember {
  /** When it is due, by the clock that all members share. The member's owner calls `moved` when it becomes earlier. */
  readonly dueAt: number;
  heapIndex: number;
}

/**
 * Members by the time at which they are due, the earliest first. A binary heap: a thousand members that each change their time cost ten
 * comparisons each, not a thousand.
 */
export class DueHeap<T extends DueMember> {
  private readonly members: T[] = [];
  /** The time of each entry: the member's `dueAt` at the last `add` or `moved`. */
  private readonly times: number[] = [];

  get first(): T | undefined {
    return this.members[0];
  }

  /** The time of the first entry. Its member may be due later by now. */
  get firstTime(): number {
    return this.times[0] ?? Number.POSITIVE_INFINITY;
  }

  get size(): number {
    return this.members.length;
  }

  has(member: T): boolean {
    return this.members[member.heapIndex] === member;
  }

  add(member: T): void {
    this.rise(member, member.dueAt, this.members.length);
  }

  /** @returns false when it was not in this heap. */
  remove(member: T): boolean {
    if (!this.has(member)) return false;
    const last = this.members.pop()!;
    const time = this.times.pop()!;
    if (last !== member) this.put(last, time, member.heapIndex);
    member.heapIndex = -1;
    return true;
  }

  /** The member's `dueAt` has changed. */
  moved(member: T): void {
    this.put(member, member.dueAt, member.heapIndex);
  }

  /** A copy of the members, in no order: members may be added and removed during the iteration. */
  [Symbol.iterator](): IterableIterator<T> {
    return [...this.members].values();
  }

  private put(member: T, time: number, index: number): void {
    if (index > 0 && this.times[(index - 1) >> 1]! > time) this.rise(member, time, index);
    else this.sink(member, time, index);
  }

  private rise(member: T, time: number, from: number): void {
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      if (this.times[above]! <= time) break;
      this.set(index, this.members[above]!, this.times[above]!);
      index = above;
    }
    this.set(index, member, time);
  }

  private sink(member: T, time: number, from: number): void {
    const { times } = this;
    let index = from;
    for (;;) {
      let below = 2 * index + 1;
      if (below + 1 < times.length && times[below + 1]! < times[below]!) below++;
      if (below >= times.length || times[below]! >= time) break;
      this.set(index, this.members[below]!, times[below]!);
      index = below;
    }
    this.set(index, member, time);
  }

  private set(index: number, member: T, time: number): void {
    this.members[index] = member;
    this.times[index] = time;
    member.heapIndex = index;
  }
}
