/**
 * npm run bench: builds the library where it is stale, compiles the benchmark, runs it. `--help` tells its options.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { build } from '../../scripts/build.mjs';

const root = join(import.meta.dirname, '..', '..');
const source = import.meta.dirname;
// As deep below the root as the source: relative imports from the root hold for both.
const target = join(root, 'dist', 'benchmark');

/** One file each; the types are checked by `npm run lint`, not here. */
function compile() {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  rmSync(target, { recursive: true, force: true });
  for (const name of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const { outputText } = ts.transpileModule(readFileSync(join(source, name), 'utf8'), {
      fileName: join(source, name),
      compilerOptions: { ...options, sourceMap: false, inlineSourceMap: true, module: ts.ModuleKind.ESNext },
    });
    const output = join(target, name.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, outputText);
  }
}

await build({ ifStale: true });
compile();
await import(join(target, 'main.js'));
