/**
 * Every key and channel of this library, built here and nowhere else.
 * The layout's version stands in each: two versions side by side never misread each other.
 */
const layout = '1';

export interface KeySpace {
  /** record, queue, waiters of a lock name; one slot in a cluster. */
  forLock(name: string): readonly [record: string, queue: string, waiters: string];
  /** The same for the rehearsal of one client, on a name that no lock can have. */
  forRehearsal(clientId: string): readonly [record: string, queue: string, waiters: string];
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
      // '{}…' would be no hash tag: the three keys of a name that begins with '}' would go to different slots.
      const record = `${root}{${/^[:}]/.test(name) ? `:${name}` : name}}`;
      return [record, `${record}:queue`, `${record}:waiters`];
    },
    forRehearsal(clientId) {
      const record = `${root}rehearsal:{${clientId}}`;
      return [record, `${record}:queue`, `${record}:waiters`];
    },
    nameOf(record) {
      const name = record.slice(root.length + 1, -1);
      return name.startsWith(':') ? name.slice(1) : name;
    },
    register: `${root}register`,
    channels: `${root}client:`,
  };
}
