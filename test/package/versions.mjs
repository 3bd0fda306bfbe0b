/**
 * Tries the packed package with every supported version that is available here, and writes docs/reference/works-with.md.
 *
 *   npm run test:versions                 everything
 *   npm run test:versions -- Node Deno    some parts; the other rows of the table stay
 *
 * Runtimes, Nest, ioredis and TypeScript come from npm. Servers: those on the PATH, two that PyPI has, and the
 * programs that REDIS_SERVERS names (paths, separated as in PATH).
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from '../../scripts/build.mjs';
import { startRedis } from '../support/redis-process.mjs';
import { root, seconds } from '../../scripts/run.mjs';
import { App, dependenciesOf } from './app.mjs';
import { fromNpm, PEERS, PROGRAMS, servers, versionOf } from './programs.mjs';
import { pack } from './tarball.mjs';
import { LINES, writeTable } from './versions-table.mjs';

/** @typedef {import('./app.mjs').Runtime} Runtime */
/** @typedef {import('./app.mjs').Format} Format */
/** @typedef {import('./versions-table.mjs').Part} Part */

const wanted = /** @type {Part[]} */ (process.argv.slice(2));
const directory = mkdtempSync(join(tmpdir(), 'redis-lock-versions-'));
const total = { passed: 0, failed: 0, skipped: 0 };
/** @type {Map<Part, import('./versions-table.mjs').Tried>} */
const tried = new Map();
const FORMATS = /** @type {const} */ (['esm', 'cjs']);
const NODENEXT = { name: 'nodenext', options: { module: 'nodenext' } };

/** @param {string} name a directory of this run */
const room = (name) => join(directory, name.replaceAll(/[^\w.]+/g, '-'));

/**
 * @param {Partial<Record<Part, string>>} versions the exact ones
 * @param {() => Promise<void>} body
 */
async function attempt(versions, body) {
  const title = Object.entries(versions).flat().join(' ');
  const start = performance.now();
  let outcome = /** @type {'works' | 'fails'} */ ('works');
  try {
    await body();
    total.passed += 1;
    console.log(`✓ ${title} (${seconds(start)})`);
  } catch (error) {
    outcome = 'fails';
    total.failed += 1;
    console.log(`✗ ${title} (${seconds(start)})\n${error instanceof Error ? error.message : String(error)}`);
  }
  for (const [part, version] of /** @type {[Part, string][]} */ (Object.entries(versions))) {
    const of = tried.get(part) ?? { works: new Set(), fails: new Set() };
    of[outcome].add(version);
    tried.set(part, of);
  }
}

/** @param {string} what @param {unknown} error */
function notRun(what, error) {
  total.skipped += 1;
  console.log(`- ${what}: not run. ${String(error).split('\n').slice(0, 3).join(' ')}`);
}

/**
 * The application locks, compiled as ES modules and as CommonJS; import and require give one copy.
 * @param {App} app
 * @param {string} redisUrl
 * @param {(app: App, format: Format) => Runtime} [runtime]
 */
async function locks(app, redisUrl, runtime = () => ({})) {
  for (const format of FORMATS) {
    await app.runs(
      join('built', `${format}-nodenext`, 'app.js'),
      'locked and released',
      redisUrl,
      runtime(app, format),
    );
  }
  await app.runs(join('apps', 'single-copy.mjs'), 'one copy', redisUrl, runtime(app, 'esm'));
}

/**
 * Two processes hand one lock to each other, the first as ES modules, the second as CommonJS.
 * @param {App[]} apps
 * @param {string} redisUrl
 * @param {(app: App, format: Format) => Runtime} [runtime]
 */
async function share(apps, redisUrl, runtime = () => ({})) {
  const processes = FORMATS.map((format, index) => {
    const app = /** @type {App} */ (apps[index % apps.length]);
    const program = join('built', `${format}-nodenext`, 'neighbours.js');
    return app.runs(program, 'shared with the neighbour', redisUrl, runtime(app, format));
  });
  await Promise.all(processes);
}

/**
 * Deno gets an empty cache each time, as in a fresh container. `require()` of an ES module that imports Nest 11 hangs there,
 * with any package that has the module: the application imports the package first.
 * @param {keyof typeof PROGRAMS} part
 * @param {string} command
 * @returns {(app: App, format: Format) => Runtime}
 */
const runtimeOf = (part, command) => (_app, format) => {
  if (part !== 'Deno') return { command };
  const args = ['run', '-A', '--no-prompt', ...(format === 'cjs' ? ['--preload', join('apps', 'load-first.mjs')] : [])];
  return { command, args, env: { DENO_DIR: mkdtempSync(join(directory, 'deno-')) } };
};

/**
 * @param {keyof typeof PROGRAMS} part
 * @param {string} line
 * @param {App[]} apps
 * @param {string} redisUrl
 */
async function tryRuntime(part, line, apps, redisUrl) {
  const { name, path } = PROGRAMS[part];
  let home;
  try {
    // The oldest Node of the range, and the newest of each line.
    home = await fromNpm(room(`${part} ${line}`), name, line.includes('.') ? `${line}.0` : line);
    chmodSync(join(home, path), 0o755);
  } catch (error) {
    notRun(`${part} ${line}`, error);
    return;
  }
  const runtime = runtimeOf(part, join(home, path));
  await attempt({ [part]: versionOf(home) }, async () => {
    for (const app of apps) await locks(app, redisUrl, runtime);
    await share(apps, redisUrl, runtime);
  });
}

/**
 * @param {(typeof PEERS)[number]} peers
 * @param {string} tarball
 * @param {string} redisUrl
 */
async function tryPeers({ nest, ioredis, others }, tarball, redisUrl) {
  const title = `Nest ${nest}, ioredis ${ioredis}`;
  const types = dependenciesOf('Nest 12, ioredis 6')['@types/node'] ?? '';
  const dependencies = { '@nestjs/common': nest, '@nestjs/core': nest, ioredis, ...others, '@types/node': types };
  const app = new App(room(`peers ${title}`), title, dependencies, /^(app|neighbours|testing)\.ts$/);
  try {
    await app.install(tarball);
  } catch (error) {
    notRun(title, error);
    return;
  }
  const installed = (/** @type {string} */ name) => versionOf(join(app.directory, 'node_modules', name));
  await attempt({ Nest: installed('@nestjs/core'), ioredis: installed('ioredis') }, async () => {
    for (const format of FORMATS) await app.compiles(format, NODENEXT, { checkDeclarations: format === 'esm' });
    await locks(app, redisUrl);
    await share([app], redisUrl);
  });
}

/**
 * ES modules on Nest 12, CommonJS on Nest 11: before TypeScript 5.8 CommonJS cannot name Nest 12, which is ESM.
 * @param {string} line
 * @param {{ esm: App, cjs: App }} apps
 * @param {string} redisUrl
 */
async function tryTypeScript(line, apps, redisUrl) {
  let compiler;
  try {
    compiler = await fromNpm(room(`TypeScript ${line}`), 'typescript', `~${line}`);
  } catch (error) {
    notRun(`TypeScript ${line}`, error);
    return;
  }
  // TypeScript knows ES2023 from 5.5 on, and finds the entry that exports a type from 5.4 on.
  const terms = { target: 'ES2022', declaration: line !== '5.2' };
  await attempt({ TypeScript: versionOf(compiler) }, async () => {
    for (const format of FORMATS) {
      const nodenext = { name: `typescript-${line}`, options: { module: 'nodenext', ...terms } };
      const app = apps[format];
      const built = await app.compiles(format, nodenext, { compiler, checkDeclarations: format === 'esm' });
      await app.runs(join(built, 'app.js'), 'locked and released', redisUrl);
    }
    const options = { module: 'esnext', moduleResolution: 'bundler', ...terms };
    await apps.esm.compiles('esm', { name: `typescript-${line}-bundler`, options }, { compiler });
  });
}

/**
 * @param {Awaited<ReturnType<typeof servers>>} found
 * @param {App[]} apps
 */
async function tryServers(found, apps) {
  for (const { part, version, binary } of found.values()) {
    await attempt({ [part]: version }, async () => {
      const server = await startRedis({ binary });
      try {
        for (const app of apps) await locks(app, server.url);
        await share(apps, server.url);
      } finally {
        await server.stop();
      }
    });
  }
}

const has = (/** @type {Part[]} */ ...parts) => wanted.length === 0 || parts.some((part) => wanted.includes(part));
const unknown = wanted.filter((part) => !(part in LINES));
if (unknown.length > 0)
  throw new Error(`no such part: ${unknown.join(', ')}; there are ${Object.keys(LINES).join(', ')}`);

// First, since a wrong path in REDIS_SERVERS ends the run.
const found = has('Redis', 'Valkey') ? await servers(directory) : new Map();
const redis = await startRedis();
try {
  await build({ ifStale: true });
  const tarball = join(directory, pack(directory).filename);
  const suite = join(directory, pack(directory, join(root, 'conformance')).filename);
  const lines = /** @type {const} */ (['Nest 12, ioredis 6', 'Nest 11, ioredis 5']);
  const apps = lines.map((line) => new App(room(line), line, dependenciesOf(line)));
  for (const app of apps) {
    await app.install(tarball, suite);
    for (const format of FORMATS) await app.compiles(format, NODENEXT);
  }
  for (const part of /** @type {const} */ (['Node', 'Bun', 'Deno'])) {
    for (const line of has(part) ? LINES[part] : []) await tryRuntime(part, line, apps, redis.url);
  }
  for (const peers of has('Nest', 'ioredis') ? PEERS : []) await tryPeers(peers, tarball, redis.url);
  for (const line of has('TypeScript') ? LINES.TypeScript : []) {
    const [esm, cjs] = /** @type {[App, App]} */ (apps);
    await tryTypeScript(line, { esm, cjs }, redis.url);
  }
  await tryServers(found, apps);
} finally {
  if (tried.size > 0) writeTable(tried);
  await redis.stop();
  rmSync(directory, { recursive: true, force: true });
}
const { passed, failed, skipped } = total;
console.log(`versions: ${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed > 0 ? 1 : 0;
