/**
 * Turns lib/console/page/ into one TypeScript module, so that no bundler can lose the page of the console.
 *
 *   node scripts/embed-page.mjs   writes lib/console/page.generated.ts, which is not committed
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

/** The module's text. */
export function generatePage() {
  const html = withoutIndentation(read('index.html').replaceAll(/<!--.*?-->/gs, ''));
  const style = withoutIndentation(read('app.css').replaceAll(/\/\*.*?\*\//gs, ''));
  const script = [...modulesOf('app.js')].map(codeOf).join('\n');
  const fields = Object.entries({ html, style, script: `${script}\n` }).map(
    ([name, text]) => `  ${name}: \`${text.replace(/[\\`]|\$\{/g, '\\$&')}\`,\n`,
  );
  return `// Written by scripts/embed-page.mjs from page/. Do not edit.\nexport const page = {\n${fields.join('')}} as const satisfies Record<string, string> as Readonly<Record<'html' | 'style' | 'script', string>>;\n`;
}

/** Writes the module where it is not what the page says. Called before anything compiles lib. */
export function writePage() {
  const target = join(root, 'lib', 'console', 'page.generated.ts');
  const text = generatePage();
  if (existsSync(target) && readFileSync(target, 'utf8') === text) return;
  writeFileSync(target, text);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) writePage();
