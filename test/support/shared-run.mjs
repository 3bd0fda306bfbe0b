/**
 * jest runs set-up and tear-down once per room; what the rooms share lives as long as the process.
 * @typedef {{ rooms: number, started?: Promise<void>, stop?: () => Promise<void> }} SharedRun
 */
const slot = Symbol.for('nestjs-redis-lock.test.shared-run');
const holder = /** @type {Record<symbol, SharedRun>} */ (/** @type {unknown} */ (globalThis));

export const shared = (holder[slot] ??= { rooms: 0 });
