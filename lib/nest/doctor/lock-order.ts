/** A lock that was requested. */
export interface NestedLock {
  /** The connection and the name without its values: `default/product:*`. */
  readonly kind: string;
  readonly name: string;
  /** Of the decorator that made the name. */
  readonly template: string | undefined;
  /** Where in the code, for messages. Read when it is needed: it may format a stack. */
  readonly site: { readonly where: string };
}

/** A flow that held `outer` requested `inner`. */
export interface LockStep {
  readonly outer: NestedLock;
  readonly inner: NestedLock;
}

/** An application has a few dozen kinds. Names that are not made from templates can be of any number of kinds. */
const mostSteps = 1000;

/**
 * The order in which kinds of locks were nested, over all flows of an application. Two kinds that were nested both ways round, or more
 * kinds in a circle, can deadlock, even if no two flows have met that way yet.
 */
export class LockOrder {
  /** From an outer kind to the kinds that were nested in it, each with the step that was seen first. */
  private readonly steps = new Map<string, Map<string, LockStep>>();
  private size = 0;

  /** @returns the shortest circle that this step closes, beginning with it. Undefined when there is none, or when the step was seen before. */
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

/** Two locks of one kind (two accounts) are ordered by their names: taking the smaller first is an order, too. */
function endsOf({ outer, inner }: LockStep): [from: string, to: string] {
  if (outer.kind !== inner.kind) return [outer.kind, inner.kind];
  const [smaller, larger] = [`${outer.kind} smaller`, `${outer.kind} larger`];
  return outer.name < inner.name ? [smaller, larger] : [larger, smaller];
}
