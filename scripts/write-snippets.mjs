/**
 * Code in README, docs and sample/README.md is copied from files that are compiled and run. The comment in front of a block names
 * its source, a file or a region of it:
 *
 *   <!-- examples/keys.ts#function -->
 *
 * A region stands between `#region function` and `#endregion` in a comment of the source's language. Parts with one name are joined.
 *
 *   npm run docs -- snippets                     writes the blocks
 *   node scripts/write-snippets.mjs --check   exits 1 when a block is stale, has no source, or when nothing runs its source
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './run.mjs';

/** Blocks without a source: page, first line of the block, and why. What runs the block instead is named by its path. */
const WITHOUT_SOURCE = [
  [
    'README.md',
    'npm install nestjs-redis-lock ioredis',
    'installs from the registry; test/package/check.mjs installs the tarball',
  ],
  [
    'docs/start/quick-start.md',
    'npm install nestjs-redis-lock ioredis',
    'installs from the registry; test/package/check.mjs installs the tarball',
  ],
  [
    'README.md',
    'git clone https://github.com/nestjs-redis-lock/nestjs-redis-lock',
    'clones; test/e2e/demo.spec.ts runs the demo',
  ],
  ['sample/README.md', 'npm run demo', 'test/e2e/demo.spec.ts runs it with these options'],
  [
    'docs/concepts/museum.md',
    'npm run museum',
    'test/e2e/museum.spec.ts and test/e2e/museum-page.spec.ts run it with these options',
  ],
  ['sample/README.md', 'npm start', 'test/e2e/sample-http.spec.ts starts the same application'],
  ['docs/reference/cli.md', 'ACL SETUSER watcher', 'test/integration/cli/views.spec.ts reads it from the page'],
  ['docs/operate/production.md', 'ACL SETUSER locks', 'test/integration/acl.spec.ts reads it from the page'],
  ['docs/how-to/redisson.md', 'ACL SETUSER node', 'test/integration/redisson-acl.spec.ts reads it from the page'],
  ['docs/inside/verification.md', 'npm run test:model', 'npm run test:deep runs test/model/check.mjs'],
  ['docs/inside/verification.md', 'REDIS_SERVER_BIN=', 'names a server that is not here'],
  ['docs/inside/verification.md', 'REDIS_SERVERS=', 'names servers that are not here'],
  [
    'docs/inside/verification.md',
    'npm run test:chaos',
    'npm run test:deep runs test/chaos/chaos.spec.ts for some seconds',
  ],
  ['docs/inside/verification.md', 'RANDOM_RUNS=', 'test/unit/random-calls/random-calls.spec.ts makes fewer runs'],
];

/** Pages that another script writes. */
const GENERATED = [
  'docs/reference/api.md',
  'docs/reference/messages.md',
  'docs/reference/wrong-lines.md',
  'docs/operate/performance-tables.md',
];

const FENCE = /^(?:<!-- (?<source>\S+\.\w+(?:#[\w-]+)?) -->\n\n?)?^```(?<language>\w*)\n(?<code>.*?)^```$/gms;

/**
 * The lines of a region without their common indentation; all lines where no region is named.
 * @param {string} text of the source
 * @param {string | undefined} region
 * @returns {string | undefined} undefined where there is no such region
 */
export function snippet(text, region) {
  /** @type {string[][]} */
  const parts = [];
  /** @type {(string[] | undefined)[]} open regions, the innermost last */
  const open = region === undefined ? [parts[parts.push([]) - 1]] : [];
  for (const line of text.trimEnd().split('\n')) {
    const [, marker, name] = /#(region|endregion)\b ?([\w-]*)/.exec(line) ?? [];
    if (marker === 'region') open.push(name === region ? parts[parts.push([]) - 1] : undefined);
    else if (marker === 'endregion') open.pop();
    else open.find((part) => part !== undefined)?.push(line);
  }
  if (parts.length === 0) return undefined;
  return parts
    .map(
      (lines) =>
        `${withoutIndent(lines)
          .join('\n')
          .replaceAll(/^\n+|\n+$/g, '')}\n`,
    )
    .join('\n');
}

/** @param {string[]} lines */
function withoutIndent(lines) {
  const indents = lines.filter((line) => line.trim() !== '').map((line) => /^ */.exec(line)?.[0].length ?? 0);
  return lines.map((line) => line.slice(Math.min(...indents)));
}

/**
 * @param {string} page its path
 * @param {string} text of the page
 * @param {(path: string) => string | undefined} read the text of a source, undefined where there is none
 * @returns {{ text: string, problems: string[], sources: string[], excused: string[][] }} the page with fresh blocks, what is wrong, what was
 *   shown, and which blocks need no source
 */
export function refresh(page, text, read) {
  /** @type {string[]} */
  const problems = [];
  /** @type {string[]} */
  const sources = [];
  /** @type {string[][]} */
  const excused = [];
  const fresh = text.replaceAll(FENCE, (block, ...groups) => {
    const { source, language, code } = groups.at(-1);
    if (language === 'mermaid') return block;
    if (source === undefined) {
      const known = WITHOUT_SOURCE.find(([where, start = '']) => where === page && code.startsWith(start));
      if (known) excused.push(known);
      else problems.push(`${page}: a block without a source: ${code.split('\n')[0]}`);
      return block;
    }
    sources.push(source);
    const [path, region] = source.split('#');
    const file = read(path);
    const lines = file === undefined ? undefined : snippet(file, region);
    if (lines === undefined) {
      problems.push(`${page}: there is no ${source}`);
      return block;
    }
    if (language !== '' && extname(path) !== `.${language}`) problems.push(`${page}: ${source} is not ${language}`);
    return block.slice(0, block.indexOf('```')) + `\`\`\`${language}\n${lines}\`\`\``;
  });
  return { text: fresh, problems, sources, excused };
}

/** @param {string} directory @param {string} extension */
const filesIn = (directory, extension) =>
  readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(extension))
    .map((file) => join(directory, file));

/**
 * Every region of examples/ is on a page, and every file of it is named by a test.
 * @param {ReadonlySet<string>} shown
 */
function unused(shown) {
  const tests = ['.ts', '.mjs']
    .flatMap((extension) => filesIn('test', extension))
    .map((file) => readFileSync(join(root, file), 'utf8'));
  return filesIn('examples', '')
    .filter((file) => /\.\w+$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const regions = new Set([...text.matchAll(/#region ([\w-]+)/g)].map(([, name]) => `${file}#${name}`));
      const name = file.replace(/\.\w+$/, '');
      const directory = dirname(name);
      const isNamed = tests.some(
        (test) =>
          test.includes(name) ||
          (directory !== 'examples' && test.includes(directory) && test.includes(basename(name))),
      );
      return [
        ...[...regions].filter((region) => !shown.has(region)).map((region) => `${region} is on no page`),
        ...(isNamed ? [] : [`${file}: no test runs it`]),
      ];
    });
}

/**
 * Excuses that no block needs, or whose test is gone.
 * @param {ReadonlySet<string[]>} excused
 */
function stale(excused) {
  return WITHOUT_SOURCE.flatMap((entry) => {
    const [page = '', start = '', why = ''] = entry;
    const missing = (why.match(/\b(?:test|scripts)\/[\w./-]+\w/g) ?? []).filter(
      (path) => !existsSync(join(root, path)),
    );
    return [
      ...(excused.has(entry) ? [] : [`${page}: no block begins with '${start}'`]),
      ...missing.map((path) => `${page}: '${start}': there is no ${path}`),
    ];
  });
}

function main(/** @type {boolean} */ check) {
  const pages = ['README.md', 'sample/README.md', ...filesIn('docs', '.md')].filter(
    (page) => !GENERATED.includes(page),
  );
  /** @type {string[]} */
  const problems = [];
  /** @type {Set<string>} */
  const shown = new Set();
  /** @type {Set<string[]>} */
  const excused = new Set();
  for (const page of pages) {
    const before = readFileSync(join(root, page), 'utf8');
    const after = refresh(page, before, (path) => {
      const file = join(root, path);
      return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    });
    problems.push(...after.problems);
    for (const source of after.sources) shown.add(source);
    for (const entry of after.excused) excused.add(entry);
    if (after.text === before) continue;
    if (check) problems.push(`${page} is stale: run npm run docs -- snippets`);
    else writeFileSync(join(root, page), after.text);
  }
  problems.push(...unused(shown), ...stale(excused));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  main(process.argv.includes('--check'));
}
