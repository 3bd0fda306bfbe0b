/**
 * What the rooms share lives as long as the process. jest runs each file of set-up and tear-down once, however many rooms name it.
 * @typedef {{ started?: Promise<void>, stop?: () => Promise<void> }} SharedRun
 */
const slot = Symbol.for('nestjs-redis-lock.test.shared-run');
const holder = /** @type {Record<symbol, SharedRun>} */ (/** @type {unknown} */ (globalThis));

export const shared = (holder[slot] ??= {});
