// #region subscribe
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

export interface Histogram {
  record(value: number, labels: Record<string, string>): void;
}

export function recordWaits(histogram: Histogram): () => void {
  const onAcquired = (message: unknown): void => {
    const { key, waited } = message as { key: string; waited: number };
    // The part before the first colon: a whole key as a label is a metric for every product.
    histogram.record(waited, { lock: key.split(':')[0]! });
  };
  subscribe('nestjs-redis-lock:acquired', onAcquired);
  return () => void unsubscribe('nestjs-redis-lock:acquired', onAcquired);
}
// #endregion
