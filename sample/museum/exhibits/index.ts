/** The names of the exhibits, which are the names of their files, in the order of the museum. */
export const names = [
  'no-expiry',
  'expire-second',
  'delete-of-another',
  'short-lease',
  'hung-holder',
  'polling',
  'failover',
  'dead-waiter',
  'before-commit',
  're-entry',
  'two-orders',
  'late-write',
] as const;
