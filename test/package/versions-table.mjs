import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/run.mjs';

/** The supported versions. Each line stands in the table of the guide, as tried or as not run. */
export const LINES = {
  Node: ['20.19', '22', '24', '26'],
  Bun: ['1'],
  Deno: ['2'],
  Nest: ['11', '12'],
  ioredis: ['5', '6'],
  TypeScript: ['5.2', '5.4', '5.9', '6.0', '7.0'],
  Redis: ['6.2', '7.0', '7.2', '7.4', '8'],
  Valkey: ['7.2', '8', '9'],
};
/** @typedef {keyof typeof LINES} Part */
/** @typedef {{ works: Set<string>, fails: Set<string> }} Tried exact versions */

const PAGE = join(root, 'docs', 'reference', 'works-with.md');
const BEGIN = '<!-- versions: npm run test:versions -->';
const END = '<!-- /versions -->';

/** @param {string} line @param {string} version */
const belongsTo = (line, version) => version === line || version.startsWith(`${line}.`);

/** @param {Iterable<string>} versions */
const cell = (versions) =>
  [...versions].toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).join(', ') || '–';

/**
 * Writes what was tried into the guide; the rows of other parts stay.
 * @param {ReadonlyMap<Part, Tried>} tried
 */
export function writeTable(tried) {
  const date = new Date().toISOString().slice(0, 10);
  const text = readFileSync(PAGE, 'utf8');
  const [before, rest] = text.split(BEGIN);
  const [old, after] = rest?.split(END) ?? [];
  if (before === undefined || old === undefined || after === undefined) {
    throw new Error(`docs/reference/works-with.md has no ${BEGIN} … ${END}`);
  }
  const rows = /** @type {[Part, string[]][]} */ (Object.entries(LINES)).map(([part, lines]) => {
    const known = tried.get(part);
    const earlier = old.split('\n').find((row) => row.startsWith(`| ${part} |`));
    if (known === undefined && earlier !== undefined) return earlier;
    const { works, fails } = known ?? { works: new Set(), fails: new Set() };
    const notRun = lines.filter((line) => ![...works, ...fails].some((version) => belongsTo(line, version)));
    // A version that works in one place and fails in another one fails.
    const good = [...works].filter((version) => !fails.has(version));
    return `| ${part} | ${cell(good)} | ${cell(fails)} | ${cell(notRun)} | ${date} |`;
  });
  const table = ['| | Works | Fails | Not run | Date |', '| --- | --- | --- | --- | --- |', ...rows];
  writeFileSync(PAGE, [before + BEGIN, '', ...table, '', END].join('\n') + after);
}

/** The table of the guide has every supported line, and nothing that fails. */
export function tableIsComplete() {
  const table = readFileSync(PAGE, 'utf8').split(BEGIN)[1]?.split(END)[0] ?? '';
  for (const [part, lines] of Object.entries(LINES)) {
    const cells =
      table
        .split('\n')
        .find((row) => row.startsWith(`| ${part} |`))
        ?.split('|') ?? [];
    const versions = `${cells[2]},${cells[4]}`.split(',').map((version) => version.trim());
    const missing = lines.filter((line) => !versions.some((version) => belongsTo(line, version)));
    if (missing.length > 0)
      throw new Error(`docs/reference/works-with.md: no ${part} ${missing.join(', ')}; npm run test:versions`);
    if (cells[3]?.trim() !== '–') throw new Error(`docs/reference/works-with.md: ${part} ${cells[3]} fails`);
  }
}
