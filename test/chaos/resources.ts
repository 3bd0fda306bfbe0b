import type { Touched } from './history.js';

/** What a process sends; the resource adds the rest. */
export type Touch = Omit<Touched, 'event' | 'at' | 'accepted'>;

/**
 * Two resources for each lock name: a guarded one that refuses tokens smaller than one it has seen, and an open one that accepts
 * everything. Only the order of their reads and writes matters, not their content.
 */
export class Resources {
  /** The largest token of a writer, by name. */
  readonly #fences = new Map<string, number>();

  touch(touch: Touch, at: number): Touched {
    const { name, mode, token } = touch;
    const fence = this.#fences.get(name) ?? 0;
    // Permits have no order. A reader excludes no other reader: an older one may have read at the same time.
    const accepted = typeof mode === 'object' || token >= fence;
    if (accepted && mode === 'exclusive') this.#fences.set(name, token);
    return { event: 'touched', ...touch, at, accepted };
  }
}
