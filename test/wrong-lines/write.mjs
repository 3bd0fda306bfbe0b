/**
 * Writes docs/reference/wrong-lines.md: runs each wrong line against the built package.
 *
 *   npm run docs -- wrong-lines
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from '../../scripts/build.mjs';
import { root } from '../../scripts/run.mjs';

await build({ ifStale: true });
const { answerTo } = await import('./run.mjs');
const { groups } = await import('./groups.mjs');
const { pageOf } = await import('./page.mjs');
/** @type {[import('./run.mjs').Group, import('./run.mjs').Answer[]][]} */
const seen = [];
for (const group of groups) {
  const answers = [];
  for (const row of group.rows) answers.push(await answerTo(row, join(root, 'dist', 'esm', 'cli.js')));
  seen.push([group, answers]);
}
writeFileSync(join(root, 'docs', 'reference', 'wrong-lines.md'), pageOf(seen));
