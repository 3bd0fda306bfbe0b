// import and require in one process must meet the same classes and the same AsyncLocalStorage.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const isName = (name) => !['default', '__esModule', 'module.exports'].includes(name);
/** Subpaths that need a package which this application may not have. */
const peers = { '/otel': '@opentelemetry/api', '/prometheus': 'prom-client', '/terminus': '@nestjs/terminus' };

function isThere(name) {
  try {
    return require.resolve(name) !== '';
  } catch {
    return false;
  }
}

for (const subpath of ['', '/client', '/console', '/testing', '/backend', ...Object.keys(peers)]) {
  if (subpath in peers && !isThere(peers[subpath])) continue;
  const path = `nestjs-redis-lock${subpath}`;
  const imported = await import(path);
  const required = require(path);
  const names = [...new Set([...Object.keys(imported), ...Object.keys(required)])].filter(isName);
  const different = names.filter((name) => imported[name] !== required[name]);
  if (names.length === 0) throw new Error(`nothing is exported by ${path}`);
  if (different.length > 0) throw new Error(`not the same by import and by require: ${different.join(', ')}`);
}
// What no tool that knows module-sync loads: the CommonJS build, which has the same engine.
const commonJs = require(new URL('../node_modules/nestjs-redis-lock/dist/cjs/index.js', import.meta.url).pathname);
if (commonJs.LockError !== require('nestjs-redis-lock').LockError) throw new Error('both builds have an engine');
console.log('one copy');
