import type { Driver } from './driver.js';
import { floor } from './floor.js';
import { asyncMutex, noLock } from './in-process.js';
import { nestRedlock, nestRedlockTuned } from './nest-redlock.js';
import { withMetrics, withTraces } from './observed.js';
import { ours, oursSent, oursStrict, oursWorker } from './ours.js';
import { oursQuorum, redlockQuorum, redlockQuorumTuned, semaphoreQuorum, semaphoreQuorumTuned } from './quorum.js';
import { nodeRedisson, oursRedisson, redissonItself } from './redisson.js';
import { redisSemaphore } from './redis-semaphore.js';
import { redlock4, redlock4Tuned } from './redlock4.js';
import { redlock5, redlock5Tuned, sesamecare, sesamecareTuned } from './redlock5.js';
import { redlockUniversal, redlockUniversalTuned } from './redlock-universal.js';

/** Everything that is given one server. */
const onOneServer: readonly Driver[] = [
  ours,
  oursSent,
  oursWorker,
  oursStrict,
  floor,
  redlock4,
  redlock4Tuned,
  redlock5,
  redlock5Tuned,
  sesamecare,
  sesamecareTuned,
  redisSemaphore,
  redlockUniversal,
  redlockUniversalTuned,
  nestRedlock,
  nestRedlockTuned,
  asyncMutex,
  noLock,
];

/** Everything that is given three of them. */
export const overQuorum: readonly Driver[] = [
  oursQuorum,
  redlockQuorum,
  redlockQuorumTuned,
  semaphoreQuorum,
  semaphoreQuorumTuned,
];

/** In the order of the tables. */
export const drivers: readonly Driver[] = [
  ...onOneServer,
  withMetrics,
  withTraces,
  ...overQuorum,
  oursRedisson,
  nodeRedisson,
  redissonItself,
];

/** Drivers that have their own setting only for waiting are left out of scenarios without waiting. */
export const uncontended = onOneServer.filter((driver) => !driver.contendedOnly);

/** Enough to see how it goes on with more callers, and with fewer. */
export const someContended: readonly Driver[] = [
  ours,
  oursStrict,
  floor,
  redlock5Tuned,
  redisSemaphore,
  redlockUniversalTuned,
  asyncMutex,
  noLock,
];

/** Where callers wait for each other. */
export const contended = onOneServer.filter((driver) => !driver.uncontendedOnly);

/** Everything that locks between processes. */
export const distributed = contended.filter(({ kind }) => kind !== 'reference' && kind !== 'broken');
