/** All checks of the code that do not run it; a problem in any step fails.
 *
 *   node scripts/lint.mjs              all steps
 *   node scripts/lint.mjs types rules   some
 */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeGenerated } from './embed.mjs';
import { root, runNode, seconds, tool } from './run.mjs';

const rooms = ['lib', 'conformance', 'sample', 'examples', 'test', 'scripts', 'site/lab', 'docs'].filter((room) =>
  existsSync(join(root, room)),
);

const oxlint = [tool('oxlint', 'bin', 'oxlint'), '--type-aware'];

/** @type {Record<string, string[]>} */
const STEPS = {
  // By the compiler in Go, which takes a third of the time. Each file has the nearest tsconfig.json. The applications of test/package import
  // the package as users do, and are compiled there.
  types: [...oxlint, '-A', 'all', '--type-check', '--ignore-pattern', 'test/package/apps/**', ...rooms, 'site'],
  format: [
    ...[tool('prettier', 'bin', 'prettier.cjs'), '--check', '--log-level', 'warn'],
    ...['--cache', '--cache-location', 'dist/.format', '--cache-strategy', 'content', '.'],
  ],
  rules: [...oxlint, '--deny-warnings', ...rooms],
  dependencies: [tool('dependency-cruiser', 'bin', 'dependency-cruise.mjs'), ...rooms],
  messages: [join(root, 'scripts', 'write-messages.mjs'), '--check'],
  metrics: [join(root, 'scripts', 'write-metrics.mjs'), '--check'],
  snippets: [join(root, 'scripts', 'write-snippets.mjs'), '--check'],
  faults: [join(root, 'scripts', 'write-faults.mjs'), '--check'],
  words: [join(root, 'scripts', 'check-words.mjs')],
};

/**
 * @param {string[]} [names]
 * @param {number} [lanes] steps at a time
 * @returns {Promise<string[]>} the steps that failed
 */
export async function lint(names = Object.keys(STEPS), lanes = Math.min(2, availableParallelism())) {
  await writeGenerated();
  const queue = [...names];
  /** @type {string[]} */
  const failed = [];
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const start = performance.now();
      const { code, output } = await runNode(STEPS[name] ?? []);
      console.log(`${code === 0 ? '✓' : '✗'} ${name} (${seconds(start)})`);
      if (code !== 0) {
        failed.push(name);
        console.log(output);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, worker));
  return failed;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const names = process.argv.slice(2);
  const unknown = names.filter((name) => !(name in STEPS));
  if (unknown.length > 0)
    throw new Error(`no such step: ${unknown.join(', ')}; there are ${Object.keys(STEPS).join(', ')}`);
  const failed = await lint(names.length > 0 ? names : undefined);
  if (failed.length > 0) {
    console.error(
      `failed: ${failed.join(', ')}${failed.includes('format') ? ' (npm run format rewrites the files)' : ''}`,
    );
    process.exitCode = 1;
  }
}
