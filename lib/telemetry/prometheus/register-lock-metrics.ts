import { Counter, Gauge, Histogram, type Registry, type RegistryContentType, register } from 'prom-client';
import { readOptions } from '../../errors/read-options.js';
import { located } from '../../errors/configuration.js';
import { type LockGauge, type LockInstrument, instruments } from '../metrics/instruments.js';
import type { LabelSet, LockAttributes, LockLabelOptions } from '../metrics/lock-labels.js';
import { type LockMetrics, observeLocks } from '../metrics/observe-locks.js';
import { labelOf, metricNameOf } from './prometheus-names.js';
import { prometheusRefusals as refusals } from './prometheus.messages.js';

export interface LockMetricsOptions extends LockLabelOptions {
  /**
   * The registry that gets the metrics.
   * @default the global one of prom-client
   */
  registry?: Registry<RegistryContentType> | undefined;
}

/**
 * Registers metrics of all locks of this process with prom-client. Requests count that begin after it: call it before the application
 * listens.
 * @returns a function that ends it and removes the metrics from the registry
 * @throws LockConfigurationError when the registry has such metrics already, and for a wrong option
 */
export function registerLockMetrics(options: LockMetricsOptions = {}): () => void {
  const { registry, ...labelling } = resolve(options);
  const names = Object.values(instruments).map(metricNameOf);
  const taken = names.find((name) => registry.getSingleMetric(name));
  if (taken !== undefined) throw refusals.taken(taken);

  const recorders = new Map<LockInstrument, (value: number, labels: LabelSet) => void>();
  const metrics = observeLocks(
    { record: (instrument, value, labels) => recorders.get(instrument)!(value, labels) },
    labelling,
  );
  for (const instrument of Object.values(instruments)) {
    const settings = {
      name: metricNameOf(instrument),
      help: instrument.description,
      labelNames: instrument.attributes.map(labelOf),
      registers: [registry],
    };
    if (instrument.kind === 'histogram') {
      const histogram = new Histogram({ ...settings, buckets: [...instrument.buckets] });
      recorders.set(instrument, (value, labels) => histogram.observe(labelled(labels), value));
    } else if (instrument.kind === 'counter') {
      const counter = new Counter(settings);
      recorders.set(instrument, (value, labels) => counter.inc(labelled(labels), value));
    } else registerGauge(instrument, settings, metrics);
  }
  return () => {
    metrics.stop();
    // Once: later ones of these names belong to another call.
    for (const name of names.splice(0)) registry.removeSingleMetric(name);
  };
}

function registerGauge(
  instrument: LockGauge,
  settings: { name: string; help: string; labelNames: string[]; registers: Array<Registry<RegistryContentType>> },
  metrics: LockMetrics,
): void {
  new Gauge({
    ...settings,
    // Of the workers of a cluster of Node processes: a server is available when it is for all of them, and the last loss of all counts.
    aggregator: instrument.kind === 'gauge' ? instrument.ofWorkers : 'sum',
    collect() {
      this.reset();
      for (const { value, attributes } of metrics.read(instrument)) this.set(renamed(attributes), value);
    },
  });
}

const renamed = (attributes: LockAttributes): Record<string, string> =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [labelOf(name), value]));

/** Made once for each set: measurements are many. */
const known = new WeakMap<LabelSet, Record<string, string>>();

function labelled(labels: LabelSet): Record<string, string> {
  let found = known.get(labels);
  if (!found) known.set(labels, (found = renamed(labels.attributes)));
  return found;
}

function resolve(given: LockMetricsOptions): LockLabelOptions & { readonly registry: Registry<RegistryContentType> } {
  const options = located('registerLockMetrics', () =>
    readOptions('options', given, ['registry', 'name', 'blockedBy']),
  );
  const { registry = register, name, blockedBy } = options as LockMetricsOptions;
  if (typeof Object(registry).getSingleMetric !== 'function') throw refusals.noRegistry(registry);
  if (name !== undefined && typeof name !== 'function') throw refusals.noNamer(name);
  return { registry, name, blockedBy };
}
