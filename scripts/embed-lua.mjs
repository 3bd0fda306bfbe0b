/**
 * Turns lib/backends/redis/scripts/*.lua into one TypeScript module, so that no bundler can lose a script.
 *
 *   node scripts/embed-lua.mjs           writes lib/backends/redis/scripts.generated.ts
 *   node scripts/embed-lua.mjs --check   exits 1 when that file is not what the scripts say
 *
 * `-- include: name.lua` on a line of its own is replaced by scripts/includes/name.lua, which stands in the module once. Comments and
 * indentation are dropped: they cost bytes on every SCRIPT LOAD and are for readers of the .lua files.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const INCLUDE = /^[ \t]*--[ \t]*include:[ \t]*(\S+)[ \t]*$/gm;
const STRING_OR_COMMENT = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|--\[\[[\s\S]*?\]\]|--[^\n]*/g;

/** A script or an include: its text as Redis gets it, and the template literal that makes it. @typedef {{ text: string, literal: string }} Part */

/**
 * @param {string} file
 * @param {string} directory of the includes
 * @param {Map<string, Part>} includes those that were assembled before, by their names; what is missing is added
 * @param {string[]} [above] the files that led here
 * @returns {Part}
 */
function assemble(file, directory, includes, above = []) {
  if (above.includes(file)) throw new Error(`${[...above, file].join(' → ')}: includes itself`);
  const seen = new Set();
  /** @type {Part[]} */
  const parts = [];
  // Every second piece is the name of an include.
  for (const [index, piece] of readFileSync(file, 'utf8').split(INCLUDE).entries()) {
    if (index % 2 === 0) {
      const text = strip(piece, file);
      if (text !== '') parts.push({ text, literal: escaped(text) });
      continue;
    }
    const path = join(directory, piece);
    if (!existsSync(path)) throw new Error(`${file}: no such include: ${path}`);
    if (seen.has(piece)) throw new Error(`${file}: includes ${piece} twice`);
    seen.add(piece);
    const part = includes.get(piece) ?? assemble(path, directory, includes, [...above, file]);
    // Behind what it includes itself.
    includes.set(piece, part);
    parts.push({ text: part.text, literal: `\${${camelCase(piece)}}` });
  }
  return {
    text: parts.map(({ text }) => text).join('\n'),
    literal: parts.map(({ literal }) => literal).join('\n'),
  };
}

/**
 * Without comments, indentation and empty lines.
 * @param {string} source
 * @param {string} file for the error message
 */
export function strip(source, file) {
  const code = source.replace(STRING_OR_COMMENT, (found) => (found.startsWith('--') ? '' : found));
  // A long string may hold what looks like a comment; no script needs one, so none is allowed.
  if (/\[=*\[/.test(code.replace(STRING_OR_COMMENT, "''")))
    throw new Error(`${file}: long strings [[…]] are not supported`);
  return code
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}

/** @param {string} name `force-release.lua` → forceRelease */
const camelCase = (name) =>
  basename(name, '.lua').replace(/-(\w)/g, (_dash, /** @type {string} */ letter) => letter.toUpperCase());

/** As it stands in a template literal. @param {string} text */
const escaped = (text) => text.replace(/[\\`]|\$\{/g, '\\$&');

/**
 * The module's text, or undefined when there is no script yet.
 * @param {string} directory
 */
export function generate(directory) {
  if (!existsSync(directory)) return undefined;
  const files = readdirSync(directory)
    .filter((name) => name.endsWith('.lua'))
    .toSorted();
  if (files.length === 0) return undefined;
  /** @type {Map<string, Part>} */
  const includes = new Map();
  const entries = files.map((name) => {
    const { text, literal } = assemble(join(directory, name), join(directory, 'includes'), includes);
    const sha1 = createHash('sha1').update(text).digest('hex');
    return `  ${camelCase(name)}: {\n    source: \`${literal}\`,\n    sha1: '${sha1}',\n  },\n`;
  });
  const shared = [...includes].map(([name, { literal }]) => `const ${camelCase(name)} = \`${literal}\`;\n`);
  // With a type of its own: else the declarations that are shipped would hold every script once more.
  const names = files.map((name) => `'${camelCase(name)}'`).join(' | ');
  const type = `Readonly<Record<${names}, { readonly source: string; readonly sha1: string }>>`;
  return `// Written by scripts/embed-lua.mjs from scripts/*.lua. Do not edit: run \`npm run lua\`.\n${shared.join('')}export const scripts: ${type} = {\n${entries.join('')}};\n`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const root = join(import.meta.dirname, '..', 'lib', 'backends', 'redis');
  const target = join(root, 'scripts.generated.ts');
  const text = generate(join(root, 'scripts'));
  const current = existsSync(target) ? readFileSync(target, 'utf8') : undefined;
  if (text === current) console.log('Lua: current');
  else if (process.argv.includes('--check')) {
    console.error(`${target} is stale: run npm run lua`);
    process.exitCode = 1;
  } else if (text !== undefined) {
    writeFileSync(target, text);
    console.log(`Lua: wrote ${target}`);
  }
}
