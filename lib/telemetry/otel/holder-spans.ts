import { type Span, type SpanContext, TraceFlags } from '@opentelemetry/api';

const mostEnded = 1000;
const pattern = /^([\da-f]{32})-([\da-f]{16})$/;

/** The spans that links of waiters lead to, by hold. */
export class HolderSpans {
  private readonly live = new Map<string, SpanContext>();
  /** A waiter learns of its grant a moment after the hold before it has ended. */
  private readonly ended = new Map<string, SpanContext>();

  starts(hold: string, span: Span | undefined): void {
    const target = sampled(span);
    if (target) this.live.set(hold, target);
  }

  /** Also for a lost hold: its work may never end. */
  ends(hold: string): void {
    const target = this.live.get(hold);
    if (!target) return;
    this.live.delete(hold);
    this.ended.set(hold, target);
    if (this.ended.size > mostEnded) this.ended.delete(this.ended.keys().next().value!);
  }

  of(hold: string): SpanContext | undefined {
    return this.live.get(hold) ?? this.ended.get(hold);
  }
}

/** A link to a span that no one records leads nowhere. */
const sampled = (span: Span | undefined): SpanContext | undefined => {
  const target = span?.spanContext();
  return target && target.traceFlags & TraceFlags.SAMPLED ? target : undefined;
};

/** The ids of a span for a claim. */
export function traceOf(span: Span | undefined): string | undefined {
  const target = sampled(span);
  return target && `${target.traceId}-${target.spanId}`;
}

/** The span that a claim names. */
export function remoteSpan(trace: string | undefined): SpanContext | undefined {
  const [, traceId, spanId] = pattern.exec(trace ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}
