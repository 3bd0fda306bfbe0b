/**
 * What outlives a test file in its worker of jest: subscribers of channels, which would be there in the next file, and storages.
 *
 * Ends every AsyncLocalStorage of a test file with it. In Node 20 each one that was ever used is looked at for every promise of the process, and
 * a worker of jest loads lib, Nest and their storages anew for each file: after a hundred files a promise takes a hundred times as long.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { hasSubscribers } from 'node:diagnostics_channel';
import { afterAll } from '@jest/globals';

const used = Symbol.for('nestjs-redis-lock: used storages');
const { prototype } = AsyncLocalStorage;

/** Not those of forced releases: each open client subscribes to them. */
const channels = [
  ...['acquired', 'contended', 'renewed', 'released', 'lost', 'exported', 'adopted'].map(
    (event) => `nestjs-redis-lock:${event}`,
  ),
  ...['acquire', 'hold'].flatMap((span) =>
    ['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((event) => `tracing:nestjs-redis-lock:${span}:${event}`),
  ),
];

if (!(used in prototype)) {
  const { run, enterWith } = prototype;
  const storages = new Set();
  Object.assign(prototype, {
    [used]: storages,
    run(/** @type {Parameters<typeof run>} */ ...args) {
      storages.add(this);
      return Reflect.apply(run, this, args);
    },
    enterWith(/** @type {unknown} */ store) {
      storages.add(this);
      Reflect.apply(enterWith, this, [store]);
    },
  });
}

afterAll(() => {
  const left = channels.filter((name) => hasSubscribers(name));
  if (left.length > 0) throw new Error(`this file leaves subscribers of ${left.join(', ')}`);
});

afterAll(() => {
  const storages = /** @type {Set<AsyncLocalStorage<unknown>>} */ (Reflect.get(prototype, used));
  for (const storage of storages) storage.disable();
  storages.clear();
});
