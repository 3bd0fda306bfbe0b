import { describe, expect, it } from '@jest/globals';
import { exclusive } from '../../../lib/core/lock-backend.js';
import { type LockOptions, lockDefaults, resolveDefaults, resolveOptions } from '../../../lib/core/options.js';
import { readOptions } from '../../../lib/errors/read-options.js';

const resolve = (options: unknown) => resolveOptions(options as LockOptions, lockDefaults);
const refusal = (start: string, about = '') =>
  expect.objectContaining({
    code: 'LOCK_CONFIGURATION',
    message: expect.stringMatching(new RegExp(`^${start}.*${about}`, 's')),
  });

describe('a fixed lease that is shorter than minHold', () => {
  it.each([
    { lease: '1s', minHold: '5s' },
    { lease: '1s', minHold: '5s', renew: false },
    { lease: 4_999, minHold: 5_000, limit: 5 },
  ] as const)('is refused, since longer work would free the lock before minHold is over: %j', (options) => {
    expect(() => resolve(options)).toThrow(refusal('minHold: 5000 ms given'));
  });

  it('is refused as well when it is the lease of the module, which a decorator does not know yet', () => {
    const options = { renew: false, minHold: '40s' } as const;
    expect(resolve(options).minHold).toBe(40_000);
    expect(resolveOptions(options, resolveDefaults({ lease: '1m' })).minHold).toBe(40_000);
    expect(() => resolveOptions(options, resolveDefaults({ lease: '10s' }))).toThrow(
      refusal('minHold: 40000 ms given'),
    );
  });

  it.each([{ lease: '5s', minHold: '5s' }, { lease: '1s', minHold: '5s', renew: true }, { minHold: '1h' }])(
    'is nothing of these: %j',
    (options) => {
      expect(resolve(options).minHold).toBeGreaterThanOrEqual(5_000);
    },
  );
});

describe('the options of a call', () => {
  it('have defaults', () => {
    expect(resolve(undefined)).toBe(lockDefaults);
    expect(resolve({})).toEqual(lockDefaults);
    expect(resolve({ lease: undefined, wait: undefined, renew: undefined, signal: undefined })).toEqual(lockDefaults);
  });

  it('override the defaults one by one, in milliseconds', () => {
    const { signal } = new AbortController();
    const options = {
      lease: '5s',
      wait: 0,
      renew: true,
      maxHold: '1m',
      minHold: '50s',
      signal,
      fairness: 'strict',
      onLost: 'warn',
      release: 'sent',
      renewFrom: 'worker',
    };
    expect(resolve(options)).toEqual({ ...exclusive, ...options, lease: 5_000, maxHold: 60_000, minHold: 50_000 });
  });

  it('have a label of any text, which becomes a part of the id of the claim; without one they have no part of it', () => {
    expect(resolve({ label: 'import 4711' })).toEqual({
      ...lockDefaults,
      ...{ label: 'import 4711', callerSuffix: '::import%204711' },
    });
    for (const label of [' ', '\n', 'ü'.repeat(100)]) expect(resolve({ label }).label).toBe(label);
    expect(Object.keys(resolve({ wait: 0 })).toSorted()).toEqual(Object.keys(lockDefaults).toSorted());
  });

  it('have the label without the half of a character that was cut', () => {
    expect(resolve({ label: 'a🚀'.slice(0, 2) }).label).toBe('a\ufffd');
  });

  it('refuse anything but a text of 1 to 100 characters as the label', () => {
    for (const label of ['', 'ü'.repeat(101), null, 7, true, {}, ['a'], Symbol('a')])
      expect(() => resolve({ label })).toThrow(refusal('label: ', '1 to 100 characters'));
  });

  it('select the kind: exclusive, shared, or permits; callers of the last two queue one by one', () => {
    expect(resolve({})).toMatchObject({ kind: 'exclusive', permits: 1, limit: 0, fairness: 'handoff' });
    expect(resolve({ shared: false })).toMatchObject({ kind: 'exclusive', fairness: 'handoff' });
    expect(resolve({ shared: true })).toMatchObject({ kind: 'shared', permits: 1, limit: 0, fairness: 'strict' });
    expect(resolve({ limit: 3 })).toMatchObject({ kind: 'permits', permits: 1, limit: 3, fairness: 'strict' });
    expect(resolve({ limit: 3, permits: 3, shared: false })).toMatchObject({ kind: 'permits', permits: 3, limit: 3 });
  });

  it('refuse contradictions: shared with limit, permits without limit, more permits than the limit', () => {
    expect(() => resolve({ shared: true, limit: 2 })).toThrow(refusal('shared: ', 'limit'));
    expect(() => resolve({ permits: 2 })).toThrow(refusal('permits: ', 'limit'));
    expect(() => resolve({ shared: true, permits: 1 })).toThrow(refusal('permits: ', 'limit'));
    expect(() => resolve({ limit: 2, permits: 3 })).toThrow(refusal('permits: ', '2'));
    for (const value of [null, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, true, [], '3', 2 ** 53]) {
      expect(() => resolve({ limit: value })).toThrow(refusal('limit: '));
      expect(() => resolve({ limit: 3, permits: value })).toThrow(refusal('permits: '));
    }
  });

  it('with a lease do not renew by default; without a lease they do', () => {
    expect(resolve({ lease: 1_000 }).renew).toBe(false);
    expect(resolve({ lease: 1_000, renew: true }).renew).toBe(true);
    expect(resolve({ wait: 0 }).renew).toBe(true);
    expect(resolve({ renew: false }).renew).toBe(false);
    const longer = resolveDefaults({ lease: '1m' });
    expect(resolveOptions({}, longer)).toMatchObject({ lease: 60_000, renew: true });
    expect(resolveOptions({ lease: '1m' }, longer)).toMatchObject({ lease: 60_000, renew: false });
  });

  it.each([
    ['lease', [null, 0, 9, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, true, [], new Date(), '', 'soon', 2 ** 31]],
    ['wait', [null, -1, 1.5, Number.NaN, true, [], new Date(), '', 'soon', 2 ** 31]],
    ['maxHold', [null, 0, -1, 1.5, Number.NaN, true, [], new Date(), '', 'soon', 2 ** 31]],
    ['renew', [null, 0, 1, 'true', {}]],
    ['signal', [null, 0, true, {}, { aborted: false }, new AbortController(), 'stop']],
    ['fairness', [null, '', 'fair', 'HANDOFF', 0, {}]],
    ['onLost', [null, '', 'ignore', true, {}]],
    ['shared', [null, 0, 1, 'true', {}]],
  ])('%s: an invalid value is refused, and the error names the option', (option, values) => {
    for (const value of values) expect(() => resolve({ [option]: value })).toThrow(refusal(`${option}: `));
  });

  it.each([null, 5, 'lease', true, [], () => ({}), Symbol('a')])('%p are no options', (value) => {
    expect(() => resolve(value)).toThrow(refusal('options: '));
  });

  it.each([
    ['leese', 'lease'],
    ['Lease', 'lease'],
    ['maxhold', 'maxHold'],
    ['maxHodl', 'maxHold'],
    ['wiat', 'wait'],
    ['limti', 'limit'],
    ['signals', 'signal'],
    ['onlost', 'onLost'],
  ])('%s is unknown, and the error suggests %s', (name, nearest) => {
    expect(() => resolve({ [name]: 1 })).toThrow(refusal('options: ', `'${name}'. Did you mean '${nearest}'`));
  });

  it('that resemble no option are unknown, and the error lists the options', () => {
    expect(() => resolve({ wobble: 1 })).toThrow(refusal('options: ', `'wobble'.*lease.*wait.*onLost`));
    expect(() => resolve({ 'x\r\nERROR forged': 1 })).toThrow(refusal('options: ', String.raw`x\\r\\nERROR`));
  });

  it.each([
    ['ttl', 'Write lease.'],
    ['leaseTime', 'Write lease.'],
    ['waitTime', 'Write wait.'],
    ['retryCount', 'Write wait; a call waits in line instead of trying again.'],
    ['pollInterval', 'Write wait; a call waits in line instead of trying again.'],
  ])('have other names in other libraries: for %s the error says what to write', (name, advice) => {
    expect(() => resolve({ [name]: 1 })).toThrow(refusal('options: ', `there is no option '${name}'. ${advice}`));
  });

  it('of a connection had poll in earlier builds: the error says to leave it out, and not to write wait', () => {
    expect(() => readOptions('options', { poll: '1s' }, ['wait', 'commandTimeout'])).toThrow(
      refusal('options: ', `there is no option 'poll'. Leave it out; each waiter asks by itself every 5 s.`),
    );
  });

  it('are read once each, so that a getter cannot return two values', () => {
    const reads: string[] = [];
    const options = Object.defineProperties(
      {},
      Object.fromEntries(
        Object.entries({ lease: 100, wait: 5, renew: true, maxHold: 7, fairness: 'strict', onLost: 'warn' }).map(
          ([name, value]) => [name, { enumerable: true, get: () => (reads.push(name), value) }],
        ),
      ),
    );
    expect(resolve(options)).toMatchObject({ lease: 100, wait: 5 });
    expect(reads).toEqual([...new Set(reads)]);
    expect(reads).toHaveLength(6);
  });

  it('may be getters of a class, or inherited from other options', () => {
    class Settings {
      readonly lease = '5s';
      get wait(): number {
        return 0;
      }
      describe(): string {
        return 'no option';
      }
    }
    expect(resolve(new Settings() as LockOptions)).toMatchObject({ wait: 0, lease: 5000 });
    expect(resolve(Object.create({ wait: 0 }))).toMatchObject({ wait: 0 });
  });

  it('are none that all objects have: __proto__ in JSON is an unknown name', () => {
    expect(() => resolve(JSON.parse('{"__proto__": {"wait": 0}}'))).toThrow(refusal('options: ', '__proto__'));
    expect(resolve(Object.assign(Object.create(null), { wait: 0 })).wait).toBe(0);
    expect(({} as { wait?: number }).wait).toBeUndefined();
  });
});

describe("the module's defaults", () => {
  it('override those of the library, and are overridden by the call', () => {
    const defaults = resolveDefaults({
      lease: '10s',
      wait: 1,
      maxHold: '5m',
      fairness: 'strict',
      onLost: 'warn',
      release: 'sent',
      renewFrom: 'worker',
    });
    expect(defaults).toEqual({
      ...exclusive,
      lease: 10_000,
      wait: 1,
      renew: true,
      minHold: 0,
      maxHold: 300_000,
      signal: undefined,
      fairness: 'strict',
      onLost: 'warn',
      release: 'sent',
      renewFrom: 'worker',
    });
    expect(resolveOptions({ wait: 2 }, defaults)).toEqual({ ...defaults, wait: 2 });
  });

  it('are checked like the options of a call', () => {
    for (const [option, value] of Object.entries({
      lease: 0,
      wait: -1,
      maxHold: 'x',
      fairness: 'x',
      onLost: 'x',
      release: 'x',
    })) {
      expect(() => resolveDefaults({ [option]: value })).toThrow(refusal(`${option}: `));
    }
  });
});

describe('readOptions', () => {
  it('returns a plain copy, with the values of its names', () => {
    const source = { a: 1, b: undefined };
    const copy = readOptions('forRoot()', source, ['a', 'b', 'c']);
    expect(copy).toEqual(source);
    expect(copy).not.toBe(source);
    expect(() => readOptions('forRoot()', { d: 1 }, ['a'])).toThrow(refusal(String.raw`forRoot\(\): `, `'d'`));
  });
});
