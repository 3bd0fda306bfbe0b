import { runInThisContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { readMethodShape } from '../../lib/key/method-shape.reader.js';

const evaluate = (source: string): object => runInThisContext(`(${source})`) as object;
const names = (source: string, method = 'm') =>
  readMethodShape(evaluate(source), method, undefined)?.parameters.map(({ name, rest }) =>
    rest ? `...${name}` : name,
  );

describe('method shape from the class source', () => {
  it.each<[string, string, Array<string | undefined>]>([
    ['a plain method', 'class { m(a, b) {} }', ['a', 'b']],
    ['no parameters', 'class { async m() {} }', []],
    ['default values', 'class { async m(a = 1, b = (x => x)(2)) {} }', ['a', 'b']],
    ['destructuring', 'class { async m({ a, b }, [c], d) {} }', [undefined, undefined, 'd']],
    ['destructuring with a default', 'class { async m({ a } = {}, b) {} }', [undefined, 'b']],
    ['a rest parameter', 'class { async m(a, ...rest) {} }', ['a', '...rest']],
    ['class fields and arrow functions before it', 'class { x = (m) => m; static y = 1; async m(a) {} }', ['a']],
    ['static blocks', 'class { static { this.z = 1; } async m(a) {} }', ['a']],
    ['private names', 'class { #p = 1; #q(b) { return #p in this; } async m(a) { return this.#q(a); } }', ['a']],
    ['a computed literal name', 'class { async ["m"](a) {} }', ['a']],
    ['a quoted name', 'class { async "m"(a) {} }', ['a']],
    ['generators', 'class { async *m(a) { yield a; } }', ['a']],
    ['a static method of the same name', 'class { async m(a) {} static m(x, y) {} }', ['a']],
    ['accessors of the same name', 'class { async m(a) {} static get m() { return 1; } }', ['a']],
    ['a later method of the same name', 'class { m(old) {} async m(a) {} }', ['a']],
    ['heritage', 'class extends (class { m(base) {} }) { async m(a) { return super.m(a); } }', ['a']],
    [
      'comments and strings that look like code',
      'class { /* m(x) {} */ s = "m(y) {}"; async m(/* first */ a /* , b */) {} }',
      ['a'],
    ],
    ['a template literal with braces', 'class { s = `m(${"}"}) {`; async m(a) {} }', ['a']],
    ['unicode names', 'class { async m(größe, $x, _y) {} }', ['größe', '$x', '_y']],
    [
      'optional chaining, nullish assignment, numeric separators, regular expressions',
      'class { async m(a) { a?.b; a ??= 1_000; return /[/}]/u.test(a); } }',
      ['a'],
    ],
    ['await using and dynamic import', 'class { async m(a) { for await (const x of a) await import("x"); } }', ['a']],
    ['import.meta and new.target', 'class { async m(a) { return [new.target, a]; } }', ['a']],
    [
      'a helper of older output',
      'class { m(a) { return __awaiter(this, arguments, void 0, function* (a, b = 2) {}); } }',
      ['a'],
    ],
  ])('reads parameters past %s', (_what, source, expected) => {
    expect(names(source)).toEqual(expected);
  });

  it.each([
    ['class { m() {} }', 'plain'],
    ['class { async m() {} }', 'async'],
    ['class { *m() {} }', 'generator'],
    ['class { async *m() {} }', 'async generator'],
  ])('detects the form of %s', (source, form) => {
    expect(readMethodShape(evaluate(source), 'm', undefined)?.form).toBe(form);
  });

  it('finds a method that a decorator has replaced, because it reads the class', () => {
    const type = evaluate('class { async m(id) {} }') as { prototype: Record<string, unknown> };
    type.prototype['m'] = (...args: unknown[]) => args;
    expect(readMethodShape(type, 'm', type.prototype['m'])?.parameters).toEqual([{ name: 'id', rest: false }]);
  });

  it('reads the function itself if the name is in no source: symbols and computed names', () => {
    const symbol = Symbol('m');
    const type = class {
      async [symbol](id: string) {
        return id;
      }
    };
    expect(readMethodShape(type, symbol, type.prototype[symbol])).toEqual({
      form: 'async',
      parameters: [{ name: 'id', rest: false }],
      callsSuper: false,
      isOneLine: false,
    });
    const computed = 'com' + 'puted';
    const other = class {
      async *[computed](id: string) {
        yield id;
      }
    };
    expect(readMethodShape(other, computed, Reflect.get(other.prototype, computed))?.form).toBe('async generator');
  });

  it('reads a constructor function of old output through the method itself', () => {
    function Old() {}
    Old.prototype.m = function (id: string) {
      return id;
    };
    expect(readMethodShape(Old, 'm', Old.prototype.m)?.parameters).toEqual([{ name: 'id', rest: false }]);
  });

  it('returns undefined for a function without source', () => {
    expect(readMethodShape(Map, 'get', Map.prototype.get)).toBeUndefined();
    expect(readMethodShape({}, 'm', undefined)).toBeUndefined();
    const bound = (async (id: string) => id).bind(undefined);
    expect(readMethodShape(class {}, 'm', bound)).toBeUndefined();
  });
});
