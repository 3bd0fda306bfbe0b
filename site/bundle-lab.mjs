/**
 * Bundles the simulator of the documents: one ES module without imports, for any page. The site has it by itself.
 *
 *   npm run docs -- lab [file]   default dist/lab/lock-lab.js
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { root } from '../scripts/run.mjs';
import { install } from '../scripts/docs.mjs';

/** @returns {Promise<{ code: string, imports: string[] }>} the bundle, and what it would load */
export async function bundleLab() {
  await install();
  // That of the site: Vite needs it, too.
  const { build } = createRequire(join(root, 'site', 'package.json'))('esbuild');
  const { outputFiles, metafile } = await build({
    entryPoints: [join(root, 'site', 'lab', 'index.ts')],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    metafile: true,
    plugins: [
      {
        name: 'platform',
        setup: (/** @type {any} */ { onResolve }) =>
          onResolve({ filter: /\/platform\.js$/ }, () => ({ path: join(root, 'site', 'lab', 'platform.ts') })),
      },
    ],
  });
  const [{ imports }] = Object.values(metafile.outputs);
  return { code: outputFiles[0].text, imports: imports.map((/** @type {{ path: string }} */ { path }) => path) };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const target = resolve(process.argv[2] ?? join(root, 'dist', 'lab', 'lock-lab.js'));
  const { code } = await bundleLab();
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, code);
  console.log(
    `${target}: ${readFileSync(target).length} bytes, ${(gzipSync(code).length / 1000).toFixed(1)} kB in gzip`,
  );
}
