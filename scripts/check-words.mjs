/**
 * Finds words that hide who does what, or that readers have to look up, in the prose of pages and of code: paragraphs and tables,
 * comments, and strings (messages, titles of tests).
 *
 *   node scripts/check-words.mjs         prints each hit, and exits 1 if there is one
 *   node scripts/check-words.mjs --all   prints how many hits each room has
 *   node scripts/check-words.mjs lib     prints each hit in some rooms
 */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { root } from './run.mjs';

/** @type {Record<string, string[]>} */
const ROOMS = {
  documents: ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', '.changeset', 'sample/README.md', 'docs'],
  lib: ['lib'],
  conformance: ['conformance'],
  test: ['test'],
  sample: ['sample'],
  examples: ['examples'],
  scripts: ['scripts'],
  lab: ['site/lab'],
};

/** Generated from texts that are checked where they stand, or files that have to name the words. */
const EXCEPT = [
  'docs/reference/api.md',
  'docs/reference/messages.md',
  'docs/reference/wrong-lines.md',
  'docs/operate/performance-tables.md',
  'lib/backends/redis/scripts.generated.ts',
  'lib/backends/redis/redisson/scripts.generated.ts',
  'lib/console/page.generated.ts',
  'scripts/check-words.mjs',
  'test/unit/docs/words.spec.ts',
];

/** Word or phrase → what to write instead. A space matches the end of a line as well. */
const WORDS = {
  'whoever|whomever': "name the actor ('the caller', 'each process')",
  'whatever|whatsoever': "'any', 'every', or name the thing",
  whichever: "'any', 'the first one'",
  nobody: "'no caller', 'no process', 'no one'",
  somebody: "'another caller', 'a process'",
  'those who|they who|he who': "'callers that', 'processes that'",
  meanwhile: "'while …', 'in that time'",
  shall: "the present tense, or 'must'",
  'be had': "'available', 'free'",
  'for ever': "'forever'",
  'goes on since': "'has gone on for'",
  'be it': "'either … or'",
  '(?:is|are|was|were|be|been|being) told': "'gets', 'learns', 'is notified', or say who reports it",
  'hence|thus': "'so'",
  lest: "'so that … not'",
  thrice: "'three times'",
  albeit: "'although'",
  'thereof|therein|thereby|thereupon|hereby|whereby|wherein|whereupon|henceforth|hither|thither|whence':
    'a sentence of its own',
};

const advice = Object.entries(WORDS).map(([words, better]) => ({
  // What stands between the words of a phrase where a comment goes on in the next line.
  pattern: new RegExp(String.raw`\b(?:${words.replaceAll(' ', String.raw`[\s*/]+`)})\b`, 'gi'),
  better,
}));

/** Not a space, so that no phrase is found across code. @param {string} text */
const blank = (text) => text.replaceAll(/[^\n]/g, '\0');

/** What is no prose of a page: code, what a script wrote between markers, targets of links, titles of tests that are cited. */
const NO_PROSE = [
  /^```.*?^```/gms,
  /^<!-- (\w+):[^\n]*-->$.*?^<!-- \/\1 -->$/gms,
  /`[^`\n]*`/g,
  /\]\([^)\n]*\)/g,
  /(?<=[(|,] ?)'[^'|\n]+'/g,
];

/** @param {string} text of a page */
const pageProse = (text) => NO_PROSE.reduce((rest, pattern) => rest.replaceAll(pattern, blank), text);

/** @param {string} text of a script in Lua or Promela, whose comments are its prose */
const commentProse = (text) =>
  text
    .split(/(--[^\n]*|\/\*.*?\*\/|\/\/[^\n]*)/s)
    .map((part, index) => (index % 2 === 1 ? part : blank(part)))
    .join('');

/** Comments and strings. @param {string} text of a program in TypeScript or JavaScript */
function codeProse(text) {
  const source = ts.createSourceFile('code.ts', text, ts.ScriptTarget.Latest, true);
  let prose = '';
  const keep = (/** @type {number} */ from, /** @type {number} */ to) => {
    prose += blank(text.slice(prose.length, from)) + text.slice(from, to);
  };
  const visit = (/** @type {ts.Node} */ node) => {
    if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) return;
    if (node.getChildCount(source) > 0) return node.getChildren(source).forEach(visit);
    // A token: the comments stand in front of it.
    keep(node.pos, node.getStart(source));
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      keep(node.getStart(source), node.end);
  };
  visit(source);
  return prose;
}

/** @type {Record<string, (text: string) => string>} */
const PROSE = {
  '.md': pageProse,
  '.ts': codeProse,
  '.mjs': codeProse,
  '.js': codeProse,
  '.lua': commentProse,
  '.pml': commentProse,
};

/**
 * @param {string} file its path
 * @param {string} text
 * @returns {string[]} a line for each hit: where it is, the word, and what to write
 */
export function hits(file, text) {
  const prose = PROSE[extname(file)]?.(text) ?? '';
  return advice
    .flatMap(({ pattern, better }) =>
      [...prose.matchAll(pattern)].map(({ 0: found, index }) => ({
        line: prose.slice(0, index).split('\n').length,
        found: found.replaceAll(/[\s*/]+/g, ' '),
        better,
      })),
    )
    .toSorted((one, other) => one.line - other.line)
    .map(({ line, found, better }) => `${file}:${line} '${found}': ${better}`);
}

/** @param {string} room */
function hitsIn(room) {
  const paths = ROOMS[room];
  if (paths === undefined) throw new Error(`no such room: ${room}; there are ${Object.keys(ROOMS).join(', ')}`);
  return paths
    .flatMap((path) =>
      extname(path) === ''
        ? readdirSync(join(root, path), { recursive: true, encoding: 'utf8' }).map((file) => `${path}/${file}`)
        : [path],
    )
    .filter((file) => extname(file) in PROSE && !EXCEPT.includes(file))
    .flatMap((file) => hits(file, readFileSync(join(root, file), 'utf8')));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const args = process.argv.slice(2);
  if (args.includes('--all')) {
    for (const room of Object.keys(ROOMS)) console.log(`${room}: ${hitsIn(room).length}`);
  } else {
    const found = (args.length > 0 ? args : Object.keys(ROOMS)).flatMap(hitsIn);
    for (const hit of found) console.error(hit);
    process.exitCode = found.length > 0 ? 1 : 0;
  }
}
