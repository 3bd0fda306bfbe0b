/** Of how many nodes a lock must be held: any two majorities share a node. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/** What at least `count` of the values reach: the `count`-th largest. */
export function reachedBy(values: readonly number[], count: number): number {
  return [...values].sort((a, b) => b - a)[count - 1] ?? Number.NEGATIVE_INFINITY;
}

/** What a node's own bound of a lease leaves unused already (`certainUntil`), beside its 2 ms. */
export const nodeDrift = 0.001;

/**
 * The moment up to which a vote counts: its lease minus `driftFactor` of it and 2 ms, since the clocks of N servers and of this
 * process run at slightly different speeds.
 * @param validUntil the node's own bound, on this process's clock and counted from before the question was sent
 */
export function countsUntil(validUntil: number, lease: number, driftFactor: number): number {
  return validUntil - (driftFactor - nodeDrift) * lease;
}
