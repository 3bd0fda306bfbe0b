import { randomBytes } from 'node:crypto';
import {
  type AcquireReply,
  callerSuffix,
  type ClaimRef,
  exclusive,
  type LockBackend,
  type LockDemand,
  type PushedGrant,
  type ReleaseReply,
} from 'nestjs-redis-lock/backend';
import { conditions } from './conditions.js';
import { realTime, type SuiteTime } from './time.js';

/** What a claim requests; default: a long lease, and to wait in the queue. */
export interface Ask {
  lease?: number;
  enqueue?: boolean;
  reserve?: number;
  /** Default: exclusive. */
  demand?: LockDemand;
  isWanted?: () => boolean;
}

/** One client at the port: it sends requests, receives messages, and does nothing by itself. */
export class Party implements AsyncDisposable {
  readonly id = randomBytes(16).toString('base64url');
  /** Grants that were pushed to it, in order of arrival. */
  readonly grants: PushedGrant[] = [];
  /** The last `askAt` of each claim. */
  readonly hints: Array<{ readonly claim: string; readonly at: number }> = [];
  private recoveries = 0;
  /** Whether messages reach it; if the backend says for which names, those names. */
  private hears = false;
  private readonly heard: Array<(name: string) => boolean> = [];
  private claims = 0;
  private readonly asked = new Set<string>();
  /** What claims that wait have asked. */
  private readonly waiting = new Map<string, { readonly claim: ClaimRef; readonly ask: Ask | undefined }>();
  private readonly happened = conditions();

  constructor(
    readonly backend: LockBackend,
    private readonly time: SuiteTime = realTime,
  ) {}

  async start(): Promise<this> {
    const started = this.backend.start(this.id, {
      granted: (grant) => {
        this.grants.push(grant);
        this.happened.changed();
      },
      freeAt: ({ id: claim }, at) => {
        this.hints.push({ claim, at });
        if (at <= this.time.now()) void this.askNow(claim);
        this.happened.changed();
      },
      recovered: (what, concerns) => {
        this.recoveries++;
        if (what === 'messages' && concerns) this.heard.push(concerns);
        this.happened.changed();
      },
    });
    // On a very busy machine the first attempt may take too long; the backend then retries by itself.
    await started.catch(() => this.happened.until(() => this.recoveries > 0));
    return this;
  }

  claim(name: string): ClaimRef {
    const count = this.claims++;
    // Some with a method, some with a label: all that a client may put into an id.
    const caller = [
      '',
      callerSuffix('Report.daily'),
      callerSuffix(undefined, 'import 4711: ü%'),
      callerSuffix('A.b', 'c'),
    ];
    return { name, id: `${this.id}:${count.toString(36)}${caller[count % caller.length]}` };
  }

  async ask(claim: ClaimRef, ask?: Ask): Promise<AcquireReply> {
    const reply = await this.send(claim, ask);
    const isHeard = (): boolean => this.heard.some((concerns) => concerns(claim.name));
    if (reply.status !== 'queued' || !this.hears || this.heard.length === 0 || isHeard()) return reply;
    // A real client, too, sends its acquires again when messages begin to reach it.
    await this.happened.until(isHeard);
    return this.send(claim, ask);
  }

  /** A message says that the lock may be free: a real client asks at once. */
  private async askNow(id: string): Promise<void> {
    const { claim, ask } = this.waiting.get(id) ?? {};
    if (!claim || ask?.isWanted?.() === false) return;
    const reply = await ifAnswered(this.send(claim, ask));
    if (reply?.status !== 'granted' || !this.waiting.delete(id)) return;
    const { fencingToken, tokensUntil, validUntil } = reply;
    this.grants.push({ ...claim, fencingToken, tokensUntil, validUntil });
    this.happened.changed();
  }

  private send(
    { name, id: claim }: ClaimRef,
    { lease = 20_000, enqueue = true, reserve = 0, demand = exclusive, isWanted = () => true }: Ask = {},
  ): Promise<AcquireReply> {
    const again = this.asked.has(claim);
    this.asked.add(claim);
    const giveUpAt = this.time.now() + 5_000;
    return this.backend.acquire({ ...demand, name, id: claim, lease, reserve, enqueue, again, giveUpAt, isWanted });
  }

  /** Acquires with a new claim. Returns the claim and the reply. */
  async take(name: string, ask: Ask = {}): Promise<Held> {
    const claim = this.claim(name);
    return held(claim, await this.ask(claim, ask));
  }

  /** As `take`, for a lease so short that it may end before the reply arrives: repeated until it does not. */
  async takeBriefly(name: string, lease: number): Promise<Held> {
    for (;;) {
      const held = await ifAnswered(this.take(name, { lease }));
      if (held) return held;
    }
  }

  /** Waits in the queue with a new claim. */
  async queue(name: string, ask: Ask = {}): Promise<ClaimRef> {
    const claim = this.claim(name);
    const { status } = await this.ask(claim, ask);
    if (status !== 'queued') throw new Error(`a waiter was expected, the answer was ${status}`);
    this.waiting.set(claim.id, { claim, ask });
    return claim;
  }

  /** Acquires again and again without a pause until granted: finds the first moment at which the lock is free. */
  async untilGranted(claim: ClaimRef, ask: Ask = {}): Promise<Held> {
    for (;;) {
      const reply = await this.ask(claim, ask);
      if (reply.status === 'granted') return held(claim, reply);
    }
  }

  /** The grant that is pushed to this claim. */
  async pushed({ id: claim }: ClaimRef): Promise<PushedGrant> {
    const find = (): PushedGrant | undefined => this.grants.find((grant) => grant.id === claim);
    await this.happened.until(() => find() !== undefined);
    return find()!;
  }

  /** When this claim should ask again, by the last message. */
  async freeAt({ id: claim }: ClaimRef): Promise<number> {
    const find = (): number | undefined => this.hints.find((hint) => hint.claim === claim)?.at;
    await this.happened.until(() => find() !== undefined);
    return find()!;
  }

  /** @param keep ms for which the lock stays taken (`minHold`) */
  release({ name, id: claim }: ClaimRef, keep = 0): Promise<ReleaseReply> {
    this.waiting.delete(claim);
    return this.backend.release(
      keep > 0 ? { name, id: claim, keepUntil: this.time.now() + keep } : { name, id: claim },
    );
  }

  /** The new `validUntil`, or the reason why there is none. */
  async renew(hold: ClaimRef & { fencingToken: number }, lease = 20_000): Promise<number | 'lost' | 'unanswered'> {
    const { name, id: claim, fencingToken } = hold;
    const [reply] = await this.backend.renew([{ name, id: claim, fencingToken, lease, reserve: 0 }]);
    return typeof reply === 'object' ? reply.validUntil : reply!;
  }

  /** Moves a hold to a new claim. Returns its `validUntil`, or the reason of the refusal. */
  async adopt(
    { name, id: claim }: ClaimRef,
    hold: { readonly id: string; readonly fencingToken: number },
    lease = 20_000,
  ): Promise<number | 'gone' | 'taken'> {
    const { id: from, fencingToken } = hold;
    const giveUpAt = this.time.now() + 5_000;
    const reply = await this.backend.adopt!({ name, id: claim, from, fencingToken, lease, giveUpAt });
    return typeof reply === 'object' ? reply.validUntil : reply;
  }

  /** Resolves when messages reach it, as they do after the first wait of a real client. */
  async reachable(): Promise<this> {
    for (;;) {
      const name = `reachable:${this.id}`;
      const first = await this.take(name);
      const second = await this.queue(name);
      const { recoveries } = this;
      await this.release(first);
      const isHeard = (): boolean => this.grants.some(({ id: claim }) => claim === second.id);
      await this.happened.until(() => isHeard() || this.recoveries > recoveries);
      await this.release(second);
      if (!isHeard()) continue;
      this.hears = true;
      return this;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.backend.close();
  }
}

/** Undefined if the backend could not say. */
export async function ifAnswered<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'LOCK_UNAVAILABLE') return undefined;
    throw error;
  }
}

/** A claim that was granted. */
export interface Held extends ClaimRef {
  readonly fencingToken: number;
  readonly validUntil: number;
  readonly tokensUntil: number;
  readonly othersWait: boolean;
}

function held({ name, id: claim }: ClaimRef, reply: AcquireReply): Held {
  if (reply.status !== 'granted') throw new Error(`a grant was expected, the answer was ${reply.status}`);
  const { fencingToken, validUntil, tokensUntil, othersWait } = reply;
  return { name, id: claim, fencingToken, validUntil, tokensUntil, othersWait };
}
