/**
 * Turns lib/console/page/ into TypeScript modules, so that no bundler can lose the page of the console.
 *
 *   node scripts/embed-page.mjs   writes lib/console/*.generated.ts, which are not committed
 *
 * The modules of the script become one, in the order in which they need each other. Comments and indentation are dropped.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'acorn';
import { root } from './run.mjs';

const directory = join(root, 'lib', 'console', 'page');
const read = (/** @type {string} */ name) => readFileSync(join(directory, name), 'utf8');

/** @param {string} text */
const withoutIndentation = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');

/** Without imports, `export` and comments. @param {string} name */
function codeOf(name) {
  const source = read(name);
  /** @type {[from: number, to: number][]} */
  const dropped = [];
  const { body } = parse(source, {
    ecmaVersion: 2023,
    sourceType: 'module',
    onComment: (_isBlock, _text, from, to) => dropped.push([from, to]),
    onToken: ({ type }) => {
      // Its lines are text.
      if (type.label === 'template') throw new Error(`${name}: template literals are not supported`);
    },
  });
  for (const node of body) {
    if (node.type === 'ImportDeclaration') dropped.push([node.start, node.end]);
    if (node.type === 'ExportNamedDeclaration' && node.declaration) dropped.push([node.start, node.declaration.start]);
  }
  let code = '';
  let at = 0;
  for (const [from, to] of dropped.toSorted(([one], [other]) => one - other)) {
    if (from < at) continue;
    code += source.slice(at, from);
    at = to;
  }
  return withoutIndentation(code + source.slice(at));
}

/** The modules behind one, each once, behind those that it imports. @param {string} name @param {Set<string>} found */
function modulesOf(name, found = new Set()) {
  if (found.has(name)) return found;
  for (const node of parse(read(name), { ecmaVersion: 2023, sourceType: 'module' }).body)
    if (node.type === 'ImportDeclaration') modulesOf(String(node.source.value).replace('./', ''), found);
  return found.add(name);
}

/**
 * Two modules: each is smaller than the window of gzip (32 kB), so the second format of each takes no room in the tarball.
 * @returns {Record<string, Record<string, string>>} texts, by module
 */
function texts() {
  const html = withoutIndentation(read('index.html').replaceAll(/<!--.*?-->/gs, ''));
  const style = withoutIndentation(read('app.css').replaceAll(/\/\*.*?\*\//gs, ''));
  const script = `${[...modulesOf('app.js')].map(codeOf).join('\n')}\n`;
  // Two modules must not have one name in common: a browser would refuse the whole script.
  parse(script, { ecmaVersion: 2023, sourceType: 'module' });
  return { page: { html, style }, script: { script } };
}

/** Writes the modules where they are not what the page says. Called before anything compiles lib. */
export function writePage() {
  for (const [module, fields] of Object.entries(texts())) {
    const target = join(root, 'lib', 'console', `${module}.generated.ts`);
    const lines = Object.entries(fields).map(
      // With a type: else the declarations would hold every text once more.
      ([name, text]) => `export const ${name}: string = \`${text.replace(/[\\`]|\$\{/g, '\\$&')}\`;\n`,
    );
    const code = `// Written by scripts/embed-page.mjs from page/. Do not edit.\n${lines.join('')}`;
    if (!existsSync(target) || readFileSync(target, 'utf8') !== code) writeFileSync(target, code);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) writePage();
