/** What is done inside the lock. Returns undefined if there is nothing to wait for. */
export type Work = () => Promise<void> | undefined;

/** One library, connected. Every scenario uses it through this and nothing else. */
export interface Lockable {
  /** Takes the lock of `key` as the library's users do, runs the work, releases the lock. Rejects when the lock was not granted. */
  run(key: string, work: Work): Promise<void>;
  /** Holds the lock of `key`, renewed by the library, until the answered function is called. */
  hold?(key: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Milliseconds. */
  readonly lease: number;
}

export type DriverKind =
  /** The library of this repository. */
  | 'ours'
  /** Written by hand: the least that locks at all. */
  | 'floor'
  | 'peer'
  /** In the process, no Redis: how fast a hot name can be. */
  | 'reference'
  /** Does not lock: the scenarios must notice. */
  | 'broken';

export interface Driver {
  readonly name: string;
  /** `import.meta.url` of the file that exports it: a client process loads this library and no other. */
  readonly home: string;
  readonly kind: DriverKind;
  /** How it is set, for the reader of the tables. */
  readonly settings: string;
  /** Differs from the plain one of the same library only if a caller has to wait. */
  readonly contendedOnly?: true;
  /** Has the same settings as another one if a caller has to wait, and is left out there. */
  readonly uncontendedOnly?: true;
  /** Whether `hold` is there. */
  readonly renews?: true;
  open(url: string, options: OpenOptions): Promise<Lockable>;
}

export async function inside(work: Work): Promise<void> {
  const pending = work();
  if (pending) await pending;
}
