import { describe, expect, it } from '@jest/globals';
import { assertLockKey, assertLockName } from '../../../lib/core/lock-key.js';

const check = (name: unknown) => (): void => {
  assertLockName(name);
};

describe('a lock name', () => {
  it.each(['a', ' ', '0', 'product:42', '#{id}', '{x}', 'é', '🎟️', 'a\r\nb', '\0', 'x'.repeat(1024), '🎟'.repeat(256)])(
    'accepts %j',
    (name) => {
      expect(check(name)).not.toThrow();
    },
  );

  // faults.md, Bad input: Keys
  const refused: Array<[string, unknown]> = [
    ['undefined', undefined],
    ['null', null],
    ['the empty string', ''],
    ['a number', 42],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['an object', {}],
    ['an array', ['a']],
    ['a Date', new Date()],
    ['a symbol', Symbol('a')],
    ['a function', () => 'a'],
    ['true', true],
    ['a Map', new Map()],
    ['a promise', Promise.resolve('a')],
    ['a boxed string', Object('a')],
    ['a lone high surrogate', 'a\ud83c'],
    ['a lone low surrogate', '\udf9fa'],
    ['1,025 bytes', 'x'.repeat(1025)],
    ['1,028 bytes in 257 characters', '🎟'.repeat(257)],
    [
      'an object whose toString throws',
      {
        toString: () => {
          throw new Error('boom');
        },
      },
    ],
    [
      'a proxy that throws',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('boom');
          },
        },
      ),
    ],
  ];

  it.each(refused)('rejects %s with an error that names the argument', (_, name) => {
    expect(check(name)).toThrow(
      expect.objectContaining({ code: 'LOCK_CONFIGURATION', message: expect.stringMatching(/^key: /) }),
    );
  });

  it('is cut and escaped in the error', () => {
    const error = ((): Error => {
      try {
        assertLockName(`\r\nERROR forged ${'x'.repeat(2000)}`);
      } catch (reason) {
        return reason as Error;
      }
      throw new Error('was accepted');
    })();
    expect(error.message).not.toMatch(/[\r\n]/);
    expect(error.message.length).toBeLessThan(250);
  });
});

it.each(['product:#{id}', ['a', 'product:#{id}'], ['order:#{order.id}', 'b']].map((key) => [key]))(
  'a template of the decorator is no key of a call: %j',
  (key) => {
    expect(() => assertLockKey(key)).toThrow(/is a template, and only @DistributedLock fills it in/);
  },
);
