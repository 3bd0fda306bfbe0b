import type { LockSubject } from '../../diagnostics/channels.js';
import { attempt } from './listen.js';

export type LockAttributes = Readonly<Record<string, string>>;

/** How locks are labelled. */
export interface LockLabelOptions {
  /**
   * Makes the name of a lock in metrics and traces. After 200 names in a process, further ones are `other` in metrics.
   * @default the template of the decorator, or the text of `lockName` with `*` in place of its values; `*` for any other text
   */
  name?: ((key: string, lock: LockSubject) => string) | undefined;
  /**
   * Adds the attribute `redis_lock.blocked_by`, the class and method that held the lock, to wait times and contentions.
   * @default false
   */
  blockedBy?: boolean | undefined;
}

/** A collector has a limit of its own (2,000 combinations), and drops all attributes of what exceeds it. */
const mostValues = 200;

/** Lets the first values of a label through. The later ones share one. */
class LabelCap {
  private readonly known = new Set<string>();

  of(value: string): string {
    if (this.known.has(value)) return value;
    if (this.known.size >= mostValues) return 'other';
    this.known.add(value);
    return value;
  }
}

/** The name of a lock, without a limit. */
export function lockNamer({ name: own }: LockLabelOptions): (lock: LockSubject) => string {
  return own ? (lock) => attempt(() => own(lock.key, lock)) ?? lock.template : ({ template }) => template;
}

/** The labels of a measurement. One object for equal labels: a measurement allocates none. */
export class LabelSet {
  private readonly wider = new Map<string, Map<string, LabelSet>>();

  constructor(readonly attributes: LockAttributes = {}) {}

  /** These labels and one more. */
  with(name: string, value: string): LabelSet {
    let byValue = this.wider.get(name);
    if (!byValue) this.wider.set(name, (byValue = new Map()));
    let found = byValue.get(value);
    if (!found) byValue.set(value, (found = new LabelSet({ ...this.attributes, [name]: value })));
    return found;
  }
}

/** The labels of all measurements. */
export class LockLabels {
  private readonly all = new LabelSet();
  private readonly names = new LabelCap();
  private readonly blockers = new LabelCap();
  private readonly errors = new LabelCap();
  private readonly nameOf: (lock: LockSubject) => string;

  constructor(private readonly options: LockLabelOptions) {
    this.nameOf = lockNamer(options);
  }

  of(lock: LockSubject): LabelSet {
    return this.all
      .with('redis_lock.name', this.names.of(this.nameOf(lock)))
      .with('redis_lock.connection', lock.connection)
      .with('redis_lock.kind', lock.kind);
  }

  /** @param method of the holder, if it is known */
  blockedBy(lock: LabelSet, method: string | undefined): LabelSet {
    if (!this.options.blockedBy || method === undefined) return lock;
    return lock.with('redis_lock.blocked_by', this.blockers.of(method));
  }

  failedWith(lock: LabelSet, error: unknown): LabelSet {
    return lock.with('error.type', this.errors.of(errorTypeOf(error)));
  }
}

/** The code of a lock error; of another one, such as the reason of the caller's signal, the name. */
export function errorTypeOf(error: unknown): string {
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  if (typeof code === 'string' && code.startsWith('LOCK_')) return code;
  return typeof name === 'string' && className.test(name) ? name : '_OTHER';
}

/** Errors are named by their class. A name that is made with values is none. */
const className = /^[\p{ID_Start}$_][\p{ID_Continue}$]{0,99}$/u;
