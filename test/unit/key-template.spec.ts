import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LockConfigurationError } from 'nestjs-redis-lock';
import { compileKey } from '../../lib/key/key.resolver.js';
import type { MethodShape } from '../../lib/key/method-shape.reader.js';

const shape = (...names: Array<string | undefined>): MethodShape => ({
  form: 'async',
  callsSuper: false,
  isOneLine: false,
  parameters: names.map((name) => ({ name: name?.replace('...', ''), rest: name?.startsWith('...') ?? false })),
});
const compile = (key: unknown, ...names: Array<string | undefined>) => compileKey(key, shape(...names));
const name = (key: unknown, names: Array<string | undefined>, ...args: unknown[]) => compile(key, ...names)(args);

/** The message of the LockConfigurationError that `action` throws. */
function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof LockConfigurationError) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('key template', () => {
  it('inserts arguments by name, by position and by path', () => {
    expect(name('product:#{id}', ['id'], '7')).toBe('product:7');
    expect(name('product:#{1}', ['shop', 'id'], 's', 7)).toBe('product:7');
    expect(name('o:#{order.product.id}:x', ['order'], { product: { id: 3n } })).toBe('o:3:x');
    expect(name('o:#{0.id}', [undefined], { id: 5 })).toBe('o:5');
    expect(name('o:#{ids.1}', ['ids'], ['a', 'b'])).toBe('o:b');
    expect(name('o:#{headers.x-tenant}', ['headers'], { 'x-tenant': 't' })).toBe('o:t');
    expect(name('#{größe}', ['größe'], 'XL')).toBe('XL');
  });

  it.each([
    ['a:#id', 'write #{id}'],
    ['a:#order.id', 'write #{order.id}'],
    ['a:#unknown', 'write #{unknown}'],
    ['a:#{id}:#order', 'write #{order}'],
    ['queue#', 'write #{name}'],
    ['a:$id', 'write #{id}'],
    ['a:$order.id', 'write #{order.id}'],
    ['a/:id', 'write #{id}'],
    ['a/:id/lines', 'write #{id}'],
    ['product::id', 'write #{id}'],
    ['product:id', 'write #{id}'],
    [':id', 'write #{id}'],
    ['a:<id>', 'write #{id}'],
    ['a:[id]', 'write #{id}'],
    ['a:@id', 'write #{id}'],
    ['a:%id%', 'write #{id}'],
    ['a:#{order}/:id', 'write #{id}'],
    ['id', 'write #{id}'],
    ['order.id', 'write #{order.id}'],
    ['order.lines.0', 'write #{order.lines.0}'],
    ['a:args[0]', 'write #{0}'],
    ['args.1', 'write #{1}'],
    ['a:arguments[0]', 'write #{0}'],
    ['a:$0', 'write #{0}'],
    ['$1', 'write #{name}'],
    ['a:%s', 'write #{name}'],
    ['a:this.region', 'a key function has this'],
    [`a:${String(undefined)}`, 'is not set'],
    [`${String(null)}/a`, 'is not set'],
    [`a:${Number('x')}:b`, 'is not set'],
    ['a:[object Object]', 'is an object'],
    [`a:${String((id: string) => id)}`, 'a function'],
    ['a:', 'is not set'],
  ])('refuses %s: it would be one lock for all calls', (template, words) => {
    for (const key of [template, ['b:#{id}', template]])
      expect(refusal(() => compile(key, 'id', 'order'))).toContain(words);
  });

  it.each([
    ['idle', 'the name is a part of a word'],
    ['stock:idle', 'the same behind a colon'],
    ['cache:id-list', 'the same with a hyphen'],
    ['event:order.created', 'a name with a dot behind a colon is no value of a route'],
    ['user:id:#{id}', 'text that says what follows'],
    ['order.#{order}', 'the same with a dot'],
    ['nightly:report', 'no parameter has the name'],
    ['cost$', 'a mark without a name'],
    ['a:$total', 'a mark before another name'],
    ['mail@example', 'the same'],
    ['discount:10%', 'a percent sign without a letter'],
    ['fee:$9', 'a price: the method has two parameters'],
    ['fee:$10', 'a price'],
    ['cli:args', 'a word'],
    ['cli:args.parsed', 'a word with a path'],
    ['do this. now', 'a word'],
    ['nullable:undefined-behaviour', 'a part of a longer word'],
    ['a::b', 'an empty part between two others'],
  ])('accepts %s: %s', (template) => {
    expect(() => compile(template, 'id', 'order')).not.toThrow();
  });

  it('knows no names in code that a minifier wrote, and those of `params` there', () => {
    const minified = { ...shape('a', 'b'), isOneLine: true };
    expect(compileKey('plan:a', minified)([])).toBe('plan:a');
    expect(refusal(() => compileKey('plan:a', shape('a', 'b')))).toContain('write #{a}');
    expect(refusal(() => compileKey('product:id', minified, ['id']))).toContain('write #{id}');
  });

  it('is a constant name without placeholders, with any arguments', () => {
    expect(name('report:daily', [], 1, 2)).toBe('report:daily');
  });

  it('counts through a rest parameter', () => {
    expect(name('t:#{ids.1}', ['a', '...ids'], 0, 'x', 'y')).toBe('t:y');
    expect(name('t:#{2}', ['a', '...ids'], 0, 'x', 'y')).toBe('t:y');
    expect(refusal(() => compile('t:#{ids}', '...ids'))).toContain('write #{ids.0}');
  });

  it('percent-encodes separator, braces and percent sign of a value, and nothing else', () => {
    expect(name('p:#{v}', ['v'], 'a:b{c}d%e')).toBe('p:a%3Ab%7Bc%7Dd%25e');
    for (const value of ['a-b_c.d/e f', 'straße', '🙂', 'a\r\nb', "';--", '*?[]', '\u0000']) {
      expect(name('p:#{v}', ['v'], value)).toBe(`p:${value}`);
    }
  });

  it('never expands a value that looks like a placeholder', () => {
    expect(name('p:#{a}:#{b}', ['a', 'b'], '#{b}', 'secret')).toBe('p:#%7Bb%7D:secret');
  });

  it('accepts strings, safe integers and bigints; -0 is 0', () => {
    const values = [1, -5, -0, 0, Number.MAX_SAFE_INTEGER, 2n ** 80n, 'x', '0'];
    expect(values.map((value) => name('#{v}', ['v'], value))).toEqual([
      '1',
      '-5',
      '0',
      '0',
      '9007199254740991',
      '1208925819614629174706176',
      'x',
      '0',
    ]);
  });

  const unusable: Array<[string, unknown]> = [
    ['undefined', undefined],
    ['null', null],
    ['an empty string', ''],
    ['NaN', Number.NaN],
    ['Infinity', Infinity],
    ['-Infinity', -Infinity],
    ['a fraction', 0.5],
    ['an unsafe integer', 2 ** 53],
    ['an object', {}],
    ['an array', ['a']],
    ['a Date', new Date(0)],
    ['a Symbol', Symbol('s')],
    ['a function', () => 'a'],
    ['true', true],
    ['false', false],
    ['a Map', new Map()],
    ['a Promise', Promise.resolve('a')],
    ['a lone high surrogate', 'a\ud800'],
    ['a lone low surrogate', '\udc00a'],
    ['a String object', Object('a')],
    ['an object with toString', { toString: () => 'a' }],
    [
      'an object whose toString throws',
      {
        toString: () => {
          throw new Error('no');
        },
      },
    ],
    [
      'a Proxy that throws',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no');
          },
          getOwnPropertyDescriptor: () => {
            throw new Error('no');
          },
        },
      ),
    ],
  ];
  it.each(unusable)('refuses %s as a value and names the placeholder and the template', (_what, value) => {
    for (const [template, args] of [
      ['p:#{v}', [value]],
      ['p:#{0}', [value]],
      ['p:#{v.id}', [{ id: value }]],
    ] as const) {
      const message = refusal(() => compile(template, 'v')(args));
      expect(message).toContain(template);
      expect(message).toContain(template.slice(2));
    }
  });

  it('refuses a missing argument and a missing path, and names the part that is missing', () => {
    expect(refusal(() => name('p:#{v}', ['v']))).toBe(
      "#{v} in 'p:#{v}' is undefined; a key takes non-empty strings, safe integers and bigints. " +
        'Check the argument before the call, or give a key function.',
    );
    expect(refusal(() => name('p:#{v.a.b}', ['v'], { a: {} }))).toContain("argument 0.a has no own property 'b'");
    expect(refusal(() => name('p:#{v.a.b}', ['v'], { a: null }))).toContain('argument 0.a is null');
    expect(refusal(() => name('p:#{v.a}', ['v']))).toContain('argument 0 is undefined');
    expect(refusal(() => name('p:#{v.length}', ['v'], 'text'))).toContain("argument 0 is 'text'");
  });

  it('reads own properties only', () => {
    class Product {
      get id() {
        return 'inherited';
      }
    }
    expect(refusal(() => name('p:#{v.id}', ['v'], new Product()))).toContain("has no own property 'id'");
    expect(refusal(() => name('p:#{v.id}', ['v'], Object.create({ id: 'a' })))).toContain("has no own property 'id'");
    expect(name('p:#{v.id}', ['v'], Object.assign(Object.create(null), { id: 'a' }))).toBe('p:a');
    expect(refusal(() => name('p:#{v.id}', ['v'], JSON.parse('{"__proto__":{"id":"a"}}')))).toContain(
      'no own property',
    );
  });

  it('turns a throwing getter or proxy into an error with the cause', () => {
    const cause = new Error('boom');
    const getter = {
      get id() {
        throw cause;
      },
    };
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const value of [getter, proxy]) {
      let caught: unknown;
      try {
        name('p:#{v.id}', ['v'], value);
      } catch (error) {
        caught = error;
      }
      expect(caught).toBeInstanceOf(LockConfigurationError);
      expect((caught as Error).message).toContain("#{v.id} in 'p:#{v.id}' cannot be read: 'id' throws");
      expect((caught as Error).cause).toBeInstanceOf(Error);
    }
  });

  it('refuses a name of more than 1 KB in UTF-8', () => {
    expect(name('#{v}', ['v'], 'a'.repeat(1024))).toHaveLength(1024);
    expect(refusal(() => name('#{v}', ['v'], 'a'.repeat(1025)))).toContain('1025 bytes');
    expect(refusal(() => name('#{v}', ['v'], 'ä'.repeat(513)))).toContain('1026 bytes');
    expect(refusal(() => name('#{v}', ['v'], ':'.repeat(342)))).toContain('1026 bytes');
  });

  it.each<[string, string]>([
    ['p:#{', 'not closed'],
    ['p:#{id', 'not closed'],
    ['p:#{}', 'is empty'],
    ['', 'is empty'],
    ['p:#{ id}', 'begins with neither'],
    ['p:#{a b}', 'begins with neither'],
    ['p:#{1a}', 'begins with neither'],
    ['p:#{-1}', 'begins with neither'],
    ['p:#{01}', 'begins with neither'],
    ['p:#{.id}', 'begins with neither'],
    ['p:#{id.}', 'not a property name'],
    ['p:#{id..x}', 'not a property name'],
    ['p:#{id[0]}', 'begins with neither'],
    ['p:#{id.a b}', 'not a property name'],
    ['p:#{#{id}}', 'begins with neither'],
    ['p:#{id.__proto__.x}', "reads '__proto__'"],
    ['p:#{constructor}', "reads 'constructor'"],
    ['p:#{id.constructor}', "reads 'constructor'"],
    ['p:#{id.toString}', "reads 'toString'"],
    ['p:#{__proto__}', "reads '__proto__'"],
    ['p:#{id.hasOwnProperty}', 'all objects inherit'],
    ['p:#{1}', 'out of range'],
    ['p:#{7.id}', 'out of range'],
    ['p:{id}', 'outside of a placeholder'],
    ['p:${id}', 'outside of a placeholder'],
    ['p:#{id}}', 'outside of a placeholder'],
    ['p:\ud800', 'surrogate'],
    ['x'.repeat(1025), '1024'],
  ])('refuses the template %j at decoration', (template, problem) => {
    expect(refusal(() => compile(template, 'id'))).toContain(problem);
  });

  it('refuses an unknown name with the names it found, the nearest one, and three ways out', () => {
    expect(refusal(() => compile('p:#{idd}', 'id', undefined, '...rest'))).toBe(
      "'#{idd}' names no parameter of the method. Found: id, (destructured), ...rest. Did you mean 'id'? " +
        "Or write its position, such as #{0}, give a key function, or name the parameters: params: ['id', …].",
    );
    expect(refusal(() => compile('p:#{id}'))).toContain('Found: none.');
    expect(refusal(() => compileKey('p:#{id}', undefined))).toContain('source cannot be read');
    expect(compileKey('p:#{4}', undefined)([0, 1, 2, 3, 'x'])).toBe('p:x');
  });

  it('refuses templates in which two values could merge', () => {
    for (const template of ['#{a}#{b}', '#{a}-#{b}', 'p:#{a}#{b}', 'p:#{a}3A#{b}']) {
      expect(refusal(() => compile(template, 'a', 'b'))).toContain("write '#{a}:#{b}'");
    }
  });

  it('refuses `params` beside a key without placeholders: other libraries would make the key of both', () => {
    for (const key of ['product', ['product', 'stock']])
      expect(refusal(() => compileKey(key, shape('id'), ['id']))).toContain(
        "such as 'product:#{id}', or remove params",
      );
    expect(compileKey(['product', '#{id}'], shape('id'), ['id'])(['7'])).toEqual(['product', '7']);
    expect(compileKey('product', shape('id'), [])([])).toBe('product');
    expect(compileKey(() => 'product', shape('id'), ['id'])([])).toBe('product');
  });

  it('takes parameter names from `params` instead of the source', () => {
    expect(compileKey('p:#{id}', shape('a', 'b'), ['id'])([7, 8])).toBe('p:7');
    expect(compileKey('p:#{id}:#{1}', shape('a', 'b'), ['id'])([7, 8])).toBe('p:7:8');
    expect(compileKey('p:#{id}:#{1}', undefined, ['id'])([7, 8])).toBe('p:7:8');
    expect(refusal(() => compileKey('p:#{a}', shape('a'), ['id']))).toContain('Found: id.');
    for (const params of ['id', [1], [''], ['a b'], {}, null, 3]) {
      expect(refusal(() => compileKey('p:#{id}', shape('a'), params))).toContain('array of parameter names');
    }
    expect(refusal(() => compileKey('p:#{id}', shape('a', 'b'), ['id', 'id']))).toContain("'id' is in the list twice");
    expect(refusal(() => compileKey('p:#{id}', shape('a'), ['id', 'b']))).toContain('2 names for the 1 parameters');
  });
});

describe('several templates', () => {
  it('give a name each', () => {
    expect(compile(['a:#{from.id}', 'a:#{to.id}', 'all'], 'from', 'to')([{ id: 2 }, { id: 'x:y' }])).toEqual([
      'a:2',
      'a:x%3Ay',
      'all',
    ]);
  });

  it.each([
    [[], 'the list of lock names is empty'],
    [['all', 7], '7 is in the list'],
    [Array.from({ length: 251 }, () => 'a'), '251 lock names given'],
    [['a:#{a}', 'b:#{b}'], "'#{b}' names no parameter"],
  ])('are refused as a whole: %j', (templates, problem) => {
    expect(refusal(() => compile(templates, 'a'))).toContain(problem);
  });
});

describe('key function', () => {
  it('gets the arguments, and its result is the unchanged name', () => {
    expect(compile((a: string, b: number) => `p:${a}:{${b}}`, 'a', 'b')(['x', 2])).toBe('p:x:{2}');
  });

  it.each([undefined, null, '', 7, Promise.resolve('a'), [], ['a', ''], [['a']], {}, 'a\ud800', 'x'.repeat(1025)])(
    'refuses the result %p',
    (answer) => {
      expect(refusal(() => compile(() => answer)([]))).toContain('key:');
    },
  );

  it('may return several names', () => {
    expect(compile((...ids: string[]) => ids, 'ids')(['b', 'a'])).toEqual(['b', 'a']);
  });

  it('wraps an error that it throws, with the cause', () => {
    const cause = new TypeError('boom');
    let caught: unknown;
    try {
      compile(() => {
        throw cause;
      })([]);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(LockConfigurationError);
    expect((caught as Error).cause).toBe(cause);
  });

  it.each([undefined, null, 7, {}, Symbol('s')])('refuses the key %p', (key) => {
    expect(refusal(() => compile(key))).toContain('write a template');
  });
});

describe('key template, for all arguments', () => {
  // Short texts over the characters that matter collide soonest.
  const text = fc.string({
    unit: fc.constantFrom(':', '%', '{', '}', '#', 'a', '3', 'A', '-', '🙂'),
    minLength: 1,
    maxLength: 6,
  });
  const value = fc.oneof(text, fc.string({ unit: 'grapheme', minLength: 1 }), fc.maxSafeInteger(), fc.bigInt());
  const literal = fc.string({ unit: fc.constantFrom('a', '-', '3', '%', '/', ':'), maxLength: 3 });
  const separator = fc.tuple(literal, literal).map(([before, after]) => `${before}:${after}`);

  it('two different lists of arguments never give the same name', () => {
    const cases = fc.integer({ min: 1, max: 4 }).chain((count) =>
      fc.record({
        first: literal,
        separators: fc.array(separator, { minLength: count - 1, maxLength: count - 1 }),
        last: literal,
        one: fc.array(value, { minLength: count, maxLength: count }),
        other: fc.array(value, { minLength: count, maxLength: count }),
      }),
    );
    fc.assert(
      fc.property(cases, ({ first, separators, last, one, other }) => {
        const template = first + one.map((_, index) => `#{${index}}${separators[index] ?? last}`).join('');
        const key = compileKey(template, undefined);
        const same = one.every((part, index) => String(part) === String(other[index]));
        expect(key(one) === key(other)).toBe(same);
      }),
      { numRuns: 2000 },
    );
  });

  it('two lists that split the same text differently never give the same name', () => {
    fc.assert(
      fc.property(text, fc.nat(6), fc.nat(6), (whole, a, b) => {
        const split = (at: number) => [whole.slice(0, at) || 'x', whole.slice(at) || 'x'];
        const [one, other] = [split(a), split(b)];
        fc.pre([...one, ...other].every((part) => (part as unknown as { isWellFormed(): boolean }).isWellFormed()));
        const key = compileKey('#{0}:#{1}', undefined);
        expect(key(one) === key(other)).toBe(one.join('\0') === other.join('\0'));
      }),
      { numRuns: 2000 },
    );
  });

  it('gives a valid name or a LockConfigurationError, for any value', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSparseArray: true,
          withNullPrototype: true,
        }),
        (argument) => {
          for (const template of ['#{0}', '#{0.a.b}']) {
            try {
              expect(compileKey(template, undefined)([argument])).not.toBe('');
            } catch (error) {
              expect(error).toBeInstanceOf(LockConfigurationError);
            }
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('any text is a template or is refused with a LockConfigurationError', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('#', '{', '}', '#{', '.', '0', 'id', ':', ' ', '__proto__'), maxLength: 12 }),
        (template) => {
          try {
            expect(compileKey(template, shape('id'))([7])).toMatch(/^[^{}]+$/);
          } catch (error) {
            expect(error).toBeInstanceOf(LockConfigurationError);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});
