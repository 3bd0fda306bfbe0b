/** Builds the sample's processes into dist/sample, unless their sources are the same as at the last time. For the demo and its tests. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, fingerprint } from './build.mjs';
import { root, runNode, tool } from './run.mjs';

const stamp = join(root, 'dist', '.sample-sources');

/** @throws what the compiler says */
export async function buildSample() {
  await build({ ifStale: true });
  const sources = fingerprint(['lib', 'conformance', 'sample', 'scripts', 'test/support']);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === sources && existsSync(join(root, 'dist', 'sample'))) return;
  rmSync(stamp, { force: true });
  const { code, output } = await runNode([tool('@nestjs', 'cli', 'bin', 'nest.js'), 'build', 'sample']);
  if (code !== 0) throw new Error(output);
  writeFileSync(stamp, sources);
}
