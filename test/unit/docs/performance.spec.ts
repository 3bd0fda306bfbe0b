import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const read = (page: string): string => readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8');

const figure = (text: string): number => Number(text.replaceAll(',', ''));

/** `docs/operate/performance-tables.md`: first header cell → driver → column → value. */
const tables = new Map(
  [...read('docs/operate/performance-tables.md').matchAll(/^\|.*\n\|[- :|]+\n(?:\|.*\n)+/gm)].map(([table]) => {
    const [head, , ...rows] = table
      .trim()
      .split('\n')
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim().replaceAll('**', '')),
      );
    const byDriver = rows.map(([driver, ...cells]) => [
      driver!,
      Object.fromEntries(cells.map((cell, index) => [head![index + 1]!, figure(cell)])),
    ]);
    return [head![0]!, new Map(byDriver as [string, Record<string, number>][])] as const;
  }),
);

const ours = 'nestjs-redis-lock';
const quorums = ['3 servers, 4 processes × 4 waiters, 1 ms inside', '3 servers, 1 process × 16 waiters, 1 ms inside'];
const cell = (table: string, column: string, driver = ours): number => {
  const value = tables.get(table)?.get(driver)?.[column];
  if (value === undefined || Number.isNaN(value)) throw new Error(`no ${column} of ${driver} in '${table}'`);
  return value;
};
/** A column of the other libraries. */
const others = (table: string, column: string): number[] =>
  [...tables.get(table)!]
    .filter(([driver]) => !/^(nestjs-redis-lock|by hand|no lock|async-mutex)/.test(driver))
    .map(([, row]) => row[column]!);
const round = (value: number, digits: number): string => String(Number(value.toFixed(digits)));

const one = (column: string, driver?: string): number => cell('1 flow', column, driver);
const hot = '64 waiters, 1 ms inside';
const cold = '64 waiters, 0 ms inside';
const fleet = '4 processes × 16 waiters, 1 ms inside';
const longestWait = "hot name, 64 waiters, 1 ms inside: longest wait against async-mutex's";
const relay = '1 ms each way';
const renewed = '5,000 locks, 10 s lease';
const manyFlows = ['64 flows', '512 flows'];
const toHand = (table: string, column: string): number => cell(table, column) / cell(table, column, 'by hand');
const strict = (table: string): number =>
  cell(table, 'owner changes/s', `${ours}, strict`) / cell(table, 'owner changes/s');
const observed = '64 flows, each lock free';
/** The rate of a setting, against that of the defaults. */
const toOurs = (table: string, setting: string): number =>
  cell(table, 'cycles/s', `${ours}, ${setting}`) / cell(table, 'cycles/s');
const toHandOf = (setting: string): number => cell('1 flow', '× by hand', `${ours}, ${setting}`);
const [four, sixteen] = quorums as [string, string];
const quorum = (table: string, column: string): number => cell(table, column, `${ours}, quorum`);
const quorumChanges = quorums.flatMap((table) => others(table, 'owner changes/s'));
const quorumWaits = quorums.flatMap((table) => others(table, 'max'));

/** Every figure of the prose, as the tables have it now. */
const claims: Record<string, string[]> = {
  'README.md': [
    `${round(cell(renewed, 'requests/s'), 0)} requests a second to renew 5,000 locks with a lease of 10 s`,
    `${one('× by hand')} of the rate of a lock written by hand`,
  ],
  'docs/operate/performance.md': [
    `2; with 64 flows that lock at once ${cell('64 flows', 'requests a cycle')}`,
    `| 5,000 renewed locks with a lease of 10 s | ${round(cell(renewed, 'requests/s'), 0)} a second | 0 |`,
    `| 200,000 different names, once each | – | ${cell('200,000 names', 'keys in Redis')} key stays`,
    `the rate is ${[...new Set(manyFlows.map((table) => round(cell(table, '× by hand'), 1)))].join(' and ')} times the rate by hand`,
    `and ${manyFlows.map((table) => round(cell(table, '× best peer'), 1)).join(' and ')} times that of the best other library.`,
    `Redis spends ${manyFlows.map((table) => round(toHand(table, 'Redis CPU µs'), 2)).join(' and ')} of the CPU time`,
    `${one('× by hand')} of the rate by hand, and ${one('× best peer')} of that of the best other library. Our target was 0.95;`,
    `${round(1000 / one('cycles/s'), 2)} ms on this machine`,
    `Redis computes ${round(one('Redis CPU µs'), 0)} µs a cycle instead of ${round(one('Redis CPU µs', 'by hand'), 0)}`,
    `5,000 renewed locks with a lease of 10 s cost ${round(cell(renewed, 'requests/s'), 0)} requests a second, where other libraries send ${[...new Set(others(renewed, 'requests/s'))].join()}`,
    `takes ${cell(renewed, 'heap a lock, bytes')} bytes of heap. Our target was 1024;`,
    `the longest stretch is ${cell(renewed, 'longest stall, ms of CPU')} ms of CPU time`,
    `${round(cell(hot, '× best peer'), 1)} times as often as with the best other library, and in order: the callers have equal shares (Jain's index ${cell(hot, 'Jain')}; 1 is equal)`,
    `changes its owner ${round(cell(hot, 'owner changes/s') / cell(hot, 'owner changes/s', 'async-mutex (no Redis)'), 2)} times as often, and the longest wait is ${round(cell('bar', 'measured', longestWait), 2)} times as long. Our targets were 0.95 and 1.2;`,
    `Between processes a lock changes hands ${round(cell(fleet, '× best peer'), 1)} times as often`,
    `(Jain's index ${cell(fleet, 'Jain')})`,
    `${round(cell(relay, 'PING round trips'), 1)} round trips; other libraries need ${round(Math.min(...others(relay, 'PING round trips')), 1)} and more`,
    `their owner changes ${Math.min(...quorumChanges)} to ${Math.max(...quorumChanges)}`,
    `here ${quorum(four, 'owner changes/s')} and ${quorum(sixteen, 'owner changes/s')} times (${round(quorum(four, '× best peer'), 1)} and ${round(quorum(sixteen, '× best peer'), 1)} times the best of them)`,
    `(Jain's index ${quorum(four, 'Jain')} and ${quorum(sixteen, 'Jain')}) and waits for ${Math.max(...quorums.map((table) => quorum(table, 'max')))} ms at most`,
    `it waits for ${round(Math.min(...quorumWaits) / 1000, 1)} to ${round(Math.max(...quorumWaits) / 1000, 1)} s`,
    `With \`release: 'sent'\` the caller waits once, and the rate is ${round(toHandOf('sent'), 2)} times the rate by hand.`,
    `makes one flow alone ${round(toOurs('1 flow', 'sent'), 2)} times as fast`,
    `tells a thread of each lock: with 64 flows ${round(toOurs('64 flows', 'worker'), 2)} of the rate is left`,
    `leave ${round(toOurs(observed, 'metrics'), 2)} of the rate with 64 flows, and metrics with a span for each lock ${round(toOurs(observed, 'metrics and traces'), 2)}. Our target for metrics was 0.95;`,
    `${round(strict(hot), 2)} of the rate of local hand-off with 1 ms of work, and ${round(strict(cold), 2)} of it without work`,
  ],
};

/** Settings of the benchmark and of the library, and how things are counted: no figures. */
const settings = [
  ...[
    'every 10 ms',
    '64 callers',
    '64 and with 512 flows',
    'With 1 ms of work',
    'with 1 ms of work',
    'With 1 ms each way',
  ],
  ...[
    '1 ms inside',
    '4 processes with 4 waiters',
    'one process with 16',
    '100 retries, 20 ± 20 ms apart',
    'every 25 ms for 2 s',
    '1 ms of work under the lock',
  ],
  ...[
    '(30 s, renewed), 5,000 locks',
    'with 64 callers',
    'acquire and release',
    '1 release with 1 message inside | 1, from',
    'at most 1, beside the work | 0',
    '| 2 |',
    '| 0 | 0 |',
  ],
];

const sectionOf = (page: string, text: string): string =>
  page === 'README.md' ? text.split('\n## Performance\n')[1]!.split('\n## ')[0]! : text;

describe.each(Object.entries(claims))('the figures of %s', (page, texts) => {
  const text = sectionOf(page, read(page)).replaceAll(/\s+/g, ' ');

  it.each(texts)('%s', (claim) => {
    expect(text).toContain(claim);
  });

  it('are complete: there is no other number in its prose', () => {
    let rest = text.replaceAll(/`[^`]*`|\]\([^)]*\)|\]\[[^\]]*\]|ADR \d{4}/g, ' ');
    for (const known of [...texts, ...settings]) {
      const pattern = known.replaceAll(/`[^`]*`/g, ' ');
      rest = rest.replaceAll(pattern, ' ');
    }
    expect([...rest.matchAll(/.{0,30}(?<!\w)\d[\d.,]*.{0,30}/g)].map(([where]) => where)).toEqual([]);
  });
});

describe('a bar that was not met', () => {
  const text = read('docs/operate/performance.md');
  const failed = [
    ...read('docs/operate/performance-tables.md').matchAll(/^\| (.+) \| .+ \| ([\d.,]+) \| \*\*fail\*\* \|$/gm),
  ];

  it.each(failed.map(([, bar, measured]) => [bar!, measured!]))(
    'has its figure behind what is faster: %s',
    (_, measured) => {
      const value = Number(measured.replaceAll(',', ''));
      const behind = text.split('\n## Where it is slower\n')[1]!;
      expect(behind).toContain(`${round(value, value > 100 ? 0 : 2)} `);
    },
  );
});

it('the tables are read as numbers, with thousands', () => {
  expect([figure('1,234,567'), figure('0.95'), figure('–')]).toEqual([1_234_567, 0.95, Number.NaN]);
});
