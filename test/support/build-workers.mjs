import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '..', '..');
const source = join(root, 'test', 'support', 'workers');
const target = join(root, 'dist', 'test-workers');

/**
 * Compiles test/support/workers/*.ts, one file each, for `forkWorker()`. A worker imports the lock as a user does, from
 * 'nestjs-redis-lock' (the package's own name leads to dist/esm), and nothing relative but the worker's own parts beside it.
 */
export async function buildWorkers() {
  const files = (await readdir(source).catch(() => [])).filter((name) => name.endsWith('.ts'));
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  await mkdir(target, { recursive: true });
  for (const name of files) {
    const fileName = join(source, name);
    const { outputText } = ts.transpileModule(await readFile(fileName, 'utf8'), {
      fileName,
      compilerOptions: { ...options, sourceMap: false, inlineSourceMap: true, module: ts.ModuleKind.ESNext },
    });
    await writeFile(join(target, `${basename(name, '.ts')}.js`), outputText);
  }
}
