import type { LockInstrument } from '../metrics/instruments.js';

/**
 * The names that OpenTelemetry's translation to Prometheus gives, so that one dashboard fits both.
 * https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/#otlp-metric-points-to-prometheus
 */
export function metricNameOf({ name, kind, unit }: LockInstrument): string {
  // A unit in braces is only a remark.
  const parts = [underscored(name), unit === 's' ? 'seconds' : '', kind === 'counter' ? 'total' : ''];
  return parts.filter((part) => part !== '').join('_');
}

/** The name of a label. */
export const labelOf = (attribute: string): string => underscored(attribute);

const underscored = (name: string): string => name.replaceAll('.', '_');
