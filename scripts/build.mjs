/**
 * Builds the package: dist/esm and dist/cjs, each complete before it takes the place of what was there.
 *
 *   node scripts/build.mjs                 both, from scratch; type errors fail
 *   node scripts/build.mjs --if-stale      only what its sources no longer match (the demo and the tests use this)
 *   node scripts/build.mjs esm             one format
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

/** @typedef {'esm' | 'cjs'} Format */
/** @type {Record<Format, string>} */
const CONFIGS = { esm: 'tsconfig.build.json', cjs: 'tsconfig.cjs.json' };

/** Beside the output, not in it: dist/esm and dist/cjs are what is published. @param {Format} format */
const stampOf = (format) => join(dist, `.${format}-sources`);

/** What the output depends on: the sources and the compiler's settings. @param {string[]} [directories] */
export function fingerprint(directories = ['lib']) {
  const hash = createHash('sha1');
  const sources = directories.flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.ts$|^tsconfig.*\.json$/.test(name))
      .map((name) => join(directory, name)),
  );
  for (const name of [...sources.toSorted(), 'tsconfig.json', ...Object.values(CONFIGS), 'package-lock.json']) {
    hash
      .update(name)
      .update('\0')
      .update(readFileSync(join(root, name)))
      .update('\0');
  }
  return hash.digest('hex');
}

/**
 * @param {Format} format
 * @param {string} sources their fingerprint
 * @param {boolean} keepGoing type errors are printed, but the output is used all the same
 */
async function buildOne(format, sources, keepGoing) {
  const fresh = join(dist, `.${format}-${process.pid}`);
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', CONFIGS[format], '--outDir', fresh];
  const code = await new Promise((resolve, reject) => {
    spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }).on('error', reject).on('exit', resolve);
  });
  if ((code !== 0 && !keepGoing) || !existsSync(fresh)) {
    rmSync(fresh, { recursive: true, force: true });
    throw new Error(`the ${format} build failed`);
  }
  if (format === 'cjs') writeFileSync(join(fresh, 'package.json'), '{ "type": "commonjs" }\n');
  rmSync(stampOf(format), { force: true });
  const old = join(dist, `.${format}-${process.pid}-old`);
  if (existsSync(join(dist, format))) renameSync(join(dist, format), old);
  renameSync(fresh, join(dist, format));
  rmSync(old, { recursive: true, force: true });
  // A build with errors leaves no stamp, so that the next one says them again.
  if (code === 0) writeFileSync(stampOf(format), sources);
}

/** @param {{ formats?: Format[], ifStale?: boolean, keepGoing?: boolean }} [options] */
export async function build({ formats = ['esm', 'cjs'], ifStale = false, keepGoing = false } = {}) {
  mkdirSync(dist, { recursive: true });
  const sources = fingerprint();
  const isCurrent = (/** @type {Format} */ format) => {
    const stamp = stampOf(format);
    return existsSync(join(dist, format)) && existsSync(stamp) && readFileSync(stamp, 'utf8') === sources;
  };
  const wanted = formats.filter((format) => !ifStale || !isCurrent(format));
  await Promise.all(wanted.map((format) => buildOne(format, sources, keepGoing)));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const formats = /** @type {Format[]} */ (process.argv.slice(2).filter((arg) => arg in CONFIGS));
  try {
    await build({ ...(formats.length > 0 && { formats }), ifStale: process.argv.includes('--if-stale') });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
