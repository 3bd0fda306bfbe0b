// #region subscribe
import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LockChannels } from 'nestjs-redis-lock';

const channel = 'tracing:nestjs-redis-lock:acquire:asyncEnd';

export interface Histogram {
  record(value: number, labels: Record<string, string>): void;
}

export function recordWaits(histogram: Histogram): () => void {
  const onEnd = ({ template, waited, outcome }: LockChannels[typeof channel]): void => {
    // The template, not the key: a key as a label is a metric for every product.
    histogram.record(waited!, { lock: template, outcome: outcome! });
  };
  subscribe(channel, onEnd as ChannelListener);
  return () => void unsubscribe(channel, onEnd as ChannelListener);
}
// #endregion

// #region names
import type { RedisLockInstrumentationConfig } from 'nestjs-redis-lock/otel';

export const labels: RedisLockInstrumentationConfig = {
  // The part before the first colon is never a value in this application.
  name: (key, { template }) => (template === '*' && key.includes(':') ? `${key.split(':')[0]}:*` : template),
};
// #endregion
