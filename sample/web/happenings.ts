import type { Lane } from './lane.js';

/** What happened to a buyer, as the processes, the payment provider and the responses tell it. */
export interface Happening {
  readonly type: 'waits' | 'granted' | 'lost' | 'ended' | 'pays' | 'answered';
  readonly lane: Lane;
  readonly buyer: string;
  readonly token?: number;
  /** Of a response; undefined when there was none. */
  readonly status?: number | undefined;
  /** On the clock of this machine, in ms. */
  readonly at: number;
}

type Types = Happening['type'] | ReadonlyArray<Happening['type']>;
type Test = (happening: Happening) => boolean;

/** Keeps what happens from now on, until it is disposed. */
export class Watch implements Disposable {
  private readonly seen: Happening[] = [];
  private readonly waiting = new Set<(happening: Happening) => void>();

  constructor(private readonly end: (watch: Watch) => void) {}

  see(happening: Happening): void {
    this.seen.push(happening);
    for (const look of this.waiting) look(happening);
  }

  all(types: Types, test: Test = () => true): Happening[] {
    return this.seen.filter((happening) => [types].flat().includes(happening.type) && test(happening));
  }

  /** The first one of its kind since the watch began. Undefined when there is none within `ms` from now. */
  until(types: Types, test: Test, ms: number): Promise<Happening | undefined> {
    const [known] = this.all(types, test);
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => {
      const settle = (happening?: Happening): void => {
        clearTimeout(timer);
        this.waiting.delete(look);
        resolve(happening);
      };
      const look = (happening: Happening): void => {
        if ([types].flat().includes(happening.type) && test(happening)) settle(happening);
      };
      // No reason to stay when everything else has ended.
      const timer = setTimeout(settle, ms).unref();
      this.waiting.add(look);
    });
  }

  [Symbol.dispose](): void {
    this.end(this);
  }
}

export class Happenings {
  private readonly watches = new Set<Watch>();

  tell(happening: Happening): void {
    for (const watch of this.watches) watch.see(happening);
  }

  watch(): Watch {
    const watch = new Watch((ended) => this.watches.delete(ended));
    this.watches.add(watch);
    return watch;
  }
}
