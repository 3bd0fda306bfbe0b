/** How often a property is tried: the same runs each time, so that `npm test` is; with RANDOM_RUNS=20000 as many, each time others. */
export function randomRuns(usual: number): { readonly numRuns: number; readonly seed: number } {
  const asked = process.env['RANDOM_RUNS'];
  return asked === undefined ? { numRuns: usual, seed: 1 } : { numRuns: Number(asked), seed: Date.now() % 2 ** 31 };
}
