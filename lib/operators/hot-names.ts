import type { HotName, Listed } from './activity-record.js';

/** Milliseconds of one part of the history, and how many parts there are. */
const part = 60_000;
const parts = 5;
/**
 * Names in one part, and those of them that begin alike, up to the last colon. Further ones share one: names that are not made from a template
 * may have any number of values, and must leave room for other kinds.
 */
const mostNames = 100;
const mostAlike = 20;
const others = 'other';

interface Heat {
  waited: number;
  most: number;
}

interface Part {
  readonly since: number;
  readonly names: Map<string, Heat>;
  /** How many of them begin so. */
  readonly alike: Map<string, number>;
}

/** For which names callers waited in the last minutes: samples of the present, added up. */
export class HotNames {
  private readonly history: Part[] = [];

  get isEmpty(): boolean {
    return this.history.length === 0;
  }

  /** @param callers that wait now, by name; @param lasted ms since the last sample */
  add(now: number, callers: ReadonlyMap<string, number>, lasted: number): void {
    this.forget(now);
    if (callers.size === 0) return;
    let last = this.history.at(-1);
    if (!last || now - last.since >= part)
      this.history.push((last = { since: now, names: new Map(), alike: new Map() }));
    const present = new Map<string, number>();
    for (const [name, count] of callers) {
      const place = placeOf(name, last);
      present.set(place, (present.get(place) ?? 0) + count);
    }
    for (const [place, count] of present) {
      const heat = heatOf(last.names, place);
      heat.waited += count * lasted;
      heat.most = Math.max(heat.most, count);
    }
  }

  /** The longest waits first. */
  listed(now: number): Listed<HotName> {
    this.forget(now);
    const sums = new Map<string, Heat>();
    for (const { names } of this.history) {
      for (const [name, { waited, most }] of names) {
        const sum = heatOf(sums, name);
        sum.waited += waited;
        sum.most = Math.max(sum.most, most);
      }
    }
    const first = [...sums].map(([name, { waited, most }]) => ({ name, waited: Math.round(waited), most }));
    return { first: first.sort((one, other) => other.waited - one.waited), more: 0 };
  }

  private forget(now: number): void {
    while (this.history[0] && now - this.history[0].since >= parts * part) this.history.shift();
  }
}

/** The entry of a name: its own, while there is room. */
function placeOf(name: string, { names, alike }: Part): string {
  if (names.has(name)) return name;
  const beginning = name.slice(0, name.lastIndexOf(':') + 1);
  const known = alike.get(beginning) ?? 0;
  const place = known < mostAlike ? name : beginning === '' ? others : `${beginning}*`;
  if (names.size >= mostNames && !names.has(place)) return others;
  alike.set(beginning, known + 1);
  heatOf(names, place);
  return place;
}

function heatOf(names: Map<string, Heat>, name: string): Heat {
  let heat = names.get(name);
  if (!heat) names.set(name, (heat = { waited: 0, most: 0 }));
  return heat;
}
