import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LockConfigurationError, lockName } from 'nestjs-redis-lock';
import { compileKey } from '../../lib/key/key.resolver.js';

/** The name that the decorator builds from the template, or the code of its error. */
function byDecorator(literals: readonly string[], values: readonly unknown[]): unknown {
  const names = values.map((_, index) => `p${index}`);
  const template = literals
    .map((literal, index) => literal + (index < names.length ? `#{${names[index]}}` : ''))
    .join('');
  const parameters = names.map((name) => ({ name, rest: false }));
  return resultOf(() =>
    compileKey(template, { form: 'async', callsSuper: false, isOneLine: false, parameters })(values),
  );
}

const byHand = (literals: readonly string[], values: readonly unknown[]): unknown =>
  resultOf(() => lockName(Object.assign([...literals], { raw: literals }), ...(values as string[])));

function resultOf(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    if (error instanceof LockConfigurationError) return error.code;
    throw error;
  }
}

const refusal = (action: () => unknown): string => {
  expect(action).toThrow(LockConfigurationError);
  try {
    action();
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};

describe('lockName', () => {
  it('returns the name that the decorator builds, and refuses the same values', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(':', '{', '}', '%', '#', '/', 'a', '3', 'A', '🙂', '\ud83d', '\n') }),
    );
    const value = fc.oneof(text, fc.integer(), fc.maxSafeInteger(), fc.bigInt(), fc.anything());
    const literal = fc.oneof(fc.constantFrom(':', 'file:', ':x:', '', '-'), text);
    const call = fc
      .array(value, { maxLength: 4 })
      .chain((values) =>
        fc.tuple(
          fc.array(literal, { minLength: values.length + 1, maxLength: values.length + 1 }),
          fc.constant(values),
        ),
      );
    let names = 0;
    fc.assert(
      fc.property(call, ([literals, values]) => {
        const made = byDecorator(literals, values);
        if (made !== 'LOCK_CONFIGURATION') names++;
        // Twenty thousand calls of expect() take longer than all the names.
        const other = byHand(literals, values);
        if (other !== made) expect(other).toBe(made);
      }),
      { numRuns: 20_000 },
    );
    expect(names).toBeGreaterThan(1000);
  });

  it('encodes values, and does not change the text around them', () => {
    expect(lockName`file:${'s3://bucket/x'}`).toBe('file:s3%3A//bucket/x');
    expect(lockName`account:${1}:${2n}:50%`).toBe('account:1:2:50%');
    expect(lockName`report:daily`).toBe('report:daily');
  });

  it.each([
    [undefined, 'is undefined'],
    [null, 'is null'],
    ['', 'is an empty string'],
    [{}, 'is an object'],
    [['a'], 'is an array'],
    [true, 'is true'],
    [1.5, 'is 1.5, which is no safe integer'],
    ['\ud800', 'holds half of a surrogate pair'],
  ])('refuses the value %p, and names it by the text before it', (value, problem) => {
    const message = refusal(() => lockName`order:${'7'}:item:${value as string}`);
    expect(message).toMatch(/^lockName: the value behind ':item:' /);
    expect(message).toContain(problem);
  });

  it('refuses two values without a colon between them, braces around a value, and invalid names', () => {
    expect(refusal(() => lockName`a:${1}-${2}`)).toMatch(/^lockName: .*'-'.*':'/);
    expect(refusal(() => lockName`a:{${1}}`)).toMatch(/^lockName: '{'/);
    expect(refusal(() => lockName`a:#{id}`)).toMatch(/^lockName: '{'/);
    expect(refusal(() => lockName`a:#id`)).toMatch(/^lockName: '#' outside of a value; write \$\{id\}/);
    expect(refusal(() => lockName``)).toMatch(/^key: /);
    expect(refusal(() => lockName`a:${'x'.repeat(1025)}`)).toMatch(/^key: .*1024/);
  });

  it.each([['file:x'], [['a:', ''], 1], [undefined]])(
    'refuses to be called as a function: lockName(%p)',
    (...given) => {
      expect(refusal(() => (lockName as (...args: unknown[]) => string)(...given))).toMatch(
        /^lockName: .* given; write it in front of a template string: lockName`product:\$\{id\}`/,
      );
    },
  );
});
