import type { DemoOptions } from './options.js';
import { guises, problemsOf, type SaleResult, surpriseOf } from './sale-result.js';

export interface Report {
  readonly ok: boolean;
  readonly processes: number;
  readonly buyers: number;
  readonly tickets: number;
  /** The last of the sellers is the box office in Java. */
  readonly java: boolean;
  readonly database: 'postgres' | 'sqlite';
  readonly sales: readonly SaleResult[];
  /** What is wrong with the locked sale. */
  readonly problems: readonly string[];
  /** Sales that were expected to oversell and did not. */
  readonly surprises: readonly string[];
}

export function report(options: DemoOptions, database: Report['database'], sales: readonly SaleResult[]): Report {
  const problems = sales.filter(({ guard }) => guard === 'lock').flatMap((sale) => problemsOf(sale, options));
  const surprises = sales
    .filter(({ guard }) => guard !== 'lock')
    .flatMap((sale) => {
      const surprise = surpriseOf(sale, options);
      return surprise === undefined ? [] : [`${guises[sale.guard]}: ${surprise}.`];
    });
  const { processes, buyers, tickets, java } = options;
  return { ok: problems.length === 0, processes, buyers, tickets, java, database, sales, problems, surprises };
}

export function asText({ ok, processes, buyers, tickets, java, database, sales, problems, surprises }: Report): string {
  const head = [
    '',
    'sold',
    'orders',
    'oversold',
    'refused',
    'errors',
    'time',
    'p50',
    'p99',
    ...(java ? ['by Nest', 'by Java'] : []),
  ];
  const rows = sales.map((sale) => [
    guises[sale.guard],
    ...[sale.sold, sale.orders, sale.oversold, sale.refused, sale.errors].map(String),
    `${(sale.timeMs / 1000).toFixed(2)} s`,
    `${sale.p50Ms} ms`,
    `${sale.p99Ms} ms`,
    ...(java ? [sale.soldBy.slice(0, -1).join(' + '), String(sale.soldBy.at(-1))] : []),
  ]);
  const verdict = ok
    ? [`The locked sale sold exactly ${Math.min(buyers, tickets)} of ${tickets} tickets, each one once.`]
    : ['The locked sale FAILED:', ...problems.map((problem) => `  ${problem}`)];
  return [
    `${buyers} buyers at ${tickets} tickets, ${processes} ${processes === 1 ? 'process' : 'processes'}${java ? ' and a box office in Java' : ''}, ${database === 'postgres' ? 'Postgres' : 'one SQLite file'}`,
    '',
    ...table([head, ...rows]),
    '',
    'sold: what the stock says. orders: people with a ticket. oversold: people with a ticket that does not exist.',
    ...surprises,
    ...verdict,
  ].join('\n');
}

/** First column to the left, numbers to the right. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '),
  );
  return [lines[0]!, '-'.repeat(lines[0]!.length), ...lines.slice(1)];
}
