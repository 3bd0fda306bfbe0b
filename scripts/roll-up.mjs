import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'acorn';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { root } from './run.mjs';

/**
 * The files with what the entries share, each with its modules and all that these import; they show in stack traces. `library` is what
 * applications with and without Nest load, `nest` is the rest of the main entry.
 */
const SHARED = {
  library: [
    ...['lib/connection/backend', 'lib/connection/index', 'lib/connection/locks', 'lib/connection/lock.connection'],
    ...['lib/connection/create-backend', 'lib/connection/resolve-connection', 'lib/core/lock-log'],
  ],
  nest: ['lib/index'],
  page: ['lib/console/page.generated'],
};
const SHARED_DECLARATIONS = { library: ['lib/client/index'], nest: SHARED.nest };

/** Packages stay imports; tslib alone, which holds the helpers of decorators, becomes part of the output. @param {string} id */
const external = (id) => !/^[./]/.test(id) && id !== 'tslib';

/** @type {import('rollup').Plugin} */
const version = {
  name: 'version',
  transform: (code, id) =>
    id.endsWith('/otel/version.js')
      ? `export const version = '${JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version}';`
      : null,
};

const tslibFile = fileURLToPath(import.meta.resolve('tslib/tslib.es6.mjs'));

/** @type {import('rollup').Plugin} */
const tslib = {
  name: 'tslib',
  resolveId: (id) => (id === 'tslib' ? tslibFile : null),
};

const types = dts({ tsconfig: join(root, 'tsconfig.build.json') });

/** An instruction to webpack. @param {string} comment */
const isForBundlers = (comment) => comment.startsWith(' webpackMode');
/** The first line of a program. @param {string} code @param {number} from */
const isForShells = (code, from) => from === 0 && code.startsWith('#!');

/**
 * Comments leave (the declarations have the docstrings, and editors look for them there), and indentation shrinks. Names stay: a stack trace
 * reads as the source does.
 * @param {(space: string) => string} indented what takes the place of the white space where a line begins, and of empty lines
 * @returns {import('rollup').Plugin}
 */
export const lighter = (indented) => ({
  name: 'lighter',
  renderChunk: (code) => {
    /** @type {[from: number, to: number][]} */
    const comments = [];
    /** Inside of these every space counts. @type {[from: number, to: number][]} */
    const templates = [];
    parse(code, {
      ecmaVersion: 'latest',
      sourceType: 'module',
      onComment: (_isBlock, text, from, to) =>
        !isForBundlers(text) && !isForShells(code, from) && comments.push([from, to]),
      onToken: ({ type, start, end }) => type.label === 'template' && templates.push([start, end]),
    });
    const isInTemplate = (/** @type {number} */ at) => templates.some(([from, to]) => from <= at && at < to);
    const isLineStart = (/** @type {number} */ at) => at === 0 || code[at - 1] === '\n';
    let text = '';
    let at = 0;
    for (const [from, to] of [...comments, /** @type {const} */ ([code.length, code.length])]) {
      const begin = at;
      const piece = code
        .slice(begin, from)
        .replaceAll(/(?<=^|\n)\s+/g, (space, /** @type {number} */ offset) =>
          isLineStart(begin + offset) && !isInTemplate(begin + offset) ? indented(space) : space,
        );
      const isWholeLine = /(^|\n)\s*$/.test(piece) && code[to] === '\n';
      text += from === code.length ? piece : isWholeLine ? piece.replace(/[ \t]*$/, '') : piece.trimEnd();
      at = isWholeLine ? to + 1 : to;
    }
    return { code: text, map: null };
  },
});

/** 7 kB of the tarball. */
const tabs = lighter((space) => space.replaceAll('    ', '\t'));

/**
 * Node decodes a file without other characters several times faster.
 * @type {import('rollup').Plugin}
 */
const ascii = {
  name: 'ascii',
  renderChunk: (code) =>
    code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
};

/**
 * Rollup renames the second of two classes with the same name. Nest shows the names of classes, and makes tokens of them.
 * @type {import('rollup').Plugin}
 */
const classNames = {
  name: 'class-names',
  renderChunk: (code, { fileName }) => {
    const renamed = fileName.endsWith('.d.ts') ? /\b[A-Z]\w*\$\d+\b/ : /\bclass \w+\$\d+\b/;
    const [found] = renamed.exec(code) ?? [];
    if (found !== undefined) throw new Error(`${fileName}: ${found}: two have this name; give one another name`);
    return null;
  },
};

/**
 * What an ES module imports in place of a long file: Node reads all of a CommonJS file for the names that it exports, and takes a multiple of
 * the time that it needs to run it.
 * @param {string} file @param {Iterable<string>} names
 */
const namesOf = (file, names) =>
  [
    `'use strict';`,
    `const all = require('../cjs/${file}');`,
    ...[...names].map((name) => `exports.${name} = all.${name};`),
    '',
  ].join('\n');

/**
 * What imports Nest is there as ES module and as CommonJS: Nest 12 is ESM, and jest in CommonJS loads Nest 11. So is what names the place of
 * its own file. All else is CommonJS, once, which both can load: the engine is the same for both (docs/inside/adr/0082-rolled-up.md).
 * @param {string[]} programs they are ES modules, and no CommonJS
 * @returns {import('rollup').Plugin}
 */
const onlyWhatNeedsIt = (programs) => ({
  name: 'only-what-needs-it',
  generateBundle({ format }, bundle) {
    const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
    const isProgram = (/** @type {string} */ file) => programs.includes(file.replace(/\.js$/, ''));
    if (format === 'cjs') {
      for (const { fileName } of chunks) if (isProgram(fileName)) delete bundle[fileName];
      return;
    }
    /** @param {import('rollup').OutputChunk} chunk @returns {boolean} */
    const isModule = ({ fileName, imports, code }) =>
      isProgram(fileName) ||
      code.includes('import.meta') ||
      imports.some((name) => {
        const file = bundle[name];
        return file?.type === 'chunk' ? isModule(file) : name.startsWith('@nestjs/');
      });
    const [modules, others] = [chunks.filter(isModule), chunks.filter((chunk) => !isModule(chunk))];
    for (const { fileName, code } of others) {
      const names = new Set(modules.flatMap(({ importedBindings }) => importedBindings[fileName] ?? []));
      const isLong = code.length > 50_000 && names.size > 0;
      const place = isLong ? `./${fileName.replace(/js$/, 'cjs')}` : `../cjs/${fileName}`;
      for (const chunk of modules) chunk.code = chunk.code.replaceAll(`'./${fileName}'`, `'${place}'`);
      if (isLong) this.emitFile({ type: 'asset', fileName: place.slice(2), source: namesOf(fileName, names) });
      delete bundle[fileName];
    }
  },
});

/**
 * A type that is exported as a type only: the plugin for declarations writes it like a value, and an import of it compiles.
 * @param {import('rollup').OutputChunk[]} made
 * @returns {import('rollup').Plugin}
 */
const typesAsTypes = (made) => ({
  name: 'types-as-types',
  renderChunk(code, { fileName, isEntry }) {
    const values = made.find((chunk) => chunk.fileName === fileName.replace('.d.ts', '.js'))?.exports;
    if (!isEntry || values === undefined) return null;
    const marked = (/** @type {string} */ name) =>
      values.includes(name.replace(/^.* as /, '')) ? name : `type ${name}`;
    return code.replaceAll(
      /^export \{ (.*) \}/gm,
      (_, /** @type {string} */ names) => `export { ${names.split(', ').map(marked).join(', ')} }`,
    );
  },
});

/** The comment above the first line of an entry. Rollup drops it. @param {string} file */
const heading = (file) => /^\/\*\*.*?\*\//s.exec(readFileSync(file, 'utf8'))?.[0] ?? '';

/** @param {string} modules @param {Record<string, string>} entries @param {string} extension */
const inputs = (modules, entries, extension) =>
  Object.fromEntries(Object.entries(entries).map(([name, source]) => [name, join(modules, `${source}${extension}`)]));

/** @param {Record<string, string[]>} shared @param {string} modules @param {string} extension */
const chunks = (shared, modules, extension) =>
  Object.fromEntries(
    Object.entries(shared).map(([name, files]) => [name, files.map((file) => join(modules, `${file}${extension}`))]),
  );

/**
 * @param {Record<string, string>} input by the names of the published files
 * @param {Record<string, string[]>} shared
 * @param {import('rollup').Plugin[]} plugins
 * @param {{ dir: string, format: 'es' | 'cjs', extension: string }[]} outputs
 * @returns the files, and for each its directory
 */
async function bundle(input, shared, plugins, outputs) {
  const bundled = await rollup({
    input,
    external,
    plugins,
    onLog: (_level, { message }) => {
      throw new Error(message);
    },
  });
  /** @type {{ dir: string, chunk: import('rollup').OutputChunk }[]} */
  const made = [];
  for (const { dir, format, extension } of outputs) {
    const { output } = await bundled.write({
      dir,
      format,
      entryFileNames: `[name]${extension}`,
      chunkFileNames: `[name]${extension}`,
      manualChunks: shared,
      minifyInternalExports: false,
      hoistTransitiveImports: false,
    });
    for (const chunk of output) if (chunk.type === 'chunk') made.push({ dir, chunk });
  }
  return made;
}

/**
 * @param {string} modules the directory with what tsc wrote: a .js and a .d.ts for each source
 * @param {Record<string, string>} entries the name of the published file, and its source, both without extension
 * @param {{ threads: Record<string, string>, programs: Record<string, string> }} others the same for what is JavaScript only
 * @param {string} target gets esm and cjs, the latter with all declarations
 */
export async function rollUp(modules, entries, { threads, programs }, target) {
  const [esm, cjs] = [join(target, 'esm'), join(target, 'cjs')];
  const shared = chunks(SHARED, modules, '.js');
  const made = await bundle(
    inputs(modules, { ...entries, ...threads, ...programs }, '.js'),
    { ...shared, library: [tslibFile, ...(shared['library'] ?? [])] },
    [tslib, version, tabs, ascii, classNames, onlyWhatNeedsIt(Object.keys(programs))],
    [
      { dir: esm, format: 'es', extension: '.js' },
      { dir: cjs, format: 'cjs', extension: '.js' },
    ],
  );
  // Comments are gone: it says what is where.
  const contents = made.map(({ dir, chunk: { fileName, moduleIds } }) => [
    relative(target, join(dir, fileName)),
    moduleIds.map((id) => relative(modules, id).replace(/\.js$/, '')),
  ]);
  writeFileSync(join(target, 'contents.json'), JSON.stringify(Object.fromEntries(contents), undefined, 2));
  const declarations = inputs(modules, entries, '.d.ts');
  await bundle(
    declarations,
    chunks(SHARED_DECLARATIONS, modules, '.d.ts'),
    [types, classNames, typesAsTypes(made.filter(({ dir }) => dir === cjs).map(({ chunk }) => chunk))],
    [{ dir: cjs, format: 'es', extension: '.d.ts' }],
  );
  // One set of declarations, so that a type is the same for import and require. An ES module may take it from CommonJS, not the reverse.
  for (const [name, source] of Object.entries(declarations)) {
    if (existsSync(join(esm, `${name}.js`)))
      writeFileSync(join(esm, `${name}.d.ts`), `${heading(source)}\nexport * from '../cjs/${name}.js';\n`.trimStart());
  }
}

/**
 * The conformance suite, a package of its own. It has the engine from its peer.
 * @param {string} modules as above
 * @param {string} target
 */
export async function rollUpSuite(modules, target) {
  const input = { index: 'conformance/index' };
  const [code, declarations] = [inputs(modules, input, '.js'), inputs(modules, input, '.d.ts')];
  await bundle(code, {}, [tslib, tabs, ascii], [{ dir: target, format: 'cjs', extension: '.cjs' }]);
  await bundle(declarations, {}, [types], [{ dir: target, format: 'es', extension: '.d.cts' }]);
}
