import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import type * as Errors from '../../lib/errors/lock-errors.js';
import { located } from '../../lib/errors/configuration.js';
import { LockErrorFilter } from '../../lib/nest/request/lock-error.filter.js';
import { metadataKeys } from '../../lib/nest/base/metadata-keys.js';

type Copy = typeof Errors;
// A module with a query is loaded once more.
const second = '../../lib/errors/lock-errors?copy';
const [one, two] = (await Promise.all([import('../../lib/errors/lock-errors.js'), import(second)])) as [Copy, Copy];

/** One error of each class, and the classes of which it is an instance. */
const all: Record<string, readonly [make: (copy: Copy) => Errors.LockError, of: readonly (keyof Copy)[]]> = {
  configuration: [({ LockConfigurationError: E }) => new E('m'), ['LockConfigurationError']],
  contended: [({ LockNotAcquiredError: E }) => new E('m'), ['LockNotAcquiredError']],
  waited: [({ LockWaitTimeoutError: E }) => new E('m'), ['LockNotAcquiredError', 'LockWaitTimeoutError']],
  full: [({ LockQueueFullError: E }) => new E('m'), ['LockQueueFullError']],
  mismatch: [({ LockKindMismatchError: E }) => new E('m'), ['LockKindMismatchError']],
  upgrade: [({ LockUpgradeError: E }) => new E('m'), ['LockUpgradeError']],
  lost: [({ LockLostError: E }) => new E('m', { reason: 'expired' }), ['LockLostError']],
  unavailable: [({ LockUnavailableError: E }) => new E('m'), ['LockUnavailableError']],
  quorum: [
    ({ QuorumNotReachedError: E }) => new E('m', { votes: [] }),
    ['LockUnavailableError', 'QuorumNotReachedError'],
  ],
};
const classes = Object.keys(one).filter((name) => name.endsWith('Error')) as (keyof Copy)[];

describe('errors of a second copy of the package in the process', () => {
  it('are made by other classes', () => {
    expect(classes).toHaveLength(10);
    for (const name of classes) expect(two[name]).not.toBe(one[name]);
  });

  it.each(Object.keys(all))('are instances of the same classes of this copy, and of no others: %s', (kind) => {
    const [make, of] = all[kind]!;
    for (const [thrower, catcher] of [
      [one, one],
      [one, two],
      [two, one],
    ] as const) {
      const error: unknown = make(thrower);
      const found = classes.filter((name) => error instanceof (catcher[name] as Type));
      expect(found.sort()).toEqual(['LockError', ...of].sort());
    }
  });

  it('get their location as those of this copy', () => {
    expect(() =>
      located('here', () => {
        throw new two.LockConfigurationError('wrong');
      }),
    ).toThrow('here: wrong');
  });

  it('are caught by LockErrorFilter', () => {
    const caught = Reflect.getMetadata(metadataKeys.caughtErrors, LockErrorFilter) as [Type];
    for (const [make] of Object.values(all)) expect(make(two)).toBeInstanceOf(caught[0]);
    for (const other of [new Error('m'), { code: 'LOCK_CONTENDED' }, null, undefined, 'LockError'])
      expect(other instanceof caught[0]).toBe(false);
  });
});

describe('a class that an application derives', () => {
  class SoldOut extends one.LockNotAcquiredError {
    override readonly name = 'SoldOut';
  }

  it('has its own instances only, which are lock errors in every copy', () => {
    expect(new SoldOut('m')).toBeInstanceOf(SoldOut);
    expect(new one.LockNotAcquiredError('m')).not.toBeInstanceOf(SoldOut);
    expect(new two.LockNotAcquiredError('m')).not.toBeInstanceOf(SoldOut);
    expect(new SoldOut('m')).toBeInstanceOf(two.LockNotAcquiredError);
    expect(new SoldOut('m')).not.toBeInstanceOf(two.LockWaitTimeoutError);
  });
});
