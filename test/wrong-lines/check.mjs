/**
 * Runs the wrong lines in an application that has the package installed, without a test runner. Copied there by test/package/check.mjs.
 *
 *   node wrong-lines/check.mjs ../node_modules/nestjs-redis-lock/dist/esm/cli.js [swc | esbuild]
 *
 * With another compiler: the decorators that nothing but the compiler applies, each as legacy and as standard decorator.
 */
import { createRequire } from 'node:module';
import { groups } from './groups.mjs';
import { answerTo, usualCode } from './run.mjs';

const [program = '', compiler = 'tsc'] = process.argv.slice(2);
const load = createRequire(import.meta.url);

/** @type {Record<string, (code: string, build: string) => string>} */
const compilers = {
  swc: (code, build) =>
    load('@swc/core').transformSync(code, {
      isModule: false,
      jsc: {
        target: 'es2022',
        parser: { syntax: 'typescript', decorators: true },
        transform:
          build === 'standard' ? { decoratorVersion: '2022-03' } : { legacyDecorator: true, decoratorMetadata: true },
      },
    }).code,
  esbuild: (code, build) =>
    load('esbuild').transformSync(code, {
      loader: 'ts',
      target: 'es2022',
      tsconfigRaw: { compilerOptions: { experimentalDecorators: build !== 'standard' } },
    }).code,
};

/** @type {import('./run.mjs').Row[]} */
const rows = groups.flatMap((group) => group.rows);
const uncalled = rows
  .filter(({ line, says }) => !line.includes('constructor') && says.some((words) => words.startsWith('write @')))
  .flatMap((row) => [
    { ...row, build: /** @type {const} */ ('nest') },
    { ...row, build: /** @type {const} */ ('standard') },
  ]);
let wrong = 0;
for (const row of compiler === 'tsc' ? rows : uncalled) {
  const { code, message } = await answerTo(row, program, compilers[compiler]);
  if (code === (row.code ?? usualCode) && row.says.every((words) => message.includes(words) || / on /.test(words)))
    continue;
  wrong += 1;
  console.log(`${row.line} (${row.build ?? 'nest'})\n  ${code}: ${message}\n  expected: ${row.says.join(' … ')}`);
}
console.log(wrong === 0 ? 'each wrong line is answered' : `${wrong} wrong lines are not`);
process.exitCode = wrong === 0 ? 0 : 1;
