import { describe } from '../../errors/describe.js';
import { wrong } from '../../errors/configuration.js';

/** `registerLockMetrics`. */
export const prometheusRefusals = {
  /** A second call for one registry, or metrics of the application with such a name. */
  taken: (metric: string) =>
    wrong(
      `registerLockMetrics: the registry has a metric ${metric} already. Call it once for each registry, or end the first call by the function that it returned.`,
    ),

  /** `registry` is not a registry of prom-client. */
  noRegistry: (given: unknown) =>
    wrong(`registerLockMetrics: registry: ${describe(given)} given, a Registry of prom-client expected.`),

  /** `name` is not a function. */
  noNamer: (given: unknown) =>
    wrong(`registerLockMetrics: name: ${describe(given)} given; a function (key, lock) => string expected.`),
} as const;
