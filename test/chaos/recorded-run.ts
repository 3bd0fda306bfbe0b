import type { Happening, Mode, Started, Touched, Wiped } from './history.js';

/** How far (µs) tokens may be ahead of the server's clock: the grants of one command. Who was granted a lock this shortly after a wipe counts as wiped too. */
const lead = 100;

/** A time in which a holder was certain to hold its lock: no other holder may have excluded it. */
export interface Interval {
  readonly hold: string;
  readonly name: string;
  readonly mode: Mode;
  readonly from: number;
  readonly to: number;
}

/** A history, sorted for the rules that check it. */
export class RecordedRun {
  readonly starts: readonly Started[];
  /** By lock name, in the order in which the resources saw them. */
  readonly touches: ReadonlyMap<string, readonly Touched[]>;
  readonly #wipes: readonly Wiped[];

  constructor(readonly history: readonly Happening[]) {
    this.starts = this.of('started');
    this.touches = byName(this.of('touched'));
    this.#wipes = this.of('wiped');
  }

  of<E extends Happening['event']>(event: E): Array<Extract<Happening, { event: E }>> {
    return this.history.filter((one): one is Extract<Happening, { event: E }> => one.event === event);
  }

  /** When Redis forgot this grant, at the earliest. The holder does not learn it at once, and another one may hold the lock from then on. */
  forgottenAt({ name, token }: Pick<Started, 'name' | 'token'>): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const wipe of this.#wipes) {
      if ((wipe.name ?? name) === name && token <= wipe.serverTime + lead) earliest = Math.min(earliest, wipe.from);
    }
    return earliest;
  }

  /** Whether the holder was certain to hold the lock when the resources saw it. Else only the token can help. */
  certain(touch: Touched): boolean {
    return touch.at <= touch.until && touch.at < this.forgottenAt(touch);
  }

  /** From when until when each holder is known to have been certain. */
  intervals(): Interval[] {
    const known = new Map<string, { from: number; to: number }>();
    const certainAt = (hold: string, at: number): void => {
      const { from = at, to = at } = known.get(hold) ?? {};
      known.set(hold, { from: Math.min(from, at), to: Math.max(to, at) });
    };
    for (const touch of [...this.touches.values()].flat()) {
      if (touch.until === 0 || touch.sent >= this.forgottenAt(touch)) continue;
      certainAt(touch.hold, touch.sent);
      if (this.certain(touch)) certainAt(touch.hold, touch.at);
    }
    const started = new Map(this.starts.map((start) => [start.hold, start]));
    for (const { hold, heldAt } of this.of('ended')) {
      const start = started.get(hold);
      if (start && heldAt > 0 && heldAt < this.forgottenAt(start)) certainAt(hold, heldAt);
    }
    return [...known].flatMap(([hold, { from, to }]) => {
      const start = started.get(hold);
      return start ? [{ hold, name: start.name, mode: start.mode, from, to }] : [];
    });
  }
}

export function byName<T extends { readonly name: string }>(list: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) {
    const group = groups.get(one.name);
    if (group) group.push(one);
    else groups.set(one.name, [one]);
  }
  return groups;
}
