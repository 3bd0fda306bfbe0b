import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/run.mjs';

const MAX_PACKED_BYTES = 370_000;
const MAX_FILES = 65;
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
  if (size > MAX_PACKED_BYTES) throw new Error(`the tarball has ${size} bytes, more than ${MAX_PACKED_BYTES}`);
  if (files.length > MAX_FILES) throw new Error(`the tarball has ${files.length} files, more than ${MAX_FILES}`);
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

/** The files that every application loads. */
export function othersLoadOnDemand() {
  for (const format of ['esm', 'cjs']) {
    for (const file of loadedBy(format, 'index').filter((name) => name.startsWith('.'))) {
      const [found] =
        /class (ClusterBackend|QuorumBackend|RedissonBackend|WorkerThread)\b/.exec(
          readFileSync(join(root, 'dist', format, file), 'utf8'),
        ) ?? [];
      if (found !== undefined) throw new Error(`dist/${format}/${file} has ${found}: each application would load it`);
    }
  }
}
