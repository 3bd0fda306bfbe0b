/** A member of a list. The list keeps its links in the members themselves. */
export interface LinkedListMember<T> {
  before: T | undefined;
  after: T | undefined;
}

/**
 * Members in order of arrival; each can leave from any position at no cost. An entry allocates nothing: tens of thousands of locks have a
 * list of their own, and most never hold more than one caller.
 */
export class LinkedList<T extends LinkedListMember<T>> {
  first: T | undefined;
  last: T | undefined;
  size = 0;

  push(member: T): void {
    member.before = this.last;
    if (this.last) this.last.after = member;
    else this.first = member;
    this.last = member;
    this.size++;
  }

  has(member: T): boolean {
    return member === this.first || member.before !== undefined;
  }

  /** @returns false when it was not in this list. */
  remove(member: T): boolean {
    if (!this.has(member)) return false;
    const { before, after: behind } = member;
    if (before) before.after = behind;
    else this.first = behind;
    if (behind) behind.before = before;
    else this.last = before;
    member.before = member.after = undefined;
    this.size--;
    return true;
  }

  /** The present members, from the first to the last: members may leave or join during the iteration. */
  [Symbol.iterator](): IterableIterator<T> {
    const members: T[] = [];
    for (let member = this.first; member; member = member.after) members.push(member);
    return members.values();
  }
}
