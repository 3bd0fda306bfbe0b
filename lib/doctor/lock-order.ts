import type { LockPlace } from '../core/lock-place.js';

/** A lock that was asked for. */
export interface LockAsk {
  /** What it has in common with others: the connection, and the name without its values, `default/product:*`. */
  readonly kind: string;
  readonly name: string;
  /** Where in the code, for messages. */
  readonly place: LockPlace;
}

/** Somebody held `outer` and asked for `inner`. */
export interface LockStep {
  readonly outer: LockAsk;
  readonly inner: LockAsk;
}

/** Names that are taken by hand may be of any number of kinds; an application's own are a few dozen. */
const mostSteps = 1000;

/**
 * The order in which kinds of locks were seen inside each other, over all flows of an application. Two kinds that were seen both ways
 * round, or more in a circle, can deadlock: whether two flows ever meet that way or not.
 */
export class LockOrder {
  /** From an outer kind to the inner ones that were seen in it, each where it was seen first. */
  private readonly steps = new Map<string, Map<string, LockStep>>();
  private size = 0;

  /** @returns the shortest circle that this step closes, beginning with it; undefined also when it was seen before. */
  add(step: LockStep): LockStep[] | undefined {
    const [from, to] = endsOf(step);
    const inner = this.steps.get(from) ?? new Map<string, LockStep>();
    if (inner.has(to) || this.size >= mostSteps) return undefined;
    this.size++;
    this.steps.set(from, inner.set(to, step));
    const back = this.path(to, from);
    return back && [step, ...back];
  }

  /** Breadth first, so the shortest. */
  private path(from: string, to: string): LockStep[] | undefined {
    const ways = new Map<string, LockStep[]>([[from, []]]);
    for (const [kind, way] of ways) {
      for (const [next, step] of this.steps.get(kind) ?? []) {
        if (next === to) return [...way, step];
        // Entries that are added here are visited later in this loop.
        if (!ways.has(next)) ways.set(next, [...way, step]);
      }
    }
    return undefined;
  }
}

/** Of two locks of one kind (two accounts) the names decide which is which: taking the smaller first is an order, too. */
function endsOf({ outer, inner }: LockStep): [from: string, to: string] {
  if (outer.kind !== inner.kind) return [outer.kind, inner.kind];
  const [smaller, larger] = [`${outer.kind} smaller`, `${outer.kind} larger`];
  return outer.name < inner.name ? [smaller, larger] : [larger, smaller];
}
