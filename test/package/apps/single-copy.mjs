// import and require in one process must meet the same classes and the same AsyncLocalStorage.
import { createRequire } from 'node:module';
import * as imported from 'nestjs-redis-lock';

const required = createRequire(import.meta.url)('nestjs-redis-lock');
const names = (module) =>
  Object.keys(module)
    .filter((name) => name !== 'default' && name !== '__esModule' && name !== 'module.exports')
    .sort();

if (names(imported).join() !== names(required).join())
  throw new Error(`exports differ: ${names(imported)} / ${names(required)}`);
const twice = names(imported).filter((name) => imported[name] !== required[name]);
if (twice.length > 0) throw new Error(`loaded twice: ${twice.join(', ')}`);
console.log('one copy');
