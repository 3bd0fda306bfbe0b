import type { AcquireRequest, ClaimRef, ReleaseRequest } from '../../core/lock-backend.js';
import { inRoot } from '../../core/root-context.js';
import type { CommandConnection } from './command-connection.js';
import type { KeySpace } from './keys.js';
import { redisReasons } from './redis.messages.js';
import { type ReplicaConfirmation, UnconfirmedGrant } from './replica-confirmation.js';
import { failureIn, isGrant, releaseReplies, type TimedReply, timedReply } from './replies.js';

/** One claim's part in a script call. */
interface ScriptCall<R extends ClaimRef = ClaimRef> {
  readonly name: string;
  readonly request: R;
  /** @param reply the script's reply for this claim; @param sentAt when the command was sent (local ms) */
  answered(reply: unknown, sentAt: number): void;
  /** @param sentAt when it was sent (local ms) */
  failed(error: unknown, sentAt: number): void;
}

type AcquireCall = ScriptCall<AcquireRequest>;
type ReleaseCall = ScriptCall<ReleaseRequest>;

/** Calls that share a command. */
export type Batch =
  | { readonly script: 'acquire' | 'share'; readonly calls: AcquireCall[] }
  | { readonly script: 'release'; readonly calls: ReleaseCall[] };

/** Claims in one packet, and so in one command: Redis serves no other client during a command, some hundred microseconds for the most. */
const packetSize = { least: 16, most: 64 };
/**
 * A turn is cut into this many packets: Redis works on the first while the next is encoded here, and the other way round with the replies.
 */
const packetsOfTurn = 4;

/** A command was executed after its `latestUseful`: it changed nothing. */
export const late = redisReasons.late();

/**
 * Sends the calls of one turn of the event loop as few commands. With hundreds of flows, each costs Redis and this process a fraction of a
 * command; a single call is sent alone. Keeps the order of the calls.
 */
export class CallBatches {
  protected batches: Batch[] = [];

  /** @param patience ms after which a waiter that did not ask again counts as dead */
  constructor(
    private readonly connection: CommandConnection,
    private readonly keys: KeySpace,
    private readonly patience: number,
    private readonly replicas: ReplicaConfirmation | undefined,
  ) {}

  acquire(call: AcquireCall): void {
    const script = call.request.kind === 'exclusive' ? 'acquire' : 'share';
    const last = this.lastFor(call.name);
    // A release may belong to an acquire just before it: only adjacent calls of one kind are put together.
    if (last && last.script !== 'release' && last.script === script) last.calls.push(call);
    else this.open({ script, calls: [call] }, call.name);
  }

  release(call: ReleaseCall): void {
    const last = this.lastFor(call.name);
    if (last?.script === 'release') last.calls.push(call);
    else this.open({ script: 'release', calls: [call] }, call.name);
  }

  /** The last batch that a call for this name could join. */
  protected lastFor(_name: string): Batch | undefined {
    return this.batches.at(-1);
  }

  protected open(batch: Batch, _name: string): void {
    if (this.batches.length > 0) this.batches.push(batch);
    else {
      this.batches = [batch];
      process.nextTick(inRoot, this.flush);
    }
  }

  private readonly flush = (): void => {
    const { batches } = this;
    this.batches = [];
    let count = 0;
    for (const { calls } of batches) count += calls.length;
    if (batches.length === 1 && count <= packetSize.least) return this.send(batches[0]!);
    const size = Math.min(packetSize.most, Math.max(packetSize.least, Math.ceil(count / packetsOfTurn)));
    for (const packet of packetsOf(batches, size)) {
      this.connection.together(() => packet.forEach((batch) => this.send(batch)));
    }
  };

  private send({ script, calls }: Batch): void {
    if (script === 'release') this.sendReleases(calls);
    else this.sendAcquires(script, calls);
  }

  private sendAcquires(script: 'acquire' | 'share', calls: readonly AcquireCall[]): void {
    const { connection } = this;
    const sentAt = performance.now();
    const command: Array<string | number> = this.keys.forScript(calls);
    const keyCount = command.length;
    command.push(connection.latestUseful(sentAt), this.keys.channelsFor(calls));
    if (script === 'acquire') command.push(tokensFor(calls), claimsOf(calls), this.termsOf(calls));
    else command.push(claimsOf(calls), this.shares(calls));
    const confirmed = this.replicas?.confirm();
    // Awaited below, when there is a grant to confirm.
    confirmed?.catch(() => undefined);
    connection.run(script, keyCount, command).then(
      (reply) => {
        try {
          const replies = timedReply(script, reply, calls.length);
          connection.serverClock.observe(replies[0], sentAt);
          if (replies[1] === 'late') refuse(calls, late, sentAt);
          else if (confirmed) this.answerConfirmed(calls, replies, sentAt, confirmed);
          else
            for (let index = 0; index < calls.length; index++) this.settle(calls[index]!, replies[1 + index], sentAt);
        } catch (error) {
          this.failed(calls, error, sentAt);
        }
      },
      (error: unknown) => {
        refuse(calls, error, sentAt);
      },
    );
  }

  private sendReleases(calls: readonly ReleaseCall[]): void {
    const sentAt = performance.now();
    const command: Array<string | number> = this.keys.forScript(calls);
    const keyCount = command.length;
    command.push(this.keys.channelsFor(calls), claimsOf(calls));
    if (calls.some(({ request }) => request.keepUntil)) command.push(keepsOf(calls, sentAt));
    this.connection.run('release', keyCount, command).then(
      (reply) => {
        try {
          const replies = releaseReplies(reply, calls.length);
          for (let index = 0; index < calls.length; index++)
            this.settle(calls[index]!, replies === 'released' ? replies : replies[index], sentAt);
        } catch (error) {
          this.failed(calls, error, sentAt);
        }
      },
      (error: unknown) => {
        refuse(calls, error, sentAt);
      },
    );
  }

  private settle(call: ScriptCall, reply: unknown, sentAt: number): void {
    const failure = failureIn(reply);
    if (failure) return this.failed([call], failure, sentAt);
    try {
      call.answered(reply, sentAt);
    } catch (error) {
      this.failed([call], error, sentAt);
    }
  }

  /** Also for a reply that cannot be decoded: thrown on, it would leave its calls pending. */
  private failed(calls: readonly ScriptCall[], error: unknown, sentAt: number): void {
    this.connection.leaveIfUseless(error);
    refuse(calls, error, sentAt);
  }

  private answerConfirmed(
    calls: readonly AcquireCall[],
    replies: TimedReply,
    sentAt: number,
    confirmed: Promise<void>,
  ): void {
    const answer = (error?: unknown): void => {
      calls.forEach((call, index) => {
        const reply = replies[1 + index];
        if (error !== undefined && isGrant(reply)) call.failed(new UnconfirmedGrant(error), sentAt);
        else this.settle(call, reply, sentAt);
      });
    };
    confirmed.then(() => answer(), answer);
  }

  /** The terms of the claims: sent once when all are the same. */
  private termsOf(calls: readonly AcquireCall[]): string {
    const first = calls[0]!.request;
    if (calls.length === 1) return this.terms(first);
    const { lease, reserve, enqueue } = first;
    const same = calls.every(
      ({ request }) => request.lease === lease && request.reserve === reserve && request.enqueue === enqueue,
    );
    return (same ? calls.slice(0, 1) : calls).map(({ request }) => this.terms(request)).join();
  }

  /** The terms of claims that share a lock. */
  private shares(calls: readonly AcquireCall[]): string {
    const terms = calls.map(({ request: { lease, enqueue, kind, permits, limit } }) =>
      [lease, enqueue ? this.patience : 0, kind, permits, limit].join(' '),
    );
    return (terms.every((text) => text === terms[0]) ? terms.slice(0, 1) : terms).join();
  }

  private terms({ lease, reserve, enqueue }: AcquireRequest): string {
    return `${lease} ${reserve} ${enqueue ? this.patience : 0}`;
  }
}

/** The calls in their order, in packets of this size. */
function* packetsOf(batches: readonly Batch[], size: number): Iterable<Batch[]> {
  let packet: Batch[] = [];
  let room = size;
  for (const batch of batches) {
    for (let next = 0; next < batch.calls.length;) {
      const calls = batch.calls.slice(next, next + room);
      packet.push({ script: batch.script, calls } as Batch);
      next += calls.length;
      room -= calls.length;
      if (room > 0) continue;
      yield packet;
      packet = [];
      room = size;
    }
  }
  if (packet.length > 0) yield packet;
}

function tokensFor(calls: readonly AcquireCall[]): number {
  let tokens = 0;
  for (const { request } of calls) tokens += 1 + request.reserve;
  return tokens;
}

function claimsOf(calls: readonly ScriptCall[]): string {
  if (calls.length === 1) return calls[0]!.request.id;
  return calls.map(({ request }) => request.id).join(' ');
}

/** For how many ms each lock stays taken after its release. */
function keepsOf(calls: readonly ReleaseCall[], now: number): string {
  return calls.map(({ request: { keepUntil = 0 } }) => Math.max(0, Math.ceil(keepUntil - now))).join(' ');
}

function refuse(calls: readonly ScriptCall[], error: unknown, sentAt: number): void {
  for (const call of calls) call.failed(error, sentAt);
}
