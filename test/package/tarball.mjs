import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, posix } from 'node:path';
import { root } from '../../scripts/run.mjs';

/** Of the tarball. */
export const most = { kilobytes: 300, files: 50 };
/** What may be published; anything else in the tarball is an accident. */
const INTENDED =
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|dist\/(esm|cjs)\/[\w.-]+\.(c?js|d\.ts)|dist\/cjs\/package\.json)$/;

/**
 * @typedef {{ filename: string, size: number, files: { path: string, size: number }[] }} Packed
 * @typedef {Record<string, unknown>} Manifest
 */

/**
 * @param {string} directory
 * @param {string} [home] of the package
 * @returns {Packed}
 */
export function pack(directory, home = root) {
  // dist is built by now; prepack would build it again.
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', directory];
  return JSON.parse(execFileSync('npm', args, { cwd: home, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))[0];
}

/** @param {Packed} packed */
export function onlyIntendedFiles({ files }) {
  const strange = files.filter(({ path }) => !INTENDED.test(path) || /\.(spec|test)\./.test(path));
  if (strange.length > 0) throw new Error(`not meant to be published: ${strange.map(({ path }) => path).join(', ')}`);
}

/** @param {Packed} packed */
export function smallEnough({ size, files }) {
  if (size > most.kilobytes * 1000) throw new Error(`the tarball has ${size} bytes`);
  if (files.length > most.files) throw new Error(`the tarball has ${files.length} files`);
}

/** @param {Packed} packed */
export function exportsExist({ files }) {
  const shipped = new Set(files.map(({ path }) => `./${path}`));
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  /** @param {unknown} value @returns {string[]} */
  const targets = (value) => (typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(targets));
  const missing = [...targets(manifest.exports), manifest.main, manifest.types].filter((path) => !shipped.has(path));
  if (missing.length > 0) throw new Error(`exported but not in the tarball: ${missing.join(', ')}`);
}

/** The formats of an entry: ES modules where they are needed (scripts/roll-up.mjs), CommonJS always. @param {string} entry */
const formatsOf = (entry) => ['esm', 'cjs'].filter((format) => existsSync(join(root, 'dist', format, `${entry}.js`)));

/** The files in dist, and the packages, that an entry loads at once. @param {string} format @param {string} entry */
function loadedBy(format, entry) {
  const loaded = new Set([`${format}/${entry}.js`]);
  for (const file of loaded) {
    const code = isOurs(file) ? readFileSync(join(root, 'dist', file), 'utf8') : '';
    for (const [, name = ''] of code.matchAll(/(?:^(?:import|export) .* from |\brequire\()'([^']+)'/gm))
      loaded.add(name.startsWith('.') ? posix.join(posix.dirname(file), name) : name);
  }
  return [...loaded].filter((name) => !builtinModules.includes(name.replace('node:', '')));
}

const isOurs = (/** @type {string} */ name) => /^(esm|cjs)\//.test(name);

/** @param {string[]} entries @param {RegExp} allowed what they load */
function loadOnly(entries, allowed) {
  for (const entry of entries)
    for (const format of formatsOf(entry)) {
      const foreign = loadedBy(format, entry).filter((name) => !allowed.test(name));
      if (foreign.length > 0) throw new Error(`dist/${format}/${entry}.js loads ${foreign.join(', ')}`);
    }
}

/** An SDK has to be set up before the application loads what it instruments: Nest, ioredis. */
export const telemetryLoadsNothing = () => loadOnly(['otel'], /^(cjs\/(?!library|nest)|@opentelemetry\/api$)/);

/** They are for processes without Nest. */
export const clientLoadsNoNest = () => loadOnly(['client', 'backend', 'cli'], /^((esm|cjs)\/(?!nest)|ioredis$|ms$)/);

/** Its heap and its start are those of a thread: the engine, and no Nest. */
export const workerLoadsNoNest = () =>
  loadOnly(['renewal-worker'], /^(cjs\/(renewal-worker|library|shared-clock)\.js|ioredis|ms)$/);

/** What only some applications use. */
const ON_DEMAND = /^lib\/(backends\/quorum|backends\/redis\/(cluster|redisson)|worker)\//;
/** They check options, which is done before a backend is loaded. */
const CHECKS = new Set([
  'lib/backends/quorum/quorum-rules',
  'lib/backends/quorum/quorum.messages',
  'lib/backends/redis/cluster/cluster-options',
]);

/** The modules that every application loads. */
export function othersLoadOnDemand() {
  /** @type {Record<string, string[]>} */
  const contents = JSON.parse(readFileSync(join(root, 'dist', 'contents.json'), 'utf8'));
  const known = Object.values(contents).flat();
  for (const module of CHECKS) if (!known.includes(module)) throw new Error(`there is no ${module}`);
  for (const format of ['esm', 'cjs']) {
    const loaded = loadedBy(format, 'index').flatMap((file) => contents[file] ?? []);
    if (!loaded.includes('lib/index')) throw new Error(`dist/contents.json does not know dist/${format}/index.js`);
    const early = loaded.filter((module) => ON_DEMAND.test(module) && !CHECKS.has(module));
    if (early.length > 0) throw new Error(`dist/${format}: each application would load ${early.join(', ')}`);
  }
}
