/**
 * Turns lib/backends/redis/scripts/*.lua into one TypeScript module, so that no bundler can lose a script.
 *
 *   node scripts/embed-lua.mjs           writes lib/backends/redis/scripts.generated.ts
 *   node scripts/embed-lua.mjs --check   exits 1 when that file is not what the scripts say
 *
 * `-- include: name.lua` on a line of its own is replaced by scripts/includes/name.lua. Comments and indentation are
 * dropped: they cost bytes on every SCRIPT LOAD and are for readers of the .lua files.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const INCLUDE = /^[ \t]*--[ \t]*include:[ \t]*(\S+)[ \t]*$/gm;
const STRING_OR_COMMENT = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|--\[\[[\s\S]*?\]\]|--[^\n]*/g;

/**
 * The script with its includes in place.
 * @param {string} file
 * @param {string} includes
 * @param {string[]} [above] the files that led here
 * @returns {string}
 */
function assemble(file, includes, above = []) {
  if (above.includes(file)) throw new Error(`${[...above, file].join(' → ')}: includes itself`);
  const seen = new Set();
  return readFileSync(file, 'utf8').replace(INCLUDE, (_line, /** @type {string} */ name) => {
    const path = join(includes, name);
    if (!existsSync(path)) throw new Error(`${file}: no such include: ${path}`);
    if (seen.has(name)) throw new Error(`${file}: includes ${name} twice`);
    seen.add(name);
    return assemble(path, includes, [...above, file]);
  });
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

/** A template literal of exactly this text. @param {string} text */
const literal = (text) => `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``;

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
  const entries = files.map((name) => {
    const file = join(directory, name);
    const source = strip(assemble(file, join(directory, 'includes')), file);
    const sha1 = createHash('sha1').update(source).digest('hex');
    return `  ${camelCase(name)}: {\n    source: ${literal(source)},\n    sha1: '${sha1}',\n  },\n`;
  });
  return `// Written by scripts/embed-lua.mjs from scripts/*.lua. Do not edit: run \`npm run lua\`.\nexport const scripts = {\n${entries.join('')}} as const;\n`;
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
