/**
 * Writes docs/reference/api.md: what the packages export, with its comments. A change of the public API is seen there in a review.
 *
 *   npm run docs -- api                            builds where needed, and writes the page
 *   node scripts/write-api-report.mjs --check   exits 1 when the page is stale
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';
import { build } from './build.mjs';
import { root } from './run.mjs';

const page = join(root, 'docs', 'reference', 'api.md');
const printer = ts.createPrinter();

/** The subpaths of both packages that have types, with their declaration files. @returns {[path: string, file: string][]} */
function entryPoints() {
  const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const own = Object.entries(/** @type {Record<string, any>} */ (exports)).flatMap(([path, conditions]) => {
    const types = conditions.import?.types ?? conditions.types;
    return types === undefined ? [] : [/** @type {[string, string]} */ ([join(name, path), join(root, types)])];
  });
  return [...own, ['nestjs-redis-lock-conformance', join(root, 'conformance', 'dist', 'index.d.cts')]];
}

/** Private and internal members are left out. @param {ts.Node} member */
const isPublic = (member) =>
  !ts.getJSDocTags(member).some(({ tagName }) => tagName.text === 'internal') &&
  !(ts.canHaveModifiers(member) && ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword));

/** A declaration without its internal parts. @param {ts.Declaration} declaration */
function publicPart(declaration) {
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  const { factory } = ts;
  if (!ts.isClassDeclaration(node)) return node;
  const members = node.members.filter(isPublic);
  return factory.updateClassDeclaration(
    node,
    node.modifiers,
    node.name,
    node.typeParameters,
    node.heritageClauses,
    members,
  );
}

/** A comment of the code in Markdown. @param {string} comment */
const prose = (comment) =>
  comment.replaceAll(/\{@link ([^}|]+?)(?:\|([^}]+))?\}/g, (_, name, text) => text ?? `\`${name}\``);

/** What an earlier section has shown. @type {Set<ts.Symbol>} */
const shown = new Set();

/**
 * A heading for each name, its comment, and its declarations. Names of earlier sections are only listed.
 * @param {Iterable<ts.Symbol>} symbols
 * @param {ts.TypeChecker} checker
 */
function declarationsOf(symbols, checker) {
  const all = [...symbols].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const again = all.filter((symbol) => shown.has(symbol)).map(({ name }) => `[\`${name}\`](#${name.toLowerCase()})`);
  const sorted = all.filter((symbol) => !shown.has(symbol));
  for (const symbol of sorted) shown.add(symbol);
  /** @type {Set<string>} one statement may declare several */
  const seen = new Set();
  const parts = sorted
    .flatMap((symbol) => {
      const code = (symbol.declarations ?? [])
        .map((declaration) =>
          printer
            .printNode(ts.EmitHint.Unspecified, publicPart(declaration), declaration.getSourceFile())
            // The comment of the declaration itself stands above the block.
            .replace(/^(?:\s*\/\*\*(?:[^*]|\*(?!\/))*\*\/)+\s*/, ''),
        )
        .filter((text) => !seen.has(text) && seen.add(text))
        .join('\n\n');
      const about = prose(ts.displayPartsToString(symbol.getDocumentationComment(checker)));
      return code === '' ? [] : [`### ${symbol.name}`, about, `\`\`\`ts\n${code}\n\`\`\``];
    })
    .filter((part) => part !== '');
  return [...(again.length > 0 ? [`As above: ${again.join(', ')}.`] : []), ...parts].join('\n\n');
}

/**
 * What the declarations of these symbols name, of this package and no class: a user meets its shape without being able to import it.
 * @param {ReadonlySet<ts.Symbol>} symbols
 * @param {ts.TypeChecker} checker
 * @param {(symbol: ts.Symbol) => ts.Symbol} origin
 */
function namedBeside(symbols, checker, origin) {
  /** @type {Set<ts.Symbol>} */
  const found = new Set();
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node);
      const named = symbol && origin(symbol);
      const declaration = named?.declarations?.[0];
      const isTopLevel =
        declaration && (ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration).parent;
      if (
        named &&
        isTopLevel &&
        ts.isSourceFile(isTopLevel) &&
        !isTopLevel.fileName.includes('node_modules') &&
        // The members of a class that is only a type are its own business; those of a base are inherited.
        (!ts.isClassDeclaration(declaration) || ts.isExpressionWithTypeArguments(node.parent)) &&
        !symbols.has(named) &&
        !found.has(named)
      ) {
        found.add(named);
        named.declarations?.map(publicPart).forEach(visit);
      }
    }
    if (isPublic(node)) ts.forEachChild(node, visit);
  };
  for (const { declarations = [] } of symbols) declarations.map(publicPart).forEach(visit);
  return found;
}

/**
 * What an application cannot import, and may have to: a compiler that writes its declarations names it there. A value that a type is read from, and
 * a generic type that only computes another one, the compiler writes out.
 * @param {ReadonlySet<ts.Symbol>} named
 */
function refuseUnexported(named) {
  const met = [...named].filter(({ declarations: [declaration] = [] }) => {
    const computes = declaration && ts.isTypeAliasDeclaration(declaration) && declaration.typeParameters;
    return declaration && !ts.isVariableDeclaration(declaration) && !computes;
  });
  if (met.length === 0) return;
  throw new Error(`stands in a public type, and no entry exports it: ${met.map(({ name }) => name).join(', ')}`);
}

async function pageText() {
  const entries = entryPoints();
  const options = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023, skipLibCheck: true };
  const program = ts.createProgram(
    entries.map(([, file]) => file),
    {
      ...options,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      // The suite names its peer.
      paths: { 'nestjs-redis-lock/backend': [join(root, 'dist', 'cjs', 'backend.d.ts')] },
    },
  );
  const checker = program.getTypeChecker();
  /** @param {ts.Symbol} symbol what an import or export stands for */
  const origin = (symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
  const exported = entries.map(([, file]) => {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} is no module; was it built?`);
    return checker.getExportsOfModule(module).map(origin);
  });
  const named = namedBeside(new Set(exported.flat()), checker, origin);
  refuseUnexported(named);
  const sections = [
    ...entries.map(([path]) => `\`${path}\``),
    'What these are computed with, and that is not exported',
  ].map((title, index) => `## ${title}\n\n${declarationsOf(exported[index] ?? named, checker)}`);
  const text = [
    '# Public API',
    '<!-- Written by scripts/write-api-report.mjs. Do not edit: run npm run docs -- api. -->',
    'What the packages export. A change here is a change of the public API: it wants a changeset.',
    ...sections,
  ].join('\n\n');
  return format(text, { ...(await resolveConfig(page)), parser: 'markdown' });
}

await build({ ifStale: true });
const text = await pageText();
if (!process.argv.includes('--check')) writeFileSync(page, text);
else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/reference/api.md is stale: run npm run docs -- api');
  process.exitCode = 1;
}
