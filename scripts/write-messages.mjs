/**
 * Writes docs/reference/messages.md: every message of the library, from the catalogues in lib (`*.messages.ts`, `refusals.ts`). The functions are
 * called with their parameters' names for values, and the comment above each is its cause.
 *
 *   npm run docs -- messages                     writes the page
 *   node scripts/write-messages.mjs --check   exits 1 when the page is stale, or when a message stands outside of a catalogue
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { build } from './build.mjs';
import { root } from './run.mjs';

const lib = join(root, 'lib');
const page = join(root, 'docs', 'reference', 'messages.md');
/** As a user meets them. */
const rooms = [
  'core',
  'key',
  'nest/base',
  'nest/method',
  'nest/around',
  'nest/request',
  'nest/module',
  'connection',
  'worker',
  'cli',
  'nest/doctor',
  'backends/redis',
  'backends/redis/redisson',
  'backends/quorum',
  'backends/memory',
  'leader',
  'telemetry/terminus',
  'telemetry/prometheus',
  'console',
  'testing',
];

const isCatalogue = (/** @type {string} */ file) => /(^|\/)(refusals|[\w-]+\.messages)\.ts$/.test(file);
/** Shipped tests have messages of their own, and one file prefixes messages with a place. */
const mayMakeErrors = (/** @type {string} */ file) => isCatalogue(file) || file === 'errors/configuration.ts';

const files = readdirSync(lib, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .toSorted();
const parse = (/** @type {string} */ file) =>
  ts.createSourceFile(file, readFileSync(join(lib, file), 'utf8'), ts.ScriptTarget.ES2023, true);

/**
 * The catalogues, as they were built.
 * @returns {Promise<Record<string, Record<string, Record<string, (...args: unknown[]) => unknown>>>>} file → catalogue → message → function
 */
async function load() {
  await build({ ifStale: true });
  /** @type {Record<string, any>} */
  const loaded = {};
  for (const file of files.filter(isCatalogue)) {
    loaded[file] = await import(pathToFileURL(join(root, 'dist', 'modules', 'lib', file.replace(/ts$/, 'js'))).href);
  }
  return loaded;
}

/** Values for parameters that are no text. @type {Record<string, unknown>} */
const objects = { holder: { method: '‹method›', label: '‹label›', host: '‹host›', pid: '‹pid›', heldFor: '‹ms›' } };

/** The text of the comment above a node, on one line. @param {ts.Node} node */
function commentOf(node) {
  const comment = ts.getJSDocCommentsAndTags(node)[0]?.comment;
  return (ts.getTextOfJSDocComment(comment) ?? '').replaceAll(/\s+/g, ' ');
}

/** The exported objects of a catalogue, as they are written. @param {string} file */
function catalogues(file) {
  const found = [];
  for (const statement of parse(file).statements) {
    if (
      !ts.isVariableStatement(statement) ||
      !statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    )
      continue;
    for (const { name, initializer } of statement.declarationList.declarations) {
      if (!initializer || !ts.isAsExpression(initializer) || !ts.isObjectLiteralExpression(initializer.expression))
        continue;
      const messages = initializer.expression.properties.map((property) => {
        if (!ts.isPropertyAssignment(property) || !ts.isArrowFunction(property.initializer))
          throw new Error(`${file}: ${property.getText()} is no arrow function`);
        const parameters = property.initializer.parameters.map((parameter) => parameter.name.getText());
        const key = ts.isStringLiteral(property.name) ? property.name.text : property.name.getText();
        return { key, parameters, cause: commentOf(property) };
      });
      found.push({ name: name.getText(), title: commentOf(statement), messages });
    }
  }
  return found;
}

async function pageText() {
  const loaded = await load();
  const roomOf = (/** @type {string} */ file) => rooms.indexOf(dirname(file));
  const sections = files
    .filter(isCatalogue)
    .toSorted((a, b) => roomOf(a) - roomOf(b))
    .flatMap((file) =>
      catalogues(file).map(({ name, title, messages }) => {
        const [heading = '', ...rest] = title.split(/(?<=\.)\s|(?<=:)\s|;\s/);
        const rows = messages.map(({ key, parameters, cause }) => {
          if (cause === '') throw new Error(`lib/${file}: ${name}.${key} has no comment that says when it is seen`);
          const values = parameters.map((parameter) => objects[parameter] ?? `‹${parameter}›`);
          const message = loaded[file]?.[name]?.[key]?.(...values);
          // An error, a finding of the doctor, or a line of the log.
          const { code, name: type, message: text } = typeof message === 'string' ? { message } : Object(message);
          if (typeof text !== 'string') throw new Error(`lib/${file}: ${name}.${key} has no text`);
          const kind = code ?? type ?? 'log';
          return `| \`${text.replaceAll('|', '\\|').replaceAll('\n', ' ')}\` | ${kind === 'log' ? 'log' : `\`${kind}\``} | ${cause.replaceAll('|', '\\|')} |`;
        });
        return [
          `## ${heading.replace(/[.:]$/, '')}`,
          rest.length > 0 ? `${rest.join(' ').replace(/^./, (letter) => letter.toUpperCase())}` : '',
          `| Message | Code | When |\n| --- | --- | --- |\n${rows.join('\n')}`,
        ]
          .filter((part) => part !== '')
          .join('\n\n');
      }),
    );
  const text = [
    '# Messages',
    '<!-- Written by scripts/write-messages.mjs. Do not edit: run npm run docs -- messages. -->',
    'Every message of this library, generated from its code. `‹…›` stands for what is filled in. Match on `code`, never on messages: [errors](errors.md).',
    'A message about a decorated method has its place in front: `@DistributedLock on TicketOffice.buy: …` when the class is loaded, `TicketOffice.buy: …` at a call; ' +
      'one about options `RedisLockModule.forRoot: …` or `RedisLockService.acquire: …`. `‹where›` is class and method of a decorated method, and the label of the call (option label); without both it is left out.',
    ...sections,
  ].join('\n\n');
  return `${text}\n`;
}

/** Errors and log lines outside of a catalogue: they would be missing on the page. */
function strays() {
  /** @type {string[]} */
  const found = [];
  for (const file of files.filter((name) => !mayMakeErrors(name) && !name.startsWith('errors/'))) {
    const source = parse(file);
    const visit = (/** @type {ts.Node} */ node) => {
      const isError = ts.isNewExpression(node) && /^Lock\w*Error$/.test(node.expression.getText());
      const isLine =
        ts.isCallExpression(node) &&
        /\blog(ger)?\.(log|warn|error)$/.test(node.expression.getText()) &&
        (ts.isStringLiteralLike(node.arguments[0] ?? node) || ts.isTemplateExpression(node.arguments[0] ?? node));
      if (isError || isLine) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        found.push(`lib/${file}:${line + 1}: this message belongs into the catalogue of its room (*.messages.ts)`);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

const text = await pageText();
if (process.argv.includes('--check')) {
  const problems = strays();
  if (readFileSync(page, 'utf8') !== text)
    problems.push('docs/reference/messages.md is stale: run npm run docs -- messages');
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
} else writeFileSync(page, text);
