import type { LockSnapshot } from '../../lib/core/lock-backend.js';
import {
  channels,
  type LockAcquireContext,
  type LockChannels,
  type LockHoldContext,
} from '../../lib/diagnostics/channels.js';
import type { ServerStep } from './server-watch.js';

/** One sentence about what happened. */
export interface Told {
  readonly at: number;
  readonly text: string;
  readonly tone: 'plain' | 'good' | 'warn' | 'bad' | 'you';
}

/** A part of a lane: what a process did with a name, or what stood in the record. */
export interface Span {
  readonly lane: string;
  readonly key: string;
  readonly kind: 'wait' | 'hold' | 'late' | 'stopped' | 'dead' | 'record' | 'away';
  readonly from: number;
  to: number | undefined;
  /** As the reader sees it: 1 is the first. */
  readonly token?: number;
  readonly who?: string;
}

export interface StoryHost {
  now(): number;
  /** The name of the process that has this connection, if it belongs to this lab. */
  processOf(connection: string): string | undefined;
  ownerOf(claim: string): string | undefined;
  rankOf(token: number): number;
  recordOf(key: string): LockSnapshot;
  /** Leases are renewed. Else a holder asks only whether it still has the lock. */
  readonly renews: boolean;
  certainUntil(who: string, key: string): number;
  isStopped(who: string): boolean;
}

type Renewed = LockChannels['nestjs-redis-lock:renewed'];

/** Tells what happens, from the channels of the engine and the steps of the server. */
export class Story {
  readonly told: Told[] = [];
  readonly spans: Span[] = [];
  private readonly stops: Array<() => void> = [];
  /** By name: how its last holder ended, at the server. */
  private readonly ends = new Map<string, string>();
  /** By claim: its place in the queue, once the story has it. */
  private readonly places = new Map<string, number>();
  /** Holds whose renewal had no answer, as `who key`. */
  private readonly silent = new Set<string>();
  private toLose = 0;

  constructor(private readonly host: StoryHost) {
    const { acquire, hold, renewed } = channels;
    this.listen<LockAcquireContext>(acquire.start, (who, { key }) => {
      this.begin({ lane: who, key, kind: 'wait' });
      this.tell(`${who} asks for ${key}.`);
    });
    this.listen<LockAcquireContext>(acquire.asyncEnd, (who, request) => this.requestEnds(who, request));
    this.listen<LockHoldContext>(hold.start, (who, { key, fencingToken }) =>
      this.begin({ lane: who, key, kind: 'hold', token: host.rankOf(fencingToken) }),
    );
    this.listen<LockHoldContext>(hold.error, (who, context) => this.isLost(who, context));
    this.listen<LockHoldContext>(hold.asyncEnd, (who, { key, outcome, held, fencingToken }) => {
      this.end(who, key, 'hold');
      this.end(who, key, 'late');
      if (outcome === 'released')
        this.tell(`${who} releases ${key} after ${seconds(held ?? 0)} (token ${host.rankOf(fencingToken)}).`, 'good');
    });
    this.listen<Renewed>(renewed, (who, { key, outcome, leaseLeft, lease, provisional }) => {
      if (provisional || outcome === 'lost') return;
      const hold = `${who} ${key}`;
      if (outcome === 'unanswered' && this.silent.has(hold)) return;
      if (outcome === 'renewed') this.silent.delete(hold);
      else this.silent.add(hold);
      if (outcome === 'unanswered')
        this.tell(`${who} cannot renew: Redis does not answer. ${seconds(leaseLeft)} of its lease are left.`, 'warn');
      else if (host.renews) this.tell(`${who} renews its lease of ${key}: ${seconds(lease)} from now.`);
      else this.tell(`${who} asks Redis about ${key}: it still has it, for ${seconds(leaseLeft)}.`);
    });
  }

  tell(text: string, tone: Told['tone'] = 'plain'): void {
    const at = this.host.now();
    // A call for several names asks for some of them twice.
    if (!this.told.slice(-4).some((told) => told.at === at && told.text === text)) this.told.push({ at, text, tone });
  }

  /** What the reader should know of this moment: of several sentences the gravest. */
  get latest(): Told | undefined {
    const last = this.told.at(-1);
    const now = this.told.filter(({ at }) => at === last?.at);
    return gravest.map((tone) => now.findLast((told) => told.tone === tone)).find((told) => told !== undefined);
  }

  /** The message of the next hand-off is lost. */
  losesMessage(): void {
    this.toLose++;
  }

  begin(span: Omit<Span, 'from' | 'to'>, from = this.host.now()): void {
    this.spans.push({ ...span, from, to: undefined });
  }

  end(lane: string, key: string, kind: Span['kind'], at = this.host.now()): void {
    for (const span of this.spans)
      if (span.to === undefined && span.lane === lane && span.key === key && span.kind === kind)
        span.to = Math.max(span.from, at);
  }

  stepped({ command, name, claim, before, reply, after }: ServerStep): void {
    this.leaseEnds(name, before);
    const stay = new Set(after.holders.map(({ id }) => id));
    const left = before.holders.find(({ id }) => !stay.has(id));
    if (left) this.ends.set(name, this.howEnded(left.id, command));
    this.record(name, after);
    const status = (reply as { status?: string } | undefined)?.status;
    if (command === 'acquire' && status === 'queued') this.tellPlace(name, claim!, after);
    for (const { id, state, fencingToken } of after.holders) {
      if (state !== 'provisional' || before.holders.some((holder) => holder.id === id)) continue;
      const who = this.host.ownerOf(id) ?? 'another process';
      const grant = `Redis gives ${name} to ${who} with token ${this.host.rankOf(fencingToken!)}`;
      if (this.toLose > 0) {
        this.toLose--;
        this.tell(`${grant}, but the message is lost. ${who} finds out when it asks again.`, 'warn');
      } else if (this.host.isStopped(who)) {
        this.tell(`${grant}. ${who} stands still: without an answer the grant lapses after 3 s.`, 'warn');
      }
    }
    if ((command === 'release' && reply === 'absent') || (command === 'renew' && reply === 'lost')) {
      const act = command === 'renew' ? 'renewal' : 'release';
      this.tell(`The ${act} of ${this.host.ownerOf(claim!)} comes too late. Redis refuses it, and nothing changes.`);
    }
  }

  /** Leases that ended since the last step of the server. */
  leaseEnds(name: string, snapshot: LockSnapshot): void {
    const open = this.spans.filter(({ kind, key, to }) => kind === 'record' && key === name && to === undefined);
    for (const span of open) {
      if (snapshot.holders.some(({ fencingToken }) => this.host.rankOf(fencingToken!) === span.token)) continue;
      this.ends.set(name, `the lease of ${span.who} has ended`);
      this.tell(`The lease of ${span.who} ends: Redis forgets token ${span.token}.`, 'warn');
    }
    this.record(name, snapshot);
  }

  close(): void {
    for (const stop of this.stops) stop();
  }

  private requestEnds(who: string, { key, outcome, waited = 0, fencingToken, handOff }: LockAcquireContext): void {
    this.end(who, key, 'wait');
    if (outcome === 'acquired') {
      const why = handOff === 'remote' || waited > 0 ? this.ends.get(key) : this.whyAtOnce(key);
      const wait = waited > 0 ? ` after ${seconds(waited)}` : '';
      const because = why === undefined ? '' : `: ${why}`;
      this.tell(`${who} gets ${key} with token ${this.host.rankOf(fencingToken!)}${wait}${because}.`, 'good');
    } else if (outcome === 'timeout') {
      this.tell(`${who} stops waiting for ${key} after ${seconds(waited)} (LOCK_WAIT_TIMEOUT).`, 'warn');
    } else if (outcome === 'unavailable') {
      this.tell(`Redis does not answer: the call of ${who} rejects (LOCK_UNAVAILABLE).`, 'warn');
    } else if (outcome === 'contended') {
      this.tell(`${who} does not wait: ${key} is taken (LOCK_CONTENDED).`, 'warn');
    }
  }

  private whyAtOnce(key: string): string {
    const { kind, holders } = this.host.recordOf(key);
    if (holders.length < 2) return 'it is free';
    return kind === 'shared' ? 'readers hold it together' : 'a permit is free';
  }

  private isLost(who: string, { key, error, fencingToken }: LockHoldContext): void {
    const at = Math.min(this.host.now(), this.host.certainUntil(who, key));
    this.end(who, key, 'hold', at);
    this.begin({ lane: who, key, kind: 'late', token: this.host.rankOf(fencingToken) }, at);
    const why = error?.reason === 'expired' ? 'its lease has run out' : 'Redis does not know it any more';
    this.tell(`${who} learns that it lost ${key}: ${why}. Its signal aborts.`, 'bad');
  }

  private howEnded(claim: string, command: ServerStep['command']): string {
    const who = this.host.ownerOf(claim) ?? 'another process';
    if (command === 'release') return `${who} has released it`;
    if (command === 'revoke') return 'it was released by force';
    return command === 'lose' ? 'the key was deleted' : `the lease of ${who} has ended`;
  }

  private tellPlace(name: string, claim: string, { holders, waiters }: LockSnapshot): void {
    const place = waiters.findIndex(({ id }) => id === claim) + 1;
    if (place === 0 || this.places.has(claim)) return;
    this.places.set(claim, place);
    const names = holders.map(({ id }) => this.host.ownerOf(id) ?? 'another process');
    const have =
      names.length === 0 ? 'Others are in front' : `${listed(names)} ${names.length === 1 ? 'has' : 'have'} ${name}`;
    this.tell(`${this.host.ownerOf(claim)} waits, number ${place} in the queue. ${have}.`);
  }

  private record(name: string, { holders }: LockSnapshot): void {
    const now = this.host.now();
    const ranks = new Set(holders.map(({ fencingToken }) => this.host.rankOf(fencingToken!)));
    for (const span of this.spans)
      if (span.kind === 'record' && span.key === name && span.to === undefined && !ranks.has(span.token!))
        span.to = now;
    for (const { id, fencingToken } of holders) {
      const token = this.host.rankOf(fencingToken!);
      const isKnown = this.spans.some(
        (span) => span.kind === 'record' && span.key === name && span.to === undefined && span.token === token,
      );
      if (!isKnown) this.begin({ lane: 'redis', key: name, kind: 'record', token, who: this.host.ownerOf(id) ?? '?' });
    }
  }

  private listen<M extends { readonly connection: string }>(
    channel: { subscribe(fn: (message: unknown) => void): void; unsubscribe(fn: (message: unknown) => void): unknown },
    react: (who: string, message: M) => void,
  ): void {
    const subscriber = (message: unknown): void => {
      const who = this.host.processOf((message as M).connection);
      if (who !== undefined) react(who, message as M);
    };
    channel.subscribe(subscriber);
    this.stops.push(() => void channel.unsubscribe(subscriber));
  }
}

const gravest: ReadonlyArray<Told['tone']> = ['bad', 'warn', 'good', 'plain', 'you'];

export const seconds = (ms: number): string => `${Number((ms / 1000).toFixed(ms < 1000 ? 2 : 1))} s`;

const listed = (names: readonly string[]): string =>
  names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
