/**
 * What a user gets: packs the package and uses it as he would, in ESM and CommonJS applications on both lines of Nest.
 *
 *   node test/package/check.mjs [--report file.json] [--keep]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { build } from '../../scripts/build.mjs';
import { redisForThisRun } from '../support/redis-process.mjs';
import { root, runNode, seconds } from '../../scripts/run.mjs';
import { App, dependenciesOf, LINES, OLDEST } from './app.mjs';
import { BUNDLERS, bundlerChecks } from './bundlers.mjs';
import { changesetsBecomeTheChangelog } from './releases.mjs';
import {
  clientLoadsNoNest,
  exportsExist,
  most,
  onlyIntendedFiles,
  othersLoadOnDemand,
  pack,
  smallEnough,
  telemetryLoadsNothing,
  workerLoadsNoNest,
} from './tarball.mjs';
import { savedWhileLocked, WATCHING } from './watch.mjs';
import { tableIsComplete } from './versions-table.mjs';

const result = { passed: 0, failed: 0, skipped: 0 };

/**
 * @template T
 * @param {string} title
 * @param {() => T | Promise<T>} body
 * @returns {Promise<T | undefined>} undefined when it failed
 */
async function check(title, body) {
  const start = performance.now();
  try {
    const value = await body();
    result.passed += 1;
    console.log(`✓ ${title} (${seconds(start)})`);
    return value;
  } catch (error) {
    result.failed += 1;
    console.log(`✗ ${title} (${seconds(start)})\n${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** For Node 10's resolution, Node 16's and a bundler's. @param {string} file the tarball */
async function typesResolve(file) {
  const data = createPackageFromTarballData(new Uint8Array(readFileSync(file)));
  const analysis = await checkPackage(data);
  const problems = analysis.types === false ? [{ kind: 'no types at all' }] : analysis.problems;
  if (problems.length > 0) throw new Error(problems.map((problem) => JSON.stringify(problem)).join('\n'));
}

/** @param {string} file the tarball */
async function wellFormed(file) {
  const tarball = new Uint8Array(readFileSync(file)).buffer;
  const { messages, pkg } = await publint({ strict: true, pack: { tarball } });
  if (messages.length > 0) throw new Error(messages.map((message) => formatMessage(message, pkg ?? {})).join('\n'));
}

/** `npm run docs -- api` writes it. */
async function apiIsReported() {
  const { code, output } = await runNode([join(root, 'scripts', 'write-api-report.mjs'), '--check']);
  if (code !== 0) throw new Error(output);
}

/** What the applications of `apps` say when all is well, and what that shows. */
const PROGRAMS = /** @type {const} */ ([
  ['app.js', 'locked and released', 'locks a method on Redis'],
  ['trace.js', 'traced to the method', 'shows the method and named functions in a stack trace'],
  ['testing.js', 'tested without Redis', 'tests without Redis'],
  ['messages.js', 'locked messages and jobs', 'locks messages, jobs and providers of each message'],
  ['health.js', 'healthy, and impaired after a loss', 'responds on a health route of Terminus'],
  ['metrics.js', 'measured', 'measures with prom-client'],
  ['console.js', 'seen and released', 'shows and releases locks by the console'],
  ['own-format.js', 'answered in its own format', 'leaves lock errors to filters of the application'],
  ['http.js', 'locked over HTTP and WebSocket', 'locks routes of Express and Fastify, and messages of a gateway'],
]);

/** Runs in both applications at the same time; `compiles` has made it. */
const NEIGHBOURS = join('built', 'esm-nodenext', 'neighbours.js');

/**
 * @param {App} app
 * @param {{ tarball: string, suite: string }} packed
 * @param {string} redisUrl
 */
async function checkApp(app, { tarball, suite }, redisUrl) {
  const { line } = app;
  const installed = await check(`${line}: npm installs it without a conflict of peers`, async () => {
    await app.install(tarball, suite);
    return true;
  });
  if (!installed) return;
  await check(`${line}: import and require give one copy`, () => app.loadsOnce());
  if (line.startsWith('Nest 11')) {
    await check(`${line}: jest in CommonJS loads the CommonJS build`, () => app.loadsInJest());
  }
  await check(`${line}: the CommonJS build loads by itself`, () => app.loadsAsPlainCommonJs());
  await check(`${line}: two copies in one application tell each other's errors apart`, () =>
    app.tellsErrorsOfBothCopies(redisUrl),
  );
  for (const compiler of /** @type {const} */ (['tsc', 'swc', 'esbuild'])) {
    await check(`${line}, ${compiler}: each wrong line gets its answer`, () => app.answersWrongLines(compiler));
  }
  const builder = line.startsWith('Nest 12') ? 'swc' : 'tsc';
  await check(`${line}, ${builder}: nest start --watch, and a save while a locked request runs`, () =>
    savedWhileLocked(app, builder, redisUrl),
  );
  for (const format of /** @type {const} */ (['esm', 'cjs'])) {
    const nodenext = { name: 'nodenext', options: { module: 'nodenext' } };
    const programs = await check(`${line}, ${format}: compiles`, () =>
      app.compiles(format, nodenext, { checkDeclarations: format === 'esm' && line.startsWith('Nest 12') }),
    );
    if (programs === undefined) continue;
    for (const [program, words, title] of PROGRAMS) {
      await check(`${line}, ${format}: ${title}, and ends by itself`, () =>
        app.runs(join(programs, program), words, redisUrl),
      );
    }
  }
  // ES modules of the package on Nest 12, CommonJS on Nest 11.
  const format = line.startsWith('Nest 12') ? 'esm' : 'cjs';
  for (const { title, body } of bundlerChecks(app, format, redisUrl)) await check(`${line}, ${format}, ${title}`, body);
}

/** The oldest Nest of the range. @param {string} directory @param {string} tarball @param {string} redisUrl */
async function checkOldest(directory, tarball, redisUrl) {
  const app = new App(directory, 'Nest 11.0', OLDEST, /^(app|own-format)\.ts$/);
  await app.install(tarball);
  await app.answersWrongLines('tsc');
  for (const format of /** @type {const} */ (['esm', 'cjs'])) {
    const programs = await app.compiles(format, { name: 'nodenext', options: { module: 'nodenext' } });
    await app.runs(join(programs, 'app.js'), 'locked and released', redisUrl);
    await app.runs(join(programs, 'own-format.js'), 'answered in its own format', redisUrl);
  }
}

/** Scripts and workers. @param {string} directory @param {string} tarball @param {string} redisUrl */
async function checkScript(directory, tarball, redisUrl) {
  const { ioredis = '', '@types/node': types = '' } = dependenciesOf('Nest 12, ioredis 6');
  const app = new App(directory, 'without Nest', { ioredis, '@types/node': types }, /^script\.ts$/);
  await app.install(tarball);
  for (const format of /** @type {const} */ (['esm', 'cjs'])) {
    const nodenext = { name: 'nodenext', options: { module: 'nodenext' } };
    const programs = await app.compiles(format, nodenext, { checkDeclarations: true });
    await app.runs(join(programs, 'script.js'), 'locked without Nest', redisUrl);
  }
  // As npx runs it.
  const command = join(directory, 'node_modules', '.bin', 'nestjs-redis-lock');
  const token = ['run', `script-${process.pid}`, '--', 'sh', '-c', 'echo "token $LOCK_FENCING_TOKEN"'];
  const output = await app.run(token, { REDIS_URL: redisUrl }, command);
  if (!/^token \d+$/m.test(output)) throw new Error(output);
}

const directory = mkdtempSync(join(tmpdir(), 'redis-lock-package-'));
const redis = await redisForThisRun();
try {
  const packed = await check('builds and packs', async () => {
    await build({ ifStale: true });
    return { ...pack(directory), suite: pack(directory, join(root, 'conformance')).filename };
  });
  if (packed !== undefined) {
    const [tarball, suite] = /** @type {const} */ ([join(directory, packed.filename), join(directory, packed.suite)]);
    await check('docs/reference/api.md says what is exported', apiIsReported);
    await check('only intended files are published', () => onlyIntendedFiles(packed));
    await check('every exported path is published', () => exportsExist(packed));
    await check(
      'an application without a cluster, a quorum, Redisson or a worker loads nothing of them but the check of their options',
      othersLoadOnDemand,
    );
    await check('the set-up of OpenTelemetry loads no Nest and no ioredis', telemetryLoadsNothing);
    await check('the client and the command line load ioredis and ms, and no Nest', clientLoadsNoNest);
    await check('the thread of a renewal worker loads ioredis and ms, and no Nest', workerLoadsNoNest);
    await check(`the tarball has at most ${most.kilobytes} kB and ${most.files} files`, () => smallEnough(packed));
    await check('publint finds nothing, in both packages', async () => {
      await wellFormed(tarball);
      await wellFormed(suite);
    });
    await check('arethetypeswrong finds nothing, in both packages', async () => {
      await typesResolve(tarball);
      await typesResolve(suite);
    });
    await check('the table of versions is complete', tableIsComplete);
    await check('the changesets become the CHANGELOG of the next version', () =>
      changesetsBecomeTheChangelog(directory),
    );
    await check(
      'with nothing but ioredis installed, a script locks in ESM and CommonJS, and so does a command of the shell',
      () => checkScript(join(directory, 'script'), tarball, redis.url),
    );
    await check('Nest 11.0: wrong lines get their answers, and filters of the application lock errors', () =>
      checkOldest(join(directory, 'Nest-11.0'), tarball, redis.url),
    );
    const lines = /** @type {(keyof typeof LINES)[]} */ (Object.keys(LINES));
    const apps = lines.map(
      (line) =>
        new App(join(directory, line.replaceAll(/\W+/g, '-')), line, {
          ...dependenciesOf(line),
          ...BUNDLERS,
          ...WATCHING[line],
        }),
    );
    await Promise.all(apps.map((app) => checkApp(app, { tarball, suite }, redis.url)));
    await check(`${lines.join(' and ')}: processes of both share one queue of one lock`, async () => {
      const programs = apps.map((app) => app.runs(NEIGHBOURS, 'shared with the neighbour', redis.url));
      await Promise.all(programs);
    });
    // Alone: it works in real time, for half a minute.
    await check('the packed suite checks a backend of an application', async () => {
      const program = join('built', 'esm-nodenext', 'own-backend.js');
      await apps[0]?.runs(program, 'an own backend keeps its promises', redis.url, { patience: 120_000 });
    });
  }
} finally {
  await redis.stop();
  if (process.argv.includes('--keep')) console.log(`kept ${directory}`);
  else rmSync(directory, { recursive: true, force: true });
}

const report = process.argv.indexOf('--report');
if (report > 0) writeFileSync(process.argv[report + 1] ?? '', JSON.stringify(result));
const { passed, failed, skipped } = result;
console.log(`package: ${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed > 0 ? 1 : 0;
