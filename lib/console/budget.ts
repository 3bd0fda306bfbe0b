/** What one person may ask for within a second, and all together: a look at a lock costs 1, and Redis some 50 µs. */
const perPerson = 20;
const together = 200;
const second = 1_000;

/** A person is the connection of a browser: who opens many of them shares what all may ask for. */
export type Person = object;

interface Spent {
  since: number;
  spent: number;
}

/** How much of Redis' time people take by looking. */
export class Budget {
  private readonly people = new WeakMap<Person, Spent>();
  private readonly all: Spent = { since: Number.NEGATIVE_INFINITY, spent: 0 };

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** False when the person, or all together, have spent what they may. Then nothing is spent. */
  take(person: Person | undefined, cost: number): boolean {
    const own = this.renewed(this.spentBy(person));
    const all = this.renewed(this.all);
    if (own.spent + cost > (own === all ? together : perPerson) || all.spent + cost > together) return false;
    own.spent += cost;
    if (own !== all) all.spent += cost;
    return true;
  }

  private spentBy(person: Person | undefined): Spent {
    if (!person) return this.all;
    let spent = this.people.get(person);
    if (!spent) this.people.set(person, (spent = { since: Number.NEGATIVE_INFINITY, spent: 0 }));
    return spent;
  }

  private renewed(spent: Spent): Spent {
    const now = this.now();
    if (now - spent.since >= second) Object.assign(spent, { since: now, spent: 0 });
    return spent;
  }
}
