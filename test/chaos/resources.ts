import type { Touched } from './history.js';

/** What a process sends; the rest is the resource's to say. */
export type Touch = Omit<Touched, 'event' | 'at' | 'accepted'>;

/**
 * Two resources for each lock name: a guarded one that refuses tokens smaller than one it has seen, and an open one that takes whatever
 * comes. What they hold is of no interest, only in which order they were read and written.
 */
export class Resources {
  /** The largest token of a writer, by name. */
  readonly #fences = new Map<string, number>();

  touch(touch: Touch, at: number): Touched {
    const { name, mode, token } = touch;
    const fence = this.#fences.get(name) ?? 0;
    // Among permits there is no order to keep. A reader shuts out nobody: whoever is older than it may have read beside it.
    const accepted = typeof mode === 'object' || token >= fence;
    if (accepted && mode === 'exclusive') this.#fences.set(name, token);
    return { event: 'touched', ...touch, at, accepted };
  }
}
