import { Redis } from 'ioredis';
import type { Happening, Watch } from './happenings.js';
import type { Lane } from './lane.js';
import type { KeptPayment } from './payments.js';
import { leaseMs, type Show } from './show.js';
import * as story from './story.js';

/** What a button did. While it is under way: what goes on. */
export interface Told {
  readonly id: number;
  readonly act: string;
  text: string;
  isDone: boolean;
}

/** Milliseconds: for a process to get its turn, and for what must come after a lease has ended. */
const turn = 40_000;
const soon = leaseMs + 30_000;

/** A lock that is in use: the buyer has read the stock and pays. */
interface Purchase extends Disposable {
  readonly lane: Lane;
  readonly token: number;
  readonly payment: KeptPayment;
}

/** What the buttons do, for real. Each ends with a sentence about what happened. One at a time. */
export class Acts {
  readonly told: Told[] = [];
  private isBusy = false;
  private readonly cuts = new Map<Lane, Watch>();
  private readonly closing = new AbortController();

  constructor(
    private readonly show: Show,
    private readonly shownToken: (token: number) => string,
  ) {}

  get busy(): boolean {
    return this.isBusy;
  }

  /** Starts an act. Returns why it does not. */
  start(act: string, run: (told: Told) => Promise<string>): string | undefined {
    if (this.isBusy) return 'Wait for the end of what you did last.';
    this.isBusy = true;
    for (const { lanes } of this.show.sales) for (const lane of lanes) lane.marks = [];
    const told: Told = { id: this.told.length + 1, act, text: '', isDone: false };
    this.told.push(told);
    void run(told)
      .catch((error: Error) => `It did not work: ${error.message}`)
      .then((text) => {
        Object.assign(told, { text, isDone: true });
        this.isBusy = false;
        this.show.options.onChange();
      });
    return undefined;
  }

  close(): void {
    this.closing.abort();
  }

  async stop(lane: Lane, told: Told): Promise<string> {
    using watch = this.show.happenings.watch();
    using purchase = await this.purchase(told, lane);
    if (!purchase) return this.noPurchase(lane.name);
    lane.stop();
    lane.mark('SIGSTOP');
    // The answer waits in the socket of a process that stands still.
    purchase.payment.letGo();
    this.say(told, `${lane.name} stands still with token ${this.shownToken(purchase.token)}. Its lease runs out …`);
    const next = await this.nextHolder(watch, purchase);
    await this.seenByRow(watch, next);
    lane.wake();
    this.say(told, `${lane.name} wakes up, and goes on …`);
    return story.stopped(await this.loss(watch, purchase, next));
  }

  async cut(lane: Lane, told: Told): Promise<string> {
    using watch = this.show.happenings.watch();
    using purchase = await this.purchase(told, lane);
    if (!purchase) return this.noPurchase(lane.name);
    this.cuts.set(lane, this.show.happenings.watch());
    lane.cut();
    lane.mark('link cut');
    this.say(told, `${lane.name} does not reach Redis, and cannot renew token ${this.shownToken(purchase.token)} …`);
    return story.cut(await this.lossOfPaying(watch, purchase));
  }

  async mend(lane: Lane, told: Told): Promise<string> {
    using watch = this.show.happenings.watch();
    await lane.mend();
    this.say(told, `The link of ${lane.name} is whole again …`);
    this.wantMore([lane]);
    const canAnswer = this.show.isServed && !this.show.isRedisAway;
    const again = canAnswer ? await watch.until('granted', ({ lane: of }) => of === lane, soon) : undefined;
    using since = this.cuts.get(lane);
    this.cuts.delete(lane);
    const unserved = since?.all('answered', ({ lane: of, status }) => of === lane && status === 503).length ?? 0;
    return story.mended(lane.name, again && this.shownToken(again.token!), unserved);
  }

  async deleteKey(told: Told): Promise<string> {
    using watch = this.show.happenings.watch();
    using purchase = await this.purchase(told);
    if (!purchase) return this.noPurchase('No process');
    const redis = new Redis(this.show.options.redis.port, { maxRetriesPerRequest: 0 });
    await redis.del(`lock:{event:${this.show.locked.eventId}}`).finally(() => redis.disconnect());
    purchase.lane.mark('key deleted');
    this.say(told, `The key is gone, and ${purchase.lane.name} does not know yet …`);
    return story.deleted(await this.lossOfPaying(watch, purchase));
  }

  async kill(lane: Lane, told: Told): Promise<string> {
    using watch = this.show.happenings.watch();
    const reachesRedis = !lane.isCut && !this.show.isRedisAway;
    using purchase = this.show.locked.isOn && reachesRedis ? await this.purchase(told, lane) : undefined;
    const buyers = [...lane.visitors.keys()];
    const at = Date.now();
    await lane.kill();
    lane.mark('SIGKILL');
    purchase?.payment.letGo();
    this.say(told, `${lane.name} is gone …`);
    const next = purchase && (await this.nextHolder(watch, purchase));
    for (const buyer of buyers) await watch.until('answered', isOf({ buyer, lane: lane.id }), soon);
    const lost = watch.all('answered', ({ lane: of, status }) => of === lane && status === undefined).length;
    if (!purchase) return story.killedWithout(lane.name, reachesRedis, lost);
    return story.killed(lane.name, this.shownToken(purchase.token), next && this.grantOf(next, at), lost);
  }

  async killRedis(told: Told): Promise<string> {
    const { show } = this;
    using watch = show.happenings.watch();
    await show.locked.look(show.options.database);
    const orders = show.locked.books?.orders ?? 0;
    await show.options.redis.kill();
    this.say(told, 'Redis is gone, and with it all that it knew …');
    this.wantMore();
    if (show.isServed) await watch.until('answered', ({ status }) => status === 503, soon);
    const unserved = watch.all('answered', ({ status }) => status === 503).length;
    await show.locked.look(show.options.database);
    return story.redisKilled(unserved, (show.locked.books?.orders ?? 0) - orders);
  }

  async startRedis(told: Told): Promise<string> {
    const { show } = this;
    const { largestToken } = show;
    const { redis } = show.options;
    using watch = show.happenings.watch();
    await redis.restart();
    const away = seconds(performance.now() - redis.endedAt!);
    this.say(told, 'Redis is back, and empty …');
    this.wantMore();
    const next = show.isServed ? await watch.until('granted', () => true, soon) : undefined;
    await show.locked.look(show.options.database);
    const grant = next && { ...this.grantOf(next, 0), isLarger: next.token! > largestToken };
    return story.redisBack(away, grant, show.locked.soldTwice);
  }

  private say(told: Told, text: string): void {
    told.text = text;
    this.show.options.onChange();
  }

  /** Why there was no purchase. */
  private noPurchase(name: string): string {
    return this.show.locked.isOn ? `${name} did not get the lock within ${seconds(turn)}.` : story.tooLate;
  }

  /** The next purchase of a process, or of any one, with its payment under way. */
  private async purchase(told: Told, lane?: Lane): Promise<Purchase | undefined> {
    const { locked, payments } = this.show;
    this.say(told, lane ? `Until ${lane.name} has the lock …` : 'Until a process has the lock …');
    using watch = this.show.happenings.watch();
    this.wantMore(lane ? [lane] : locked.serving);
    const isWanted = (id: string): boolean => (lane ? id === lane.id : locked.lanes.some((one) => one.id === id));
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), turn);
    const soldOut = setInterval(() => (locked.isOn && lane?.state !== 'gone') || over.abort(), 100);
    const signal = AbortSignal.any([over.signal, this.closing.signal]);
    const payment = await payments.keepNext(isWanted, signal);
    clearTimeout(timer);
    clearInterval(soldOut);
    if (!payment) return undefined;
    const of = this.show.laneOf(payment.lane)!;
    // Its token travels by another way than its payment.
    const token = of.visitors.get(payment.buyer)?.token ?? (await watch.until('granted', isOf(payment), soon))?.token;
    if (token === undefined) payment.letGo();
    return token === undefined ? undefined : { lane: of, token, payment, [Symbol.dispose]: () => payment.letGo() };
  }

  private wantMore(lanes: readonly Lane[] = this.show.locked.serving): void {
    this.show.seeTo(lanes);
  }

  private nextHolder(watch: Watch, { lane, token }: Purchase): Promise<Happening | undefined> {
    const others = this.show.locked.serving.filter((one) => one !== lane && !one.isCut);
    if (others.length === 0) return watch.until('granted', () => false, leaseMs + 500);
    this.wantMore(others);
    return watch.until('granted', (grant) => grant.lane !== lane && grant.token! > token, soon);
  }

  /** Until the row has the token of the next holder: its purchase raises it before it reads the stock, and then pays. */
  private async seenByRow(watch: Watch, next: Happening | undefined): Promise<void> {
    // The same buyer pays in the other sales, too.
    const isNext = ({ lane, buyer }: Happening): boolean => lane === next!.lane && buyer === next!.buyer;
    if (next) await watch.until(['pays', 'answered'], isNext, soon);
  }

  /** The payment takes until the loss is known, and another process has the lock. */
  private async lossOfPaying(watch: Watch, purchase: Purchase): Promise<story.Loss> {
    const { payment, token } = purchase;
    const [next] = await Promise.all([
      this.nextHolder(watch, purchase),
      watch.until('lost', (loss) => loss.token === token, soon),
    ]);
    await this.seenByRow(watch, next);
    payment.letGo();
    return this.loss(watch, purchase, next);
  }

  private async loss(watch: Watch, purchase: Purchase, next: Happening | undefined): Promise<story.Loss> {
    const { lane, token, payment } = purchase;
    const answer = await watch.until('answered', isOf(payment), soon);
    const lost = await watch.until('lost', (loss) => loss.token === token, 5_000);
    if (lost) lane.mark('signal fired');
    if (answer?.status === 409) lane.mark(`row refused token ${this.shownToken(token)}`, 'good');
    return {
      loser: lane.name,
      token: this.shownToken(token),
      next: next && this.grantOf(next, 0),
      signal: lost && (lost.at <= (next?.at ?? Infinity) ? 'before' : 'after'),
      status: answer?.status,
    };
  }

  private grantOf({ lane, token, at }: Happening, since: number) {
    return { name: lane.name, token: this.shownToken(token!), after: seconds(at - since) };
  }
}

const isOf =
  ({ buyer, lane }: Pick<KeptPayment, 'buyer' | 'lane'>) =>
  (happening: Happening): boolean =>
    happening.buyer === buyer && happening.lane.id === lane;

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
