export const ascending = (values: Iterable<number>): number[] => [...values].toSorted((a, b) => a - b);

/** @param share 0.5 for the median, 0.99 for the 99th percentile */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

export function median(values: Iterable<number>): number {
  const sorted = ascending(values);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

/** Jain's index: 1 when all got the same, 1/n when one got everything. */
export function fairness(values: readonly number[]): number {
  const squares = sum(values.map((value) => value * value));
  return squares === 0 ? Number.NaN : sum(values) ** 2 / (values.length * squares);
}
