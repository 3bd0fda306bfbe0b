import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { DemoOptions } from '../../../sample/demo/options.js';
import { asText, report } from '../../../sample/demo/report.js';
import { guises, type SaleResult } from '../../../sample/demo/sale-result.js';
import type { Guard } from '../../../sample/src/settings.js';

const read = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
const readme = read('README.md');
const squeeze = (code: string): string => code.replaceAll(/\s+/g, ' ');

describe('README.md', () => {
  it('has at most 100 lines', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(100);
  });
});

describe('docs/start/what-to-write.md', () => {
  const rows = read('docs/start/what-to-write.md')
    .split('\n')
    .filter((line) => line.startsWith('| '));
  const cells = rows
    .slice(1)
    .flatMap((row) => [...row.split(' | ')[1]!.matchAll(/`([^`]+)`/g)].map(([, code]) => code!))
    .filter((code) => /^(@Distributed|this\.|\{)|forRoot/.test(code));
  const code = squeeze(read('examples/table.ts') + read('test/integration/testing/ticket-office.spec.ts'));

  it('has decorators, calls and options in its table', () => {
    expect(cells.length).toBeGreaterThan(10);
  });

  it.each(cells)('shows in its table the code of examples/table.ts: %s', (cell) => {
    expect(code).toContain(cell);
  });
});

describe('sample/demo/one-run.txt', () => {
  it('shows the output of the demo for these numbers', () => {
    const table = read('sample/demo/one-run.txt');
    const options = { buyers: 400, tickets: 100, processes: 4 } as DemoOptions;
    const sales = (Object.entries(guises) as [Guard, string][]).map(([guard, guise]): SaleResult => {
      const line = table
        .split('\n')
        .find((row) => row.startsWith(guise))!
        .slice(guise.length);
      const [sold, orders, , refused, errors, seconds, p50Ms, p99Ms] = (line.match(/[\d.]+/g) ?? []).map(Number);
      const oversold = Math.max(0, orders! - options.tickets);
      const rest = { reasons: {}, timeMs: Math.round(seconds! * 1000), p50Ms: p50Ms!, p99Ms: p99Ms! };
      return {
        guard,
        sold: sold!,
        orders: orders!,
        oversold,
        bought: orders!,
        soldBy: [],
        refused: refused!,
        errors: errors!,
        ...rest,
      };
    });
    expect(asText(report(options, 'sqlite', sales))).toContain(table.trimEnd());
    expect(sales.map(({ bought, refused, errors }) => bought + refused + errors)).toEqual([400, 400, 400]);
  });
});
