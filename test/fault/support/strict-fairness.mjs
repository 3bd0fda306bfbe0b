/** Set-up of the jest project `fault-strict`: every client of its tests queues each caller in Redis. Worker processes inherit it. */
process.env.LOCK_FAIRNESS = 'strict';
