import type { DataSource } from 'typeorm';
import { type Answer, buy } from '../demo/crowd.js';
import { books, putOnSale } from '../demo/run-sales.js';
import type { Books } from '../demo/sale-result.js';
import type { Guard } from '../src/settings.js';
import type { Happening } from './happenings.js';
import type { Lane } from './lane.js';

/** An answer, and when it came: seconds since the sale was opened. */
type DatedAnswer = Answer & { readonly second: number };

/** The sale of one guise: its processes, its buyers, and what the database says. */
export class Sale {
  readonly lanes: Lane[] = [];
  answers: DatedAnswer[] = [];
  books: Books | undefined;
  eventId = '';
  private openedAt = 0;
  private turn = 0;
  private run = new AbortController();

  constructor(
    readonly guard: Guard,
    readonly tickets: number,
    private readonly onHappening: (happening: Happening) => void,
  ) {}

  get serving(): Lane[] {
    return this.lanes.filter(({ state }) => state === 'serving');
  }

  /** Buyers that pay now: they have read the stock, and not written it. */
  get inside(): number {
    return this.visitors.filter(({ isPaying }) => isPaying).length;
  }

  get visitors() {
    return this.lanes.flatMap(({ visitors }) => [...visitors.values()]);
  }

  /** Orders beyond the tickets that the stock counts as sold. */
  get soldTwice(): number {
    return this.books ? Math.max(0, this.books.orders - (this.tickets - this.books.left)) : 0;
  }

  /** Tickets are left, and buyers can come. */
  get isOn(): boolean {
    return this.books !== undefined && this.books.left > 0;
  }

  /** Seconds since it was opened. */
  get age(): number {
    return (performance.now() - this.openedAt) / 1000;
  }

  /** With a full stock and no orders. The buyers of the last sale go home. */
  async open(number: number): Promise<void> {
    this.close();
    this.run = new AbortController();
    // A name of its own: purchases of the last sale may still be under way.
    const eventId = `web-${this.guard}-${process.pid}-${number}`;
    const [lane] = this.serving;
    if (!lane) return;
    await putOnSale(`${lane.url}/events/${eventId}`, this.tickets, this.run.signal);
    this.eventId = eventId;
    this.openedAt = performance.now();
    this.books = { left: this.tickets, orders: 0 };
  }

  close(): void {
    this.run.abort();
    for (const lane of this.lanes) {
      lane.visitors.clear();
      lane.marks = [];
    }
    this.answers = [];
    this.books = undefined;
  }

  /** A buyer goes to a process: to the next one in turn, as behind a load balancer that knows which of them are gone. */
  async comes(buyer: string, lane = this.nextLane()): Promise<void> {
    if (this.books === undefined) return;
    if (!lane) return void this.answers.push({ outcome: 'error', ms: 0, second: Math.floor(this.age) });
    const { signal } = this.run;
    lane.visitors.set(buyer, { name: buyer, cameAt: Date.now(), step: 'came', isPaying: false });
    try {
      const answer = await buy(`${lane.url}/events/${this.eventId}/tickets`, buyer, signal);
      this.answers.push({ ...answer, second: Math.floor(this.age) });
      lane.visitors.delete(buyer);
      this.onHappening({ type: 'answered', lane, buyer, status: answer.status, at: Date.now() });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** From the database itself, not from the application that we want to catch. */
  async look(database: DataSource): Promise<void> {
    const { eventId } = this;
    if (!this.books) return;
    const found = await books(database, eventId);
    if (eventId === this.eventId) this.books = found;
  }

  private nextLane(): Lane | undefined {
    const open = this.lanes.filter(({ state }) => state === 'serving' || state === 'stopped');
    return open[this.turn++ % open.length];
  }
}
