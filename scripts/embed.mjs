/**
 * Turns what is not TypeScript into modules of TypeScript, so that no bundler can lose it. They are not committed.
 *
 *   node scripts/embed.mjs   lib/backends/redis/scripts.generated.ts from scripts/*.lua, the one in redisson/, and
 *                            lib/console/page.generated.ts from page/
 *
 * In Lua `-- include: name.lua` on a line of its own stands for scripts/includes/name.lua, and before it for what that file includes itself.
 * Each include is put into a script once, where it is needed first. Comments and indentation are dropped: they cost bytes on every SCRIPT
 * LOAD, and on the way to a browser, and are for readers of the sources.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rollup } from 'rollup';
import { lighter } from './roll-up.mjs';
import { root } from './run.mjs';

const INCLUDE = /^[ \t]*--[ \t]*include:[ \t]*(\S+)[ \t]*$/gm;
const STRING_OR_COMMENT = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|--\[\[[\s\S]*?\]\]|--[^\n]*/g;

/**
 * @param {string} file
 * @returns {{ code?: string, include?: string }[]} its parts in order
 */
function partsOf(file) {
  // Every second piece is the name of an include.
  return readFileSync(file, 'utf8')
    .split(INCLUDE)
    .map((piece, index) => (index % 2 === 1 ? { include: piece } : { code: strip(piece, file) }))
    .filter(({ code }) => code !== '');
}

/**
 * The includes of a directory: what each one needs, and its own code.
 * @param {string} directory
 * @returns {Map<string, { needs: string[], code: string }>}
 */
function readIncludes(directory) {
  const names = existsSync(directory) ? readdirSync(directory).toSorted() : [];
  return new Map(
    names.map((name) => {
      const file = join(directory, name);
      const parts = partsOf(file);
      const { code = '' } = parts.at(-1) ?? {};
      const needs = parts.slice(0, -1).flatMap(({ include }) => include ?? []);
      if (code === '' || needs.length !== parts.length - 1) throw new Error(`${file}: includes stand above its code`);
      return [name, { needs, code }];
    }),
  );
}

/**
 * @param {string} file a script
 * @param {ReturnType<typeof readIncludes>} includes
 * @returns {{ text: string, literal: string }} its text as Redis gets it, and the inside of the template literal that makes it
 */
function assemble(file, includes) {
  /** @type {{ text: string, literal: string }[]} */
  const parts = [];
  /** @type {Set<string>} */
  const present = new Set();
  const add = (/** @type {string} */ name, /** @type {string[]} */ above) => {
    if (above.includes(name)) throw new Error(`${[...above, name].join(' → ')}: includes itself`);
    if (present.has(name)) return;
    const include = includes.get(name);
    if (include === undefined) throw new Error(`${above.join(' → ')}: no such include: ${name}`);
    for (const need of include.needs) add(need, [...above, name]);
    present.add(name);
    parts.push({ text: include.code, literal: `\${${camelCase(name)}}` });
  };
  for (const { code, include } of partsOf(file)) {
    if (code !== undefined) parts.push({ text: code, literal: escaped(code) });
    else if (include !== undefined) add(include, [file]);
  }
  const joined = (/** @type {'text' | 'literal'} */ form) => parts.map((part) => part[form]).join('\n');
  return { text: joined('text'), literal: joined('literal') };
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
 * The module's text.
 * @param {string} directory
 * @param {string} [above] a directory whose includes it uses, too
 */
export function generate(directory, above = directory) {
  const files = readdirSync(directory)
    .filter((name) => name.endsWith('.lua'))
    .toSorted();
  const includes = new Map([...readIncludes(join(above, 'includes')), ...readIncludes(join(directory, 'includes'))]);
  const entries = files.map((name) => {
    const { text, literal } = assemble(join(directory, name), includes);
    const sha1 = createHash('sha1').update(text).digest('hex');
    return `  ${camelCase(name)}: {\n    source: \`${literal}\`,\n    sha1: '${sha1}',\n  },\n`;
  });
  const used = [...includes].filter(([name]) => entries.some((entry) => entry.includes(`\${${camelCase(name)}}`)));
  const shared = used.map(([name, { code }]) => `const ${camelCase(name)} = \`${escaped(code)}\`;\n`);
  // With a type of its own: else the declarations that are shipped would hold every script once more.
  const names = files.map((name) => `'${camelCase(name)}'`).join(' | ');
  const type = `Readonly<Record<${names}, { readonly source: string; readonly sha1: string }>>`;
  return `// Written by scripts/embed.mjs from scripts/*.lua. Do not edit.\n${shared.join('')}export const scripts: ${type} = {\n${entries.join('')}};\n`;
}

/** @param {string} text */
const withoutIndentation = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');

/** The module with the page of the console: its script is one module, without imports. @param {string} directory */
async function page(directory) {
  const read = (/** @type {string} */ name) => readFileSync(join(directory, name), 'utf8');
  const bundled = await rollup({ input: join(directory, 'app.js'), plugins: [lighter(() => '')] });
  const { output } = await bundled.generate({ format: 'es' });
  const texts = {
    html: withoutIndentation(read('index.html').replaceAll(/<!--.*?-->/gs, '')),
    style: withoutIndentation(read('app.css').replaceAll(/\/\*.*?\*\//gs, '')),
    script: output[0].code,
  };
  // With a type: else the declarations would hold every text once more.
  const lines = Object.entries(texts).map(([name, text]) => `export const ${name}: string = \`${escaped(text)}\`;\n`);
  return `// Written by scripts/embed.mjs from page/. Do not edit.\n${lines.join('')}`;
}

/** Writes the modules where they are not what the sources say. Called before anything compiles lib. */
export async function writeGenerated() {
  const [redis, console] = [join(root, 'lib', 'backends', 'redis'), join(root, 'lib', 'console')];
  write(join(redis, 'scripts.generated.ts'), generate(join(redis, 'scripts')));
  const redisson = join(redis, 'redisson');
  write(join(redisson, 'scripts.generated.ts'), generate(join(redisson, 'scripts'), join(redis, 'scripts')));
  write(join(console, 'page.generated.ts'), await page(join(console, 'page')));
}

/**
 * @param {string} target
 * @param {string} text
 */
function write(target, text) {
  if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await writeGenerated();
