import type { LockSubject } from '../diagnostics/channels.js';
import { attempt } from './listen.js';

export type LockAttributes = Readonly<Record<string, string>>;

/** How locks are labelled. */
export interface LockLabelOptions {
  /**
   * Makes the name of a lock in metrics and traces. After 200 names in a process, further ones are `other` in metrics.
   * @default the template of the decorator; for other calls the key with `*` in place of its values
   */
  name?: ((key: string, lock: LockSubject) => string) | undefined;
  /**
   * Adds the attribute `redis_lock.blocked_by`, the class and method that held the lock, to wait times and contentions.
   * @default false
   */
  blockedBy?: boolean | undefined;
}

/** A collector has a limit of its own (2,000 combinations), and drops all attributes of what exceeds it. */
const mostNames = 200;

/** Lets the first values of a label through. The later ones share one. */
class LabelCap {
  private readonly known = new Set<string>();

  of(value: string): string {
    if (this.known.has(value)) return value;
    if (this.known.size >= mostNames) return 'other';
    this.known.add(value);
    return value;
  }
}

/** The name of a lock, without a limit. */
export function lockNamer({ name: own }: LockLabelOptions): (lock: LockSubject) => string {
  return own ? (lock) => attempt(() => own(lock.key, lock)) ?? lock.name : ({ name }) => name;
}

/** The labels of measurements. */
export class LockLabels {
  private readonly names = new LabelCap();
  private readonly blockers = new LabelCap();
  private readonly nameOf: (lock: LockSubject) => string;

  constructor(private readonly options: LockLabelOptions) {
    this.nameOf = lockNamer(options);
  }

  of(lock: LockSubject): LockAttributes {
    return {
      'redis_lock.name': this.names.of(this.nameOf(lock)),
      'redis_lock.connection': lock.connection,
      'redis_lock.kind': lock.kind,
    };
  }

  /** @param method of the holder, if it is known */
  blockedBy(method: string | undefined): LockAttributes | undefined {
    if (!this.options.blockedBy || method === undefined) return undefined;
    return { 'redis_lock.blocked_by': this.blockers.of(method) };
  }
}
