/** @type {import('../run.mjs').Group} */
export default {
  title: 'Options and durations',
  rows: [
    { line: "@DistributedLock({ key: 'a', leese: '5s' })", says: ["no option 'leese'", "Did you mean 'lease'?"] },
    { line: "@DistributedLock({ key: 'a', lease: 0 })", says: ['lease: 0 is not a duration'] },
    { line: "@DistributedLock({ key: 'a', wait: 'soon' })", says: ["wait: 'soon' is not a duration", "'30s'"] },
    { line: "@DistributedLock({ key: 'a', wait: '10' })", says: ["wait: '10' has no unit"] },
    { line: "@DistributedLock({ key: 'a', lease: process.env.LEASE ?? '30' })", says: ["lease: '30' has no unit"] },
    { line: "@DistributedLock({ key: 'a', wait: NaN })", says: ['wait: NaN is not a duration'] },
    { line: "@DistributedLock({ key: 'a', wait: -1 })", says: ['wait: -1 is not a duration'] },
    { line: "@DistributedLock({ key: 'a', permits: 2 })", says: ['permits: needs limit'] },
    { line: "@DistributedLock({ key: 'a', limit: 2, permits: 3 })", says: ['permits: 3 given, there are 2 in all'] },
    { line: "@DistributedLock({ key: 'a', limit: 0 })", says: ['limit: 0 given, a whole number from 1 expected'] },
    { line: "@DistributedLock({ key: 'a', limit: 2, shared: true })", says: ['shared: cannot be combined with limit'] },
    {
      line: "@DistributedLock({ key: 'a', fairness: 'fair' })",
      says: ["fairness: 'fair' given; write 'handoff' or 'strict'"],
    },
    { line: "@DistributedLock({ key: 'a', onContended: 'ignore' })", says: ["write 'throw', 'skip', or a function"] },
    { line: "@DistributedLock({ key: 'a', signal: new AbortController() })", says: ['an AbortSignal expected'] },
    { line: "@DistributedLock({ key: 'a', label: '' })", says: ['a text of 1 to 100 characters expected'] },
    {
      line: "@DistributedLock({ key: 'a', signal: () => 1 })",
      call: "shop.buy('1')",
      says: ['returned 1', 'must return an AbortSignal or undefined'],
    },
    { line: "@DistributedLock({ key: 'a', ttl: 5000 })", says: ["no option 'ttl'", 'Write lease.'] },
    { line: "@DistributedLock({ key: 'a', timeout: 5000 })", says: ["no option 'timeout'", 'Write wait.'] },
    {
      line: "@DistributedLock({ key: 'a', retryCount: 3 })",
      says: ["no option 'retryCount'", 'Write wait; a call waits in line'],
    },
    { line: "@DistributedLock({ resource: 'a' })", says: ["no option 'resource'", 'Write key.'] },
    { line: "locks.using('a', { wait: '5s' })", says: ['in place of the function', 'using(key, () => …)'] },
    { line: "locks.acquire('a', '5s')", says: ['options: a string given, an object expected'] },
    {
      line: "const { release } = await locks.acquire('a'); await release();",
      says: ['release was called without its lock', 'Write lock.release()'],
    },
    { line: 'locks.acquire(undefined)', says: ['key: undefined given', 'a lock name is a string'] },
    {
      line: "locks.acquire('a', { lease: '1s', minHold: '5s' })",
      says: ['minHold: 5000 ms', 'is not renewed', 'renew: true'],
    },
    { line: "locks.acquire('a', { ttl: 1000 })", says: ["no option 'ttl'", 'Write lease.'] },
    {
      line: "const lock = await locks.acquire('a'); await lock.release(); lock.assertHeld();",
      code: 'LOCK_LOST',
      says: ['released before'],
    },
  ],
};
