import type { HotName, Listed } from './activity-record.js';

/** Milliseconds of one part of the history, and how many parts there are. */
const part = 60_000;
const parts = 5;
/** Names in one part. Further ones share one: names that are not made from a template may have any number of values. */
const mostNames = 100;
const others = 'other';

interface Heat {
  waited: number;
  most: number;
}

/** For which names callers waited in the last minutes: samples of the present, added up. */
export class HotNames {
  private readonly history: Array<{ readonly since: number; readonly names: Map<string, Heat> }> = [];

  get isEmpty(): boolean {
    return this.history.length === 0;
  }

  /** @param callers that wait now, by name; @param lasted ms since the last sample */
  add(now: number, callers: ReadonlyMap<string, number>, lasted: number): void {
    this.forget(now);
    if (callers.size === 0) return;
    let names = this.history.at(-1)?.names;
    if (!names || now - this.history.at(-1)!.since >= part) {
      names = new Map();
      this.history.push({ since: now, names });
    }
    for (const [name, count] of callers) {
      const heat = heatOf(names, names.has(name) || names.size < mostNames ? name : others);
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

function heatOf(names: Map<string, Heat>, name: string): Heat {
  let heat = names.get(name);
  if (!heat) names.set(name, (heat = { waited: 0, most: 0 }));
  return heat;
}
