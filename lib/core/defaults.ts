/**
 * The defaults of the options. Times in milliseconds.
 * A test compares this file with https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/reference/options.md
 */
export const defaults = {
  lease: 30_000,
  wait: 10_000,
  maxHold: Number.POSITIVE_INFINITY,
  minHold: 0,
  fairness: 'handoff',
  onLost: 'throw',
  release: 'answered',
  renewFrom: 'main',
  stallLimit: 120_000,
  keyPrefix: 'lock:',
  commandTimeout: 1_000,
  poll: 5_000,
  nodeTimeout: 500,
  restartGuard: 0,
  maxWaiters: 10_000,
  shutdownTimeout: 10_000,
  strict: false,
  ignoreFindings: [],
  httpErrors: true,
  activity: true,
} as const;

/** The smallest value of each option that is a number or a duration. Below a lease of 10 ms, round trips use it up. */
export const least = {
  lease: 10,
  wait: 0,
  maxHold: 1,
  minHold: 0,
  limit: 1,
  permits: 1,
  commandTimeout: 10,
  poll: 100,
  nodeTimeout: 10,
  restartGuard: 0,
  maxWaiters: 1,
  shutdownTimeout: 0,
  stallLimit: 1_000,
} as const;

/** The longest time (ms) that a pushed grant lasts until its waiter confirms it. The scripts have it as `window` (serve.lua). */
export const claimWindow = 3_000;
