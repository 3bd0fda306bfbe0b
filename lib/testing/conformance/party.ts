import { randomBytes } from 'node:crypto';
import {
  type AcquireReply,
  type ClaimRef,
  exclusive,
  type LockBackend,
  type LockDemand,
  type PushedGrant,
  type ReleaseReply,
} from '../../core/lock-backend.js';
import { conditions } from './conditions.js';

/** What a claim asks for; left out: a long lease, and to stand in the queue. */
export interface Ask {
  lease?: number;
  enqueue?: boolean;
  reserve?: number;
  /** Left out: exclusive. */
  demand?: LockDemand;
  isWanted?: () => boolean;
}

/** One client at the port: it asks, hears, and never does anything by itself. */
export class Party implements AsyncDisposable {
  readonly id = randomBytes(16).toString('base64url');
  /** Grants that it was sent, in order of arrival. */
  readonly grants: PushedGrant[] = [];
  private recoveries = 0;
  /** Whether messages reach it; and where it is told for which names they do, for which. */
  private hears = false;
  private readonly heard: Array<(name: string) => boolean> = [];
  private claims = 0;
  private readonly asked = new Set<string>();
  private readonly happened = conditions();

  constructor(readonly backend: LockBackend) {}

  async start(): Promise<this> {
    const started = this.backend.start(this.id, {
      granted: (grant) => {
        this.grants.push(grant);
        this.happened.changed();
      },
      recovered: (what, concerns) => {
        this.recoveries++;
        if (what === 'messages' && concerns) this.heard.push(concerns);
        this.happened.changed();
      },
    });
    // On a very busy machine the first attempt may take too long; it goes on by itself.
    await started.catch(() => this.happened.until(() => this.recoveries > 0));
    return this;
  }

  claim(name: string): ClaimRef {
    return { name, claim: `${this.id}:${(this.claims++).toString(36)}` };
  }

  async ask(claim: ClaimRef, ask?: Ask): Promise<AcquireReply> {
    const reply = await this.send(claim, ask);
    const isHeard = (): boolean => this.heard.some((concerns) => concerns(claim.name));
    if (reply.status !== 'queued' || !this.hears || this.heard.length === 0 || isHeard()) return reply;
    // A real client asks again, too, when messages begin to reach it.
    await this.happened.until(isHeard);
    return this.send(claim, ask);
  }

  private send(
    { name, claim }: ClaimRef,
    { lease = 20_000, enqueue = true, reserve = 0, demand = exclusive, isWanted = () => true }: Ask = {},
  ): Promise<AcquireReply> {
    const again = this.asked.has(claim);
    this.asked.add(claim);
    const giveUpAt = performance.now() + 5_000;
    return this.backend.acquire({ ...demand, name, claim, lease, reserve, enqueue, again, giveUpAt, isWanted });
  }

  /** Asks with a claim of its own, and answers both. */
  async take(name: string, ask: Ask = {}): Promise<Held> {
    const claim = this.claim(name);
    return held(claim, await this.ask(claim, ask));
  }

  /** As `take`, for a lease so short that it may be used up before the answer is there: tried until it is not. */
  async takeBriefly(name: string, lease: number): Promise<Held> {
    for (;;) {
      const held = await ifAnswered(this.take(name, { lease }));
      if (held) return held;
    }
  }

  /** Stands in the queue with a claim of its own. */
  async queue(name: string, ask: Ask = {}): Promise<ClaimRef> {
    const claim = this.claim(name);
    const { status } = await this.ask(claim, ask);
    if (status !== 'queued') throw new Error(`a waiter was expected, the answer was ${status}`);
    return claim;
  }

  /** Asks without a pause until it is granted: finds the first moment at which the lock can be had. */
  async untilGranted(claim: ClaimRef, ask: Ask = {}): Promise<Held> {
    for (;;) {
      const reply = await this.ask(claim, ask);
      if (reply.status === 'granted') return held(claim, reply);
    }
  }

  /** The grant that this claim is sent. */
  async pushed({ claim }: ClaimRef): Promise<PushedGrant> {
    const find = (): PushedGrant | undefined => this.grants.find((grant) => grant.claim === claim);
    await this.happened.until(() => find() !== undefined);
    return find()!;
  }

  /** @param keep ms for which its place stays taken (`minHold`) */
  release({ name, claim }: ClaimRef, keep = 0): Promise<ReleaseReply> {
    return this.backend.release(keep > 0 ? { name, claim, keepUntil: performance.now() + keep } : { name, claim });
  }

  /** The new `validUntil`, or why there is none. */
  async renew(hold: ClaimRef & { fencingToken: number }, lease = 20_000): Promise<number | 'lost' | 'unanswered'> {
    const { name, claim, fencingToken } = hold;
    const [reply] = await this.backend.renew([{ name, claim, fencingToken, lease, reserve: 0 }]);
    return typeof reply === 'object' ? reply.validUntil : reply!;
  }

  /** Moves a hold to a claim of its own: until when it is certain, or why it is not to be had. */
  async adopt(
    { name, claim }: ClaimRef,
    hold: { readonly claim: string; readonly fencingToken: number },
    lease = 20_000,
  ): Promise<number | 'gone' | 'taken'> {
    const { claim: from, fencingToken } = hold;
    const giveUpAt = performance.now() + 5_000;
    const reply = await this.backend.adopt!({ name, claim, from, fencingToken, lease, giveUpAt });
    return typeof reply === 'object' ? reply.validUntil : reply;
  }

  /** Settles when messages reach it, as they do after the first wait of a real client. */
  async reachable(): Promise<this> {
    for (;;) {
      const name = `reachable:${this.id}`;
      const first = await this.take(name);
      const second = await this.queue(name);
      const { recoveries } = this;
      await this.release(first);
      const isHeard = (): boolean => this.grants.some(({ claim }) => claim === second.claim);
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

/** Undefined where the backend could not say. */
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

function held({ name, claim }: ClaimRef, reply: AcquireReply): Held {
  if (reply.status !== 'granted') throw new Error(`a grant was expected, the answer was ${reply.status}`);
  const { fencingToken, validUntil, tokensUntil, othersWait } = reply;
  return { name, claim, fencingToken, validUntil, tokensUntil, othersWait };
}
