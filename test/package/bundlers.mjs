import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Installed beside the application's own packages. */
export const BUNDLERS = { '@swc/core': '1.16.22', esbuild: '0.28.2', webpack: '5.112.2' };

/** What minified code says, where a key has the name of a parameter: docs/how-to/names.md. */
const REFUSED = /names no parameter of the method\. Found: .*as a minifier calls them/;

/** What is not bundled, as usual on a server: the packages, but for ours and those that it brings. */
const OTHERS = /^(?!nestjs-redis-lock|acorn$|ms$)[@a-z]/;

/** @typedef {import('./app.mjs').App} App */
/** Writes the bundle of a program. @typedef {(program: string, output: string) => Promise<void>} Bundle */

/**
 * @param {App} app with BUNDLERS
 * @returns {{ title: string, mangled: boolean, bundle: Bundle }[]} mangled: parameters have lost their names
 */
function bundles(app) {
  const load = createRequire(join(app.directory, 'package.json'));

  /** @param {object} options @returns {Bundle} */
  const esbuild = (options) => async (program, output) => {
    /** @param {{ path: string }} found */
    const external = ({ path }) => (OTHERS.test(path) ? { path, external: true } : undefined);
    await load('esbuild').build({
      ...{ entryPoints: [program], outfile: output, bundle: true, platform: 'node', format: 'cjs', logLevel: 'silent' },
      plugins: [
        {
          name: 'others',
          setup: (/** @type {any} */ { onResolve }) => onResolve({ filter: /^[@a-z]/ }, external),
        },
      ],
      ...options,
    });
  };

  /** @param {object} optimization @returns {Bundle} */
  const webpack = (optimization) => async (program, output) => {
    const compiler = load('webpack')({
      ...{
        mode: 'production',
        target: 'node',
        entry: program,
        optimization,
        output: { path: join(output, '..'), filename: 'bundle.cjs' },
      },
      externals: [OTHERS],
      externalsType: 'commonjs',
    });
    const stats = await promisify(compiler.run.bind(compiler))();
    if (stats.hasErrors()) throw new Error(stats.toString({ all: false, errors: true }));
  };

  /** As `nest build --builder swc`: the application is compiled, the packages are loaded. @param {boolean | object} minify @returns {Bundle} */
  const swc = (minify) => async (program, output) => {
    const { code } = await load('@swc/core').transform(
      readFileSync(program.replace(/built.*/, 'apps/bundled.ts'), 'utf8'),
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2022',
          ...(minify && { minify }),
        },
        module: { type: 'commonjs' },
        minify: Boolean(minify),
      },
    );
    writeFileSync(output, code);
  };

  const minimizer = () => {
    const Minimizer = createRequire(load.resolve('webpack'))('minimizer-webpack-plugin');
    return [new Minimizer({ minimizerOptions: { mangle: false } })];
  };
  return [
    { title: 'esbuild', mangled: false, bundle: esbuild({}) },
    { title: 'esbuild, minified', mangled: true, bundle: esbuild({ minify: true }) },
    { title: 'esbuild, minified with keepNames', mangled: true, bundle: esbuild({ minify: true, keepNames: true }) },
    {
      title: 'esbuild, minified without mangling',
      mangled: false,
      bundle: esbuild({ minifyWhitespace: true, minifySyntax: true }),
    },
    { title: 'webpack', mangled: true, bundle: webpack({}) },
    {
      title: 'webpack without mangling',
      mangled: false,
      bundle: webpack({
        get minimizer() {
          return minimizer();
        },
      }),
    },
    { title: 'SWC', mangled: false, bundle: swc(false) },
    { title: 'SWC, minified', mangled: true, bundle: swc({ mangle: true, compress: true }) },
    { title: 'SWC, minified without mangling', mangled: false, bundle: swc({ mangle: false, compress: true }) },
  ];
}

/**
 * @param {App} app with BUNDLERS; `apps` is compiled
 * @param {import('./app.mjs').Format} format
 * @param {string} redisUrl
 * @returns {{ title: string, body: () => Promise<void> }[]} the checks
 */
export function bundlerChecks(app, format, redisUrl) {
  const program = join(app.directory, 'built', `${format}-nodenext`, 'bundled.js');
  return bundles(app).map(({ title, mangled, bundle }, index) => ({
    // And has a renewal worker, or says why not.
    title: mangled
      ? `${title}: locks by position, and says that names are lost`
      : `${title}: locks by name and by position`,
    body: async () => {
      const output = join(app.directory, `bundle-${index}`, 'bundle.cjs');
      mkdirSync(join(output, '..'));
      await bundle(program, output);
      // esbuild leaves the file of the worker out.
      const WORKER = title.startsWith('esbuild') ? 'no file' : 'true';
      await app.runs(output, 'locked in a bundle', redisUrl, { env: { WORKER, KEY: 'bundle-check:#{0}' } });
      if (!mangled) return app.runs(output, 'locked in a bundle', redisUrl, { env: { WORKER } });
      const message = await app
        .run([output], { REDIS_URL: redisUrl })
        .then(String, ({ message: text }) => String(text));
      if (!REFUSED.test(message)) throw new Error(message);
    },
  }));
}
