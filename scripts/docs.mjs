/**
 * The documents: their site, the pages that are generated, and the pictures.
 *
 *   npm run docs                               the site while you write: http://localhost:5173
 *   npm run docs -- build                      dist/site, for any file server; a dead link fails
 *   DOCS_BASE=/locks/ npm run docs -- build    for a server that has it under a path
 *   npm run docs -- messages                   writes a page or a picture: WRITERS has the names
 *
 * The tools of the site are a package of their own (site/), so that `npm ci` of the repository does not install them: the first run here
 * does.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, runNode } from './run.mjs';

/** What writes a page (with --check it only says whether the page is current) or draws a picture. */
export const WRITERS = {
  api: 'scripts/write-api-report.mjs',
  faults: 'scripts/write-faults.mjs',
  messages: 'scripts/write-messages.mjs',
  metrics: 'scripts/write-metrics.mjs',
  snippets: 'scripts/write-snippets.mjs',
  'wrong-lines': 'test/wrong-lines/write.mjs',
  walk: 'docs/walk/walk.mjs',
  console: 'docs/pictures/console.mjs',
  sale: 'docs/pictures/sale.mjs',
  lab: 'site/bundle-lab.mjs',
};

const site = join(root, 'site');
const lockOfInstalled = join(site, 'node_modules', '.package-lock.json');

/** @returns {boolean} whether the packages of the lock are there */
function isInstalled() {
  if (!existsSync(lockOfInstalled)) return false;
  const versions = (/** @type {string} */ file) =>
    Object.entries(JSON.parse(readFileSync(file, 'utf8')).packages).flatMap(([path, { version, optional }]) =>
      path === '' || optional ? [] : [`${path}@${version}`],
    );
  const there = new Set(versions(lockOfInstalled));
  return versions(join(site, 'package-lock.json')).every((name) => there.has(name));
}

/** Installs the packages of the site, unless they are there. @throws Error when npm cannot */
export async function install({ echo = false } = {}) {
  if (isInstalled()) return;
  const { code, output } = await runNode(['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    command: 'npm',
    cwd: site,
    echo,
  });
  if (code !== 0) throw new Error(`npm ci in site/ failed:\n${output}`);
}

/**
 * @param {string[]} args of VitePress
 * @param {{ echo?: boolean, env?: NodeJS.ProcessEnv }} [options]
 */
export async function vitepress(args, { echo = false, env = {} } = {}) {
  await install({ echo });
  const [command = '', ...rest] = args;
  const program = join(site, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
  return runNode([program, command, site, ...rest], { cwd: site, echo, env });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [what = 'dev', ...args] = process.argv.slice(2);
  const writer = new Map(Object.entries(WRITERS)).get(what);
  if (writer === undefined && !['dev', 'build', 'preview'].includes(what))
    throw new Error(`npm run docs -- ${what}: there are dev, build, preview, ${Object.keys(WRITERS).join(', ')}`);
  const done = writer
    ? runNode([join(root, writer), ...args], { echo: true })
    : vitepress([what, ...args], { echo: true });
  process.exitCode = (await done).code;
}
