/**
 * Writes the table of metrics into docs/operate/observability.md, from the list of the library (lib/telemetry/metrics/instruments.ts).
 *
 *   npm run docs -- metrics                     builds where needed, and writes the table
 *   node scripts/write-metrics.mjs --check   exits 1 when the table is stale
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { root } from './run.mjs';

const page = join(root, 'docs', 'operate', 'observability.md');
const TABLE = /(<!-- metrics, written by npm run docs -- metrics -->\n\n).*?(\n\n<!-- end of metrics -->)/s;
/** Each metric of a lock has these. */
const COMMON = ['redis_lock_name', 'redis_lock_connection', 'redis_lock_kind'];

await build({ ifStale: true });
const built = (/** @type {string} */ file) => import(pathToFileURL(join(root, 'dist', 'modules', 'lib', file)).href);
const { instruments } = await built('telemetry/metrics/instruments.js');
const { labelOf, metricNameOf } = await built('telemetry/prometheus/prometheus-names.js');

const types = { histogram: 'histogram', counter: 'counter', updowncounter: 'gauge', gauge: 'gauge' };
/** @type {import('../lib/telemetry/metrics/instruments.js').LockInstrument[]} */
const all = Object.values(instruments);
const rows = all.map((instrument) => {
  const labels = instrument.attributes.map(labelOf);
  const isOfLock = COMMON.every((label) => labels.includes(label));
  const own = isOfLock ? labels.filter((/** @type {string} */ label) => !COMMON.includes(label)) : labels;
  const cells = [
    `\`${metricNameOf(instrument)}\``,
    types[instrument.kind],
    own.map((/** @type {string} */ label) => `\`${label}\``).join(', '),
    instrument.description,
  ];
  return `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |');
});
const table = `| Metric | Type | Its own labels | |\n| --- | --- | --- | --- |\n${rows.join('\n')}`;

const text = readFileSync(page, 'utf8');
if (!TABLE.test(text)) throw new Error('docs/operate/observability.md has no place for the table of metrics');
const fresh = text.replace(TABLE, (_, begin, end) => begin + table + end);
if (!process.argv.includes('--check')) writeFileSync(page, fresh);
else if (fresh !== text) {
  console.error('docs/operate/observability.md is stale: run npm run docs -- metrics');
  process.exitCode = 1;
}
