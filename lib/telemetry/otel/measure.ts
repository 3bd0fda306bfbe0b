import type { Meter, ObservableCallback } from '@opentelemetry/api';
import { type LockInstrument, instruments } from '../metrics/instruments.js';
import type { LabelSet, LockLabelOptions } from '../metrics/lock-labels.js';
import { observeLocks } from '../metrics/observe-locks.js';

/** Records the measurements of locks with a meter. @returns a function that ends it */
export function measure(meter: Meter, options: LockLabelOptions): () => void {
  const recorders = new Map<LockInstrument, (value: number, labels: LabelSet) => void>();
  const metrics = observeLocks(
    { record: (instrument, value, labels) => recorders.get(instrument)!(value, labels) },
    options,
  );
  const stops = [metrics.stop];
  for (const instrument of Object.values(instruments)) {
    const { name, kind, unit, description } = instrument;
    if (kind === 'histogram') {
      const advice = { explicitBucketBoundaries: [...instrument.buckets] };
      const histogram = meter.createHistogram(name, { unit, description, advice });
      recorders.set(instrument, (value, { attributes }) => histogram.record(value, attributes));
    } else if (kind === 'counter') {
      const counter = meter.createCounter(name, { unit, description });
      recorders.set(instrument, (value, { attributes }) => counter.add(value, attributes));
    } else {
      const create = kind === 'gauge' ? 'createObservableGauge' : 'createObservableUpDownCounter';
      const gauge = meter[create](name, { unit, description });
      const observe: ObservableCallback = (result) => {
        for (const { value, attributes } of metrics.read(instrument)) result.observe(value, attributes);
      };
      gauge.addCallback(observe);
      stops.push(() => gauge.removeCallback(observe));
    }
  }
  return () => {
    for (const stop of stops) stop();
  };
}
