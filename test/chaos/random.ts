/** Numbers that a seed decides: the same seed, the same numbers, on every machine. */
export class Random {
  #state: number;

  constructor(seed: string) {
    // FNV-1a, so that 'seed:a' and 'seed:b' have nothing in common.
    let hash = 0x811c9dc5;
    for (let index = 0; index < seed.length; index++) hash = Math.imul(hash ^ seed.charCodeAt(index), 0x01000193);
    this.#state = hash;
  }

  /** From 0 to 1, 1 excluded (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)]!;
  }

  /** All of them, in another order. */
  shuffle<T>(list: readonly T[]): T[] {
    const left = [...list];
    return list.map(() => left.splice(this.between(0, left.length - 1), 1)[0]!);
  }

  /** One after another without end: each of them once before any of them comes again. */
  *deck<T>(list: readonly T[]): Generator<T, never> {
    for (;;) yield* this.shuffle(list);
  }
}
