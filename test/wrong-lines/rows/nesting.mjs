/** @type {import('../run.mjs').Group} */
export default {
  title: 'Locks inside each other',
  rows: [
    {
      line: "locks.using('a', { shared: true }, () => locks.using('a', () => 1))",
      code: 'LOCK_UPGRADE',
      says: ['this flow holds it shared', 'without shared: true outside'],
    },
    {
      line: "locks.using('a', { limit: 3 }, () => locks.using('a', { limit: 3, permits: 2 }, () => 1))",
      code: 'LOCK_UPGRADE',
      says: ['holds 1 of its permits and requests 2'],
    },
    {
      line: "locks.using('a', { limit: 3 }, () => locks.using('a', () => 1))",
      code: 'LOCK_KIND_MISMATCH',
      says: ['permits (option limit)', 'another name'],
    },
    {
      line: "await locks.using('a', () => locks.using('b', () => 1)); await locks.using('b', () => locks.using('a', () => 1));",
      code: 'LOCK_DOCTOR_ORDER',
      says: ['nested in different orders', 'one order everywhere'],
    },
    {
      line: "locks.using('a', { lease: '5s' }, () => locks.using('b', { wait: '20s' }, () => 1))",
      code: 'LOCK_DOCTOR_LEASE',
      says: ['fixed lease of 5000 ms', 'shorter wait'],
    },
  ],
};
