import type { Column, Scenario } from '../scenarios/scenario.js';
import { drivers } from '../drivers/all.js';
import type { Bar } from './bars.js';
import { type Results, nameOf } from './results.js';

const markdown = (rows: readonly (readonly string[])[]): string => {
  const [head, ...body] = rows;
  // Figures to the right.
  const isFigure = (index: number) => body.some((row) => /^[\d.,]+$/.test(row[index]!));
  const rule = head!.map((_, index) => (isFigure(index) ? '---:' : '---'));
  return [head!, rule, ...body].map((row) => `| ${row.join(' | ')} |`).join('\n');
};

export const figure = (value: number | undefined, digits = 0): string =>
  value === undefined || Number.isNaN(value)
    ? '–'
    : value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

const times = (value: number | undefined, unit: number | undefined): string =>
  value === undefined || !unit || Number.isNaN(value / unit) ? '–' : figure(value / unit, value / unit < 10 ? 2 : 0);

function variantTable(results: Results, { name, main, columns: all }: Scenario, variant: string): string {
  const of = (driver: string, { key, across }: Pick<Column, 'key' | 'across'>) =>
    results.value(name, variant, driver, key, across);
  const floor = main && of(nameOf('floor'), { key: main.column });
  const best = main && results.best('peer', name, variant, main.column, main.better)?.value;
  const played = results.drivers(name, variant);
  // What this variant does not measure.
  const columns = all.filter(({ key }) =>
    played.some((driver) => results.value(name, variant, driver, key) !== undefined),
  );
  const head = [variant, ...columns.map(({ title }) => title), ...(main ? ['× by hand', '× best peer'] : [])];
  const rows = played.map((driver) => {
    const value = main && of(driver, { key: main.column });
    return [
      driver === nameOf('ours') ? `**${driver}**` : driver,
      ...columns.map((column) => figure(of(driver, column), column.digits)),
      ...(main ? [times(value, floor), times(value, best)] : []),
    ];
  });
  return markdown([head, ...rows]);
}

function barTable(bars: readonly Bar[]): string {
  const verdict = ({ passes }: Bar) => (passes === undefined ? 'not measured' : passes ? 'pass' : '**fail**');
  const digits = ({ measured }: Bar) => (Number.isInteger(measured) ? 0 : 2);
  return markdown([
    ['bar', 'asked', 'measured', ''],
    ...bars.map((bar) => [bar.what, bar.asked, figure(bar.measured, digits(bar)), verdict(bar)]),
  ]);
}

/** Everything that was measured, for people. */
export function report(
  results: Results,
  scenarios: readonly Scenario[],
  bars: readonly Bar[],
  machine: string,
): string {
  const played = new Set(results.samples.map((sample) => sample.driver));
  const settings = drivers.filter(({ name }) => played.has(name)).map(({ name, settings: told }) => [name, told]);
  const tables = scenarios.map((scenario) => {
    const missing = scenario.missing?.();
    const variants = results.variants(scenario.name).map((variant) => variantTable(results, scenario, variant));
    if (variants.length === 0 && missing) variants.push(`Not measured: ${missing}.`);
    return `## ${scenario.title}\n\n${variants.join('\n\n')}`;
  });
  return [
    machine,
    `## Bars\n\n${barTable(bars)}`,
    ...tables,
    `## Settings\n\n${markdown([['driver', 'settings'], ...settings])}`,
  ]
    .join('\n\n')
    .concat('\n');
}
