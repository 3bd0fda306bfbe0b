/** Who can stand in a line: the line keeps its places in the members themselves. */
export interface LineMember<T> {
  before: T | undefined;
  behind: T | undefined;
}

/**
 * Members in order of arrival, each of which can leave from anywhere at no cost. Nothing is allocated for a place: tens of
 * thousands of locks have a line of their own, and most never hold more than one caller.
 */
export class Line<T extends LineMember<T>> {
  first: T | undefined;
  last: T | undefined;
  size = 0;

  push(member: T): void {
    member.before = this.last;
    if (this.last) this.last.behind = member;
    else this.first = member;
    this.last = member;
    this.size++;
  }

  has(member: T): boolean {
    return member === this.first || member.before !== undefined;
  }

  /** Answers whether it stood in this line. */
  remove(member: T): boolean {
    if (!this.has(member)) return false;
    const { before, behind } = member;
    if (before) before.behind = behind;
    else this.first = behind;
    if (behind) behind.before = before;
    else this.last = before;
    member.before = member.behind = undefined;
    this.size--;
    return true;
  }

  /** Whoever stands in it at this moment, from the first to the last: anybody may leave or come meanwhile. */
  [Symbol.iterator](): IterableIterator<T> {
    const members: T[] = [];
    for (let member = this.first; member; member = member.behind) members.push(member);
    return members.values();
  }
}
