/**
 * Writes the fault matrix of docs/inside/verification.md from the tests in test/fault. A comment above a test says which fault it injects,
 * and which properties of the page it checks:
 *
 *   // Fault 9: I3 (one acquire reaches Redis), I5 unavailable
 *
 *   npm run docs -- faults                      writes the table
 *   node scripts/write-faults.mjs --check    exits 1 when the table is stale, a fault has no test, or a comment is wrong
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './run.mjs';

/** Fault 1 is the first one. */
export const FAULTS = [
  'process paused past its lease',
  'event loop blocked past the lease',
  'half-open link while holding, or behind any command',
  'half-open link while acquiring',
  "the acquire's reply is lost, then reset",
  "the release's reply is lost",
  "the renewal's reply is lost",
  'a command arrives late',
  'Redis down, then back',
  'killed without persistence',
  'killed with its journal',
  "the journal's end torn off",
  'the lease ends while Redis is down',
  'a Sentinel failover that lost an acquire or a hand-off, without and with `replicas`',
  'a Sentinel failover by hand',
  'a Cluster failover that lost the acquire',
  "a quorum's server restarts empty inside a lease, without and with `restartGuard`",
  "the server's clock a minute ahead",
  "the server's clock a minute back",
  "a client's clock an hour off",
  'eviction, each policy',
  'out of memory',
  'a read-only replica',
  'too few replicas',
  'a script that does not end',
  'loading',
  '`SCRIPT FLUSH`',
  "a held lock's slot moves",
  'a slot that no node serves',
  'a lost wake-up',
  'three packets of ten are lost, or a partition',
  'something else on the key',
  'wrong password, missing permission',
  'shutdown or abort with waiters',
  'a holder is killed',
  "the queue's head is killed",
  'two versions side by side',
  'the renewal worker of a process dies',
];

const COMMENT = /^ *\/\/ Fault (?<fault>\d+): (?<asserts>.*)\n(?<test>(?: *\/\/.*\n)* *it(?:\.each)?\()?/gm;
/** The title of `it`, or of `it.each(…)`, as a literal. */
const TITLE = /(?:\bit|\))\(\s*(?:'((?:\\.|[^'\\\n])*)'|"([^"\n]*)")/g;
const ASSERTS = /^I[1-5]\b/;

/**
 * @param {string} name of the spec, without its folder and its extension
 * @param {string} text
 * @returns {{ rows: { fault: number, name: string, title: string, asserts: string }[], problems: string[] }}
 */
export function rowsOf(name, text) {
  /** @type {string[]} */
  const problems = [];
  const rows = [...text.matchAll(COMMENT)].flatMap(({ 0: found, index, groups = {} }) => {
    const { fault, asserts = '', test } = groups;
    TITLE.lastIndex = index + found.length - 'it('.length;
    const [, single, double] = TITLE.exec(text) ?? [];
    const title = (single ?? double ?? '').replaceAll("\\'", "'").replaceAll('|', '\\|');
    const where = `test/fault/${name}.spec.ts: Fault ${fault}`;
    if (test === undefined || title === '') problems.push(`${where} stands above no test with a title`);
    if (FAULTS[Number(fault) - 1] === undefined)
      problems.push(`${where} is not in the list of scripts/write-faults.mjs`);
    if (!ASSERTS.test(asserts)) problems.push(`${where}: '${asserts}' names no property (I1 to I5)`);
    return [{ fault: Number(fault), name, title, asserts }];
  });
  return { rows, problems };
}

/** @param {{ fault: number, name: string, title: string, asserts: string }[]} rows */
export function table(rows) {
  const lines = FAULTS.flatMap((what, index) =>
    rows
      .filter(({ fault }) => fault === index + 1)
      .map(
        ({ fault, name, title, asserts }, nth) =>
          `| ${fault} | ${nth === 0 ? `${what} ` : ''}| \`${name}\` | ${title} | ${asserts} |`,
      ),
  );
  return ['| # | Fault | File | Test | Asserts |', '| --- | --- | --- | --- | --- |', ...lines].join('\n');
}

/** @param {{ fault: number }[]} rows */
export const untested = (rows) =>
  FAULTS.filter((_, index) => !rows.some(({ fault }) => fault === index + 1)).map((what) => `no test for: ${what}`);

function main(/** @type {boolean} */ check) {
  const found = readdirSync(join(root, 'test/fault'))
    .filter((file) => file.endsWith('.spec.ts'))
    .toSorted()
    .map((file) => rowsOf(file.replace('.spec.ts', ''), readFileSync(join(root, 'test/fault', file), 'utf8')));
  const rows = found.flatMap((each) => each.rows);
  const problems = [...found.flatMap((each) => each.problems), ...untested(rows)];
  const page = join(root, 'docs/inside/verification.md');
  const before = readFileSync(page, 'utf8');
  const after = before.replace(/(^<!-- faults:.*-->\n).*?(^<!-- \/faults -->)/ms, (_, start, end) =>
    [start, table(rows), '', end].join('\n'),
  );
  if (!before.includes('<!-- /faults -->')) problems.push('docs/inside/verification.md has no place for the table');
  if (check && after !== before) problems.push('docs/inside/verification.md is stale: run npm run docs -- faults');
  if (!check) writeFileSync(page, after);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  main(process.argv.includes('--check'));
}
