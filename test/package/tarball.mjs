import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/run.mjs';

/** Of the tarball. */
export const most = { kilobytes: 440, files: 75 };
/** What may be published; anything else in the tarball is an accident. */
const INTENDED =
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|dist\/(esm|cjs)\/[\w.-]+\.(js|d\.ts)|dist\/cjs\/package\.json)$/;

/**
 * @typedef {{ filename: string, size: number, files: { path: string, size: number }[] }} Packed
 * @typedef {Record<string, unknown>} Manifest
 */

/**
 * @param {string} directory
 * @returns {Packed}
 */
export function pack(directory) {
  // dist is built by now; prepack would build it again.
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', directory];
  return JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))[0];
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

/** The files and packages that an entry loads at once. @param {string} format @param {string} entry */
function loadedBy(format, entry) {
  const loaded = new Set([`./${entry}.js`]);
  for (const file of loaded) {
    const code = file.startsWith('.') ? readFileSync(join(root, 'dist', format, file), 'utf8') : '';
    for (const [, name = ''] of code.matchAll(/(?:^(?:import|export) .* from |\brequire\()'([^']+)'/gm))
      loaded.add(name);
  }
  return [...loaded].filter((name) => !name.startsWith('node:'));
}

/** An SDK has to be set up before the application loads what it instruments: Nest, ioredis. */
export function telemetryLoadsNothing() {
  for (const format of ['esm', 'cjs']) {
    const foreign = loadedBy(format, 'otel').filter(
      (name) => name === './library.js' || !/^(\.|@opentelemetry\/api$)/.test(name),
    );
    if (foreign.length > 0) throw new Error(`dist/${format}/otel.js loads ${foreign.join(', ')}`);
  }
}

/** They are for processes without Nest. */
export function clientLoadsNoNest() {
  const files = /** @type {const} */ ([
    ['esm', 'client'],
    ['cjs', 'client'],
    ['esm', 'cli'],
  ]);
  for (const [format, entry] of files) {
    const foreign = loadedBy(format, entry).filter((name) => name === './nest.js' || !/^(\.|ioredis$|ms$)/.test(name));
    if (foreign.length > 0) throw new Error(`dist/${format}/${entry}.js loads ${foreign.join(', ')}`);
  }
}

/** Its heap and its start are those of a thread: the engine, and no Nest. */
export function workerLoadsNoNest() {
  for (const format of ['esm', 'cjs']) {
    const foreign = loadedBy(format, 'renewal-worker').filter(
      (name) => !/^(\.\/(renewal-worker|library|leases)\.js|ioredis|ms)$/.test(name),
    );
    if (foreign.length > 0) throw new Error(`dist/${format}/renewal-worker.js loads ${foreign.join(', ')}`);
  }
}

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
    const files = loadedBy(format, 'index').filter((name) => name.startsWith('.'));
    const loaded = files.flatMap((file) => contents[join(format, file)] ?? []);
    if (!loaded.includes('lib/index')) throw new Error(`dist/contents.json does not know dist/${format}/index.js`);
    const early = loaded.filter((module) => ON_DEMAND.test(module) && !CHECKS.has(module));
    if (early.length > 0) throw new Error(`dist/${format}: each application would load ${early.join(', ')}`);
  }
}
