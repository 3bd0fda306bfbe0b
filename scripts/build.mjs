import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
for (const [out, cfg] of [['esm', 'tsconfig.build.json'], ['cjs', 'tsconfig.cjs.json']]) {
  rmSync(`dist/${out}`, { recursive: true, force: true });
  const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', cfg], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
