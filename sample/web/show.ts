import { setTimeout as delay } from 'node:timers/promises';
import { type LockInfo, lockName, type RedisLockService } from 'nestjs-redis-lock';
import type { DataSource } from 'typeorm';
import type { RedisServer } from '../../test/support/redis-process.mjs';
import { guards, type Guard } from '../src/settings.js';
import { type Happening, Happenings } from './happenings.js';
import { Lane } from './lane.js';
import { type Pace, paces } from './pace.js';
import { Payments } from './payments.js';
import type { Told } from './reporter.js';
import { Sale } from './sale.js';

/** How long a process that is gone keeps the lock, in ms. */
export const leaseMs = 3_000;
/** Milliseconds between two looks at the database and at the lock. */
const lookEvery = 150;

export interface ShowOptions {
  readonly processes: number;
  readonly buyers: number;
  readonly tickets: number;
  readonly pace: Pace;
  readonly redis: RedisServer;
  readonly locks: Pick<RedisLockService, 'inspect'>;
  readonly database: DataSource;
  /** For the processes. */
  readonly env: NodeJS.ProcessEnv;
  onChange(): void;
}

/** The three sales, side by side: the same buyers come to each of them. */
export class Show implements AsyncDisposable {
  readonly happenings = new Happenings();
  readonly sales: readonly Sale[];
  pace: Pace;
  payments!: Payments;
  /** Who holds the lock and who waits for it, of Redis. Undefined while it does not answer. */
  lock: LockInfo | undefined;
  /** Buyers that have come to each sale, and those that are on their way. */
  came = 0;
  toCome = 0;
  largestToken = 0;
  private runs = 0;
  private processes = 0;
  private names = 0;
  private readonly closing = new AbortController();
  private readonly running: Promise<unknown>[] = [];

  private constructor(readonly options: ShowOptions) {
    this.pace = options.pace;
    this.sales = guards.map((guard) => new Sale(guard, options.tickets, (happening) => this.tell(happening)));
  }

  /** The processes are not started yet. */
  static async create(options: ShowOptions): Promise<Show> {
    const show = new Show(options);
    show.payments = await Payments.start({
      duration: () => paces[show.pace].payment * (0.8 + 0.4 * Math.random()),
      onPayment: (lane, buyer) => show.paying(lane, buyer),
    });
    show.running.push(show.look(), show.sendBuyers());
    return show;
  }

  /** The one with our lock. */
  get locked(): Sale {
    return this.saleOf('lock');
  }

  saleOf(guard: Guard): Sale {
    return this.sales.find((sale) => sale.guard === guard)!;
  }

  laneOf(id: unknown): Lane | undefined {
    return this.sales.flatMap(({ lanes }) => lanes).find((lane) => lane.id === id);
  }

  get isOpen(): boolean {
    return this.locked.books !== undefined;
  }

  /** Buyers of the locked sale can come, and get an answer. */
  get isServed(): boolean {
    return this.isOpen && this.locked.serving.length > 0;
  }

  get isRedisAway(): boolean {
    return !this.options.redis.isRunning;
  }

  /** Processes of each sale that are not gone, also those that start. */
  get processCount(): number {
    return this.processes - this.locked.lanes.filter(({ state }) => state === 'gone').length;
  }

  /** One more process for each sale. */
  async addProcess(): Promise<void> {
    this.closing.signal.throwIfAborted();
    const { redis, env, onChange } = this.options;
    const number = ++this.processes;
    const starting = Promise.all(
      this.sales.map(async ({ guard, lanes }) => {
        const onTold = (of: Lane, told: Told): void => this.told(of, told);
        const lane = await Lane.create({ guard, number, redisPort: redis.port, onTold, onChange });
        lanes.push(lane);
        await lane.start({
          ...env,
          SALE_GUARD: guard,
          LEASE_MS: String(leaseMs),
          REPORT_MS: '3600000',
          PAYMENT_URL: this.payments.urlOf(lane.id),
        });
      }),
    );
    this.running.push(starting.catch(() => undefined));
    await starting;
  }

  async open(): Promise<void> {
    this.runs += 1;
    this.names = 0;
    this.came = 0;
    // The buyers come when all three are open.
    this.toCome = 0;
    this.lock = undefined;
    try {
      await Promise.all(this.sales.map((sale) => sale.open(this.runs)));
      this.toCome = this.options.buyers;
    } catch (error) {
      for (const sale of this.sales) sale.close();
      throw error;
    } finally {
      this.options.onChange();
    }
  }

  /** Of the names of the buyers of this sale. */
  private get prefix(): string {
    return `sale ${this.runs}, buyer `;
  }

  /** Of a buyer. No one else has it, in this sale or in another one. */
  private nextName(): string {
    this.names += 1;
    return `${this.prefix}${this.names}`;
  }

  /** Each of these processes of the locked sale has a buyer at least, so that it wants the lock. */
  seeTo(lanes: readonly Lane[]): void {
    for (const lane of lanes) if (lane.visitors.size === 0) this.sendBuyer(lane);
  }

  /** The same buyer comes to each sale. @param lane where it goes in the locked one; else the next in turn */
  private sendBuyer(lane?: Lane): void {
    const name = this.nextName();
    this.came += 1;
    for (const sale of this.sales) void sale.comes(name, sale === this.locked ? lane : undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closing.abort();
    for (const sale of this.sales) sale.close();
    await this.payments[Symbol.asyncDispose]();
    await Promise.all(this.running);
    await Promise.all(this.sales.flatMap(({ lanes }) => lanes.map((lane) => lane[Symbol.asyncDispose]())));
  }

  /** Undefined for a buyer of an earlier sale, who has gone home: there is no payment. */
  private paying(id: string, buyer: string): (() => void) | undefined {
    const lane = this.laneOf(id);
    const visitor = lane?.visitors.get(buyer);
    if (!lane || !visitor) return undefined;
    visitor.isPaying = true;
    this.tell({ type: 'pays', lane, buyer, at: Date.now() });
    return () => {
      visitor.isPaying = false;
      this.options.onChange();
    };
  }

  private told(lane: Lane, { step, buyer, token, at }: Told): void {
    // A process may still be busy with those of an earlier sale.
    if (!buyer.startsWith(this.prefix)) return;
    const visitor = lane.visitors.get(buyer);
    if (visitor && step === 'waits') visitor.step = 'waits';
    if (visitor && step === 'granted') Object.assign(visitor, { step: 'holds', token });
    if (visitor && step === 'ended') Object.assign(visitor, { step: 'came', token: undefined });
    if (token !== undefined) this.largestToken = Math.max(this.largestToken, token);
    this.tell({ type: step, lane, buyer, at, ...(token !== undefined && { token }) });
  }

  private tell(happening: Happening): void {
    this.happenings.tell(happening);
    this.options.onChange();
  }

  private async look(): Promise<void> {
    const { locks, database, onChange } = this.options;
    while (await this.pause(lookEvery)) {
      for (const sale of this.sales) await sale.look(database);
      const { eventId } = this.locked;
      const lock = this.isOpen ? await locks.inspect(lockName`event:${eventId}`).catch(() => undefined) : undefined;
      this.lock = eventId === this.locked.eventId ? lock : undefined;
      onChange();
    }
  }

  private async sendBuyers(): Promise<void> {
    while (await this.pause(Math.max(10, paces[this.pace].gap))) {
      const many = paces[this.pace].gap === 0 ? this.toCome : Math.min(1, this.toCome);
      for (let buyer = 0; buyer < many; buyer++) {
        this.toCome -= 1;
        this.sendBuyer();
      }
    }
  }

  /** False when the show is over. */
  private pause(ms: number): Promise<boolean> {
    return delay(ms, true, this.closing).catch(() => false);
  }
}
