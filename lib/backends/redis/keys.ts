/**
 * Every key and channel of this library, built here and nowhere else.
 * The layout's version stands in each: two versions side by side never misread each other.
 */
const layout = '1';

export interface KeySpace {
  /** record, queue, waiters of a lock name; one slot in a cluster. */
  forLock(name: string): readonly [record: string, queue: string, waiters: string];
  /** The lock name of a record key of this key space. */
  nameOf(record: string): string;
  /** The largest token issued on this server. */
  readonly register: string;
  /** Grants for a client are published on this prefix and its id. */
  readonly channels: string;
}

export function keySpace(prefix: string): KeySpace {
  const root = `${prefix}${layout}:`;
  return {
    forLock(name) {
      const record = `${root}{${name}}`;
      return [record, `${record}:queue`, `${record}:waiters`];
    },
    nameOf: (record) => record.slice(root.length + 1, -1),
    register: `${root}register`,
    channels: `${root}client:`,
  };
}
