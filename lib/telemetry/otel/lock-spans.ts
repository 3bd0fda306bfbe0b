import {
  type Attributes,
  context,
  type Link,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type {
  LockAcquireContext,
  LockAcquireOutcome,
  LockHoldContext,
  LockSubject,
} from '../../diagnostics/channels.js';
import { listen } from '../metrics/listen.js';
import { errorTypeOf, lockNamer } from '../metrics/lock-labels.js';
import type { RedisLockInstrumentationConfig } from './config.js';
import { HolderSpans, remoteSpan, traceOf } from './holder-spans.js';

/** The caller got what it asked for: the lock, the reply that it is taken, or the end of its wait. */
const expected: ReadonlySet<LockAcquireOutcome> = new Set(['acquired', 'contended', 'aborted']);

const activeSpan = (): Span | undefined => trace.getSpan(context.active());

/** Makes the spans of requests and holds. Messages of errors contain keys, so the spans have codes only. */
export class LockSpans {
  private readonly nameOf: (lock: LockSubject) => string;
  private readonly spans = new WeakMap<LockHoldContext, Span>();
  private readonly holders = new HolderSpans();

  constructor(
    private readonly config: RedisLockInstrumentationConfig,
    private readonly tracer: () => Tracer,
  ) {
    this.nameOf = lockNamer(config);
  }

  /** @returns a function that ends it */
  start(): () => void {
    if (this.config.spans === 'none') return () => undefined;
    return listen({
      ...(this.config.linkProcesses && {
        'tracing:nestjs-redis-lock:acquire:start': (request) => {
          request.trace = traceOf(activeSpan());
        },
      }),
      'tracing:nestjs-redis-lock:acquire:asyncEnd': (request) => this.requestEnds(request),
      'tracing:nestjs-redis-lock:hold:start': (hold) => this.holdStarts(hold),
      'tracing:nestjs-redis-lock:hold:error': (hold) => this.holdIsLost(hold),
      'tracing:nestjs-redis-lock:hold:asyncEnd': (hold) => this.holdEnds(hold),
    });
  }

  /** Most requests do not wait, so a span is made at the end, when that is known. */
  private requestEnds(request: LockAcquireContext): void {
    const { outcome = 'failed', contended, waited = 0, holder, fencingToken, error } = request;
    // The caller does not see this step of its call for several names.
    if (outcome === 'retried') return;
    if (!contended && outcome === 'acquired' && this.config.spans !== 'all') return;
    const end = Date.now();
    const span = this.begin('wait', request, {
      startTime: end - waited,
      links: this.linksOf(request),
      attributes: {
        'redis_lock.outcome': outcome,
        'redis_lock.fencing_token': fencingToken,
        'redis_lock.waited_ms': waited,
        'redis_lock.holder.method': holder?.method,
        'redis_lock.holder.host': holder?.host,
        'redis_lock.holder.pid': holder?.pid,
        'redis_lock.holder.fencing_token': holder?.fencingToken,
        'error.type': outcome === 'acquired' ? undefined : errorTypeOf(error),
      },
    });
    if (!expected.has(outcome)) span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
    span.end(end);
  }

  private holdStarts(hold: LockHoldContext): void {
    const { fencingToken, request } = hold;
    if (request?.contended || this.config.spans === 'all') {
      const attributes = { 'redis_lock.fencing_token': fencingToken, 'redis_lock.waited_ms': request?.waited };
      const span = this.begin('hold', hold, { attributes });
      this.spans.set(hold, span);
      const { run: outer = (work) => work() } = hold;
      hold.run = (work) => outer(() => context.with(trace.setSpan(context.active(), span), work));
    }
    // A hold without a span belongs to the one that requested it.
    this.holders.starts(holderOf(hold, fencingToken), this.spans.get(hold) ?? activeSpan());
  }

  private holdIsLost(hold: LockHoldContext): void {
    const reason = hold.error?.reason;
    const span = this.spans.get(hold);
    span?.addEvent('lock lost', { 'redis_lock.reason': reason });
    span?.setAttribute('error.type', errorTypeOf(hold.error));
    span?.setStatus({ code: SpanStatusCode.ERROR, message: `lock lost: ${reason}` });
    this.holders.ends(holderOf(hold, hold.fencingToken));
  }

  private holdEnds(hold: LockHoldContext): void {
    const { outcome = 'released' } = hold;
    this.spans.get(hold)?.setAttribute('redis_lock.outcome', outcome).end();
    this.holders.ends(holderOf(hold, hold.fencingToken));
  }

  private begin(what: 'wait' | 'hold', lock: LockSubject, { attributes, ...options }: SpanOptions): Span {
    const name = this.nameOf(lock);
    const { key, connection, kind, method } = lock;
    const all: Attributes = {
      'redis_lock.name': name,
      'redis_lock.connection': connection,
      'redis_lock.kind': kind,
      'redis_lock.method': method,
      'redis_lock.key': this.config.keys ? key : undefined,
      ...attributes,
    };
    return this.tracer().startSpan(`lock ${what} ${name}`, { ...options, attributes: all });
  }

  /** To the holder that kept the caller waiting, or refused it. */
  private linksOf({ holder, ...lock }: LockAcquireContext): Link[] {
    if (!holder) return [];
    const target = this.holders.of(holderOf(lock, holder.fencingToken)) ?? remoteSpan(holder.trace);
    return target ? [{ context: target }] : [];
  }
}

const holderOf = ({ connection, key }: LockSubject, fencingToken: number | undefined): string =>
  `${connection} ${fencingToken} ${key}`;
