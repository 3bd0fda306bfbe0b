/** What a process does under locks: it reads the row of each name, works, and writes the row. */
export interface Job {
  readonly keys: readonly string[];
  /** True: one lock inside the other, in this order. Else all names in one call. */
  readonly nested?: boolean;
  /** Milliseconds of work inside. */
  readonly work: number;
  /** Milliseconds in the queue, at most. */
  readonly wait: number;
  /** A reader, or one of so many permits: it writes nothing. */
  readonly kind?: 'shared' | { readonly limit: number };
}

/** What a reader of the page does, or a scene for him. */
export type Action =
  | { readonly do: 'start'; readonly who: string; readonly job?: string }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'stop' | 'continue' | 'kill'; readonly who: string }
  | { readonly do: 'lose-message' | 'redis-away' | 'redis-back' }
  | { readonly do: 'delete' | 'force'; readonly key: string }
  | { readonly do: 'clock'; readonly ms: number };

/** Where the row checks tokens: nowhere, when it is written, or before it is read as well (docs/guide.md#fencing-tokens-in-sql). */
export type Fencing = 'off' | 'at the write' | 'before the read';

export interface Settings {
  /** Milliseconds. */
  readonly lease: number;
  readonly renew: boolean;
  readonly fencing: Fencing;
}

export interface Step {
  /** One sentence: what happens, and what to look at. */
  readonly says: string;
  readonly actions: readonly Action[];
}

/** How a scene ends. Its test compares this with what happened. */
export interface Ending {
  /** By process: how its jobs ended. */
  readonly outcomes: Readonly<Record<string, readonly string[]>>;
  /** By name: the row's value, and its refused and lost writes. */
  readonly rows: Readonly<Record<string, readonly [value: number, refused: number, lost: number]>>;
}

export interface Scene {
  readonly title: string;
  /** Two sentences at most. */
  readonly about: string;
  readonly processes: readonly string[];
  readonly settings?: Partial<Settings>;
  /** By name. Each process has the job `default`, if no other is named. */
  readonly jobs: Readonly<Record<string, Job>>;
  readonly steps: readonly Step[];
  readonly ends: Ending;
}

export const usual: Settings = { lease: 30_000, renew: true, fencing: 'before the read' };
