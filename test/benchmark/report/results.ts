import { drivers } from '../drivers/all.js';
import type { DriverKind } from '../drivers/driver.js';
import { median, sum } from './statistics.js';

export type Values = Record<string, number>;

/** What several rounds are brought to. A count that must be 0 is not told by its median. */
export type Across = 'median' | 'largest' | 'total';
const across: Record<Across, (values: readonly number[]) => number> = {
  median,
  largest: (values) => Math.max(...values),
  total: sum,
};

/** One driver in one round of one variant of a scenario. */
export interface Sample {
  readonly scenario: string;
  readonly variant: string;
  readonly driver: string;
  readonly round: number;
  readonly values: Values;
}

export const nameOf = (kind: DriverKind): string => drivers.find((driver) => driver.kind === kind)!.name;
const kinds = new Map(drivers.map((driver) => [driver.name, driver.kind]));

/** Everything that was measured, and the medians of its rounds. */
export class Results {
  readonly samples: Sample[] = [];

  add(sample: Sample): void {
    this.samples.push(sample);
  }

  variants(scenario: string): string[] {
    return [...new Set(this.of(scenario).map((sample) => sample.variant))];
  }

  /** Who was measured there, in the order of the drivers. */
  drivers(scenario: string, variant: string): string[] {
    const there = new Set(this.of(scenario, variant).map((sample) => sample.driver));
    return drivers.map((driver) => driver.name).filter((name) => there.has(name));
  }

  /** Over all rounds; undefined when it was not measured. */
  value(scenario: string, variant: string, driver: string, column: string, by: Across = 'median'): number | undefined {
    const values = this.of(scenario, variant, driver).flatMap(({ values }) => values[column] ?? []);
    return values.length === 0 ? undefined : across[by](values);
  }

  /** The best value that a driver of one kind has. */
  best(kind: DriverKind, scenario: string, variant: string, column: string, better: 'more' | 'less' = 'more') {
    const values = this.drivers(scenario, variant)
      .filter((driver) => kinds.get(driver) === kind)
      .flatMap((driver) => {
        const value = this.value(scenario, variant, driver, column);
        return value === undefined || Number.isNaN(value) ? [] : { driver, value };
      })
      .toSorted((a, b) => (better === 'more' ? b.value - a.value : a.value - b.value));
    return values[0];
  }

  private of(scenario: string, variant?: string, driver?: string): Sample[] {
    return this.samples.filter(
      (sample) =>
        sample.scenario === scenario &&
        (variant === undefined || sample.variant === variant) &&
        (driver === undefined || sample.driver === driver),
    );
  }
}
