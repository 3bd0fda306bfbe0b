import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Next, Res } from '@nestjs/common';
import { DistributedLock, type DistributedLockOptions, LockConfigurationError } from 'nestjs-redis-lock';
import { Observable } from 'rxjs';
import { RecordingConnection } from '../support/recording-connection.js';

type Decorator = (
  target: object,
  property: string | symbol,
  descriptor: PropertyDescriptor,
) => PropertyDescriptor | void;
const locked = DistributedLock as unknown as (argument: unknown) => Decorator;

/** Applies a decorator to `m` of a class as the compiler does. */
function decorate(type: new () => object, decorator: Decorator, property: string | symbol = 'm'): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, property)!;
  Object.defineProperty(type.prototype, property, decorator(type.prototype, property, descriptor) ?? descriptor);
}

const refused = (
  argument: unknown,
  type: new () => object = class Products {
    async m(id: string) {
      return id;
    }
  },
): string => {
  try {
    decorate(type, locked(argument));
  } catch (error) {
    if (error instanceof LockConfigurationError) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('@DistributedLock, at decoration', () => {
  it.each<[string, unknown, string]>([
    ['an unknown parameter', 'p:#{idd}', "Did you mean 'id'?"],
    ['a wrong template in options', { key: 'p:#{' }, 'not closed'],
    ['no key', {}, 'key: undefined given'],
    ['no argument', undefined, 'options: undefined given'],
    ['a misspelt option', { key: 'p', leese: '5s' }, "Did you mean 'lease'?"],
    ['a misspelt own option', { key: 'p', conection: 'x' }, "Did you mean 'connection'?"],
    ['permits of an unknown number', { key: 'p', permits: 2 }, 'permits: needs limit'],
    ['a wrong onContended', { key: 'p', onContended: 'ignore' }, "onContended: 'ignore' given; write 'throw', 'skip'"],
    ['a wrong value for it', { key: 'p', onContended: null }, 'onContended: null given'],
    ['a wrong lease', { key: 'p', lease: 0 }, 'lease: 0'],
    ['a wrong wait', { key: 'p', wait: 'soon' }, "wait: 'soon'"],
    ['a wrong fairness', { key: 'p', fairness: 'fair' }, 'fairness:'],
    ['a wrong signal', { key: 'p', signal: {} }, 'signal:'],
    ['a wrong connection', { key: 'p', connection: '' }, 'connection:'],
    ['a wrong kind', { key: 'p', returns: 'stream' }, 'returns:'],
    ['a kind that the source contradicts', { key: 'p', returns: 'observable' }, 'async function'],
    ['an empty list of keys', { key: [] }, 'key: the list of lock names is empty'],
    ['a key function in a list', { key: ['a', () => 'b'] }, 'key: a function is in the list'],
    ['an array', ['p'], 'options: an array given'],
  ])('refuses %s, naming class and method', (_what, argument, problem) => {
    const message = refused(argument);
    expect(message).toContain('@DistributedLock on Products.m: ');
    expect(message).toContain(problem);
  });

  it('refuses methods that cannot wait: synchronous methods and generators', () => {
    expect(
      refused(
        'p',
        class A {
          m() {
            return 1;
          }
        },
      ),
    ).toContain('A.m: the method is not async');
    expect(
      refused(
        'p',
        class A {
          *m() {
            yield 1;
          }
        },
      ),
    ).toContain('synchronous generator');
    const declared = class A {
      m() {
        return '';
      }
    };
    Reflect.defineMetadata('design:returntype', String, declared.prototype, 'm');
    expect(refused('p', declared)).toContain('declared to return String');
  });

  it('refuses static methods, accessors and properties', () => {
    class A {
      static async m() {}
      get n() {
        return async () => 1;
      }
    }
    const apply = (target: object, property: string) => () =>
      locked('p')(target, property, Object.getOwnPropertyDescriptor(target, property) as PropertyDescriptor);
    expect(apply(A, 'm')).toThrow(/@DistributedLock on A\.m: a static method/);
    expect(apply(A.prototype, 'n')).toThrow(/@DistributedLock on A\.n: it is for methods/);
    expect(apply(A.prototype, 'missing')).toThrow(/it is for methods/);
  });

  it('refuses to skip a handler that must send the response itself', () => {
    const handler = () =>
      class A {
        async m(_response: unknown) {}
      };
    for (const decorator of [Res(), Next()]) {
      const type = handler();
      decorator(type.prototype, 'm', 0);
      expect(refused({ key: 'p', onContended: 'skip' }, type)).toMatch(/the request would get no response/);
    }
    const passthrough = handler();
    Res({ passthrough: true })(passthrough.prototype, 'm', 0);
    expect(() => decorate(passthrough, locked({ key: 'p', onContended: 'skip' }))).not.toThrow();
  });

  it('refuses options beside the name, which a build without types would let through', () => {
    class A {
      async m() {}
    }
    const untyped = DistributedLock as (...given: unknown[]) => MethodDecorator;
    expect(() => decorate(A, untyped('a', { wait: 0 }))).toThrow(/^@DistributedLock on A\.m: two arguments given/);
  });

  it('refuses a second lock on the same method', () => {
    class A {
      async m() {}
    }
    decorate(A, locked('a'));
    expect(() => decorate(A, locked('b'))).toThrow(/a method takes one @DistributedLock/);
  });

  it('takes the kind from the source, then from the emitted types, then from `returns`', () => {
    const declaring = (returnType: unknown) => {
      const type = class A {
        m() {
          return undefined as unknown;
        }
      };
      Reflect.defineMetadata('design:returntype', returnType, type.prototype, 'm');
      return type;
    };
    for (const type of [declaring(Promise), declaring(Observable), declaring(class extends Observable<never> {})]) {
      expect(() => decorate(type, locked('p'))).not.toThrow();
    }
    expect(refused('p', declaring(Object))).toMatch(/lost at run time.*returns: /);
    expect(() => decorate(declaring(Object), locked({ key: 'p', returns: 'iterable' }))).not.toThrow();
    expect(() => decorate(declaring(undefined), locked({ key: 'p', returns: 'promise' }))).not.toThrow();
  });

  it('reads every option exactly once', () => {
    const reads: string[] = [];
    const options = new Proxy<Record<string, unknown>>(
      { key: 'p', wait: 0, connection: 'c' },
      {
        get: (target, property) => {
          reads.push(String(property));
          return target[property as string];
        },
      },
    );
    decorate(
      class {
        async m() {}
      },
      locked(options),
    );
    expect(reads.sort()).toEqual(['connection', 'key', 'wait']);
  });
});

describe('@DistributedLock, wrapping', () => {
  const tag =
    (key: string, value: unknown): Decorator =>
    (_target, _property, descriptor) => {
      Reflect.defineMetadata(key, value, descriptor.value as object);
    };
  /** A decorator that replaces the method by its own function, as transactions and caches do. */
  const around =
    (connection: RecordingConnection, name: string, pause = async () => {}): Decorator =>
    (_target, _property, descriptor) => {
      const original = descriptor.value as (...args: unknown[]) => Promise<unknown>;
      descriptor.value = async function (this: unknown, ...args: unknown[]) {
        connection.note(`begin ${name}`);
        await pause();
        try {
          return await original.apply(this, args);
        } finally {
          connection.note(`end ${name}`);
        }
      };
    };

  it('locks outside of every other decorator, in any order', async () => {
    for (const lockAt of [0, 1, 2]) {
      const connection = new RecordingConnection();
      class A {
        async m(id: string) {
          connection.note(`work ${id}`);
        }
      }
      const decorators = [
        around(connection, 'a'),
        around(connection, 'b', async () => {
          await Promise.resolve();
        }),
      ];
      decorators.splice(lockAt, 0, locked('p:#{id}'));
      for (const decorator of decorators) decorate(A, decorator);
      await connection.inject(new A()).m('7');
      expect(connection.events).toEqual([
        'enter p:7',
        'begin b in p:7',
        'begin a in p:7',
        'work 7 in p:7',
        'end a in p:7',
        'end b in p:7',
        'leave p:7 worked',
      ]);
    }
  });

  it('takes the lock once with another decorator in between, and again if that calls the method again', async () => {
    const connection = new RecordingConnection();
    class A {
      async m(_id: string) {
        connection.note('work');
      }
    }
    decorate(A, locked('p:#{_id}'));
    decorate(A, (_target, _property, descriptor) => {
      const original = descriptor.value as (...args: unknown[]) => Promise<unknown>;
      descriptor.value = async function (this: unknown, ...args: unknown[]) {
        await original.apply(this, args);
        await original.apply(this, args);
      };
    });
    await connection.inject(new A()).m('7');
    expect(connection.events.filter((event) => event.startsWith('enter'))).toEqual(['enter p:7', 'enter p:7 in p:7']);
  });

  it('never runs the method unlocked when another decorator calls it after the release', async () => {
    const connection = new RecordingConnection();
    let later: Promise<unknown> = Promise.resolve();
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    class A {
      async m(_id: string) {
        connection.note('work');
      }
    }
    decorate(A, locked('p:#{_id}'));
    decorate(A, (_target, _property, descriptor) => {
      const original = descriptor.value as (...args: unknown[]) => Promise<unknown>;
      descriptor.value = async function (this: unknown, ...args: unknown[]) {
        later = released.then(() => original.apply(this, args));
      };
    });
    await connection.inject(new A()).m('7');
    release();
    await later;
    expect(connection.events.filter((event) => event.startsWith('enter'))).toHaveLength(2);
  });

  it('keeps name, length, metadata and prototype of the method', () => {
    class A {
      async m(_id: string, _n: number) {}
    }
    const original = A.prototype.m;
    decorate(A, tag('below', 1));
    decorate(A, locked('p:#{_id}'));
    decorate(A, tag('above', 2));
    decorate(A, around(new RecordingConnection(), 'x'));
    decorate(A, tag('outside', 3));
    new RecordingConnection().inject(new A());
    const { m } = A.prototype;
    expect(Reflect.getMetadata('outside', m)).toBe(3);
    class B {
      async m(_id: string, _n: number) {}
    }
    const plain = B.prototype.m;
    decorate(B, tag('below', 1));
    decorate(B, locked('p:#{_id}'));
    decorate(B, tag('above', 2));
    const wrapped = new RecordingConnection().inject(new B()).m;
    expect([wrapped.name, wrapped.length]).toEqual(['m', 2]);
    expect([Reflect.getOwnMetadata('below', wrapped), Reflect.getOwnMetadata('above', wrapped)]).toEqual([1, 2]);
    expect(Object.getPrototypeOf(wrapped)).toBe(plain);
    expect(original).not.toBe(plain);
  });

  it('shows its source to decorators further out, which may read parameter names there', () => {
    class A {
      async m(id: string, count: number) {
        return [id, count];
      }
    }
    const source = A.prototype.m.toString();
    const seen: string[] = [];
    const reading: Decorator = (_target, _property, { value }) => void seen.push(String(value));
    decorate(A, reading);
    decorate(A, locked('p:#{id}'));
    decorate(A, reading);
    new RecordingConnection().inject(new A());
    expect(source).toMatch(/^async m\(id, count\)/);
    expect([...seen, `${A.prototype.m as unknown as string}`]).toEqual([source, source, source]);
    expect(Object.keys(A.prototype.m)).toEqual([]);
  });

  it('hides the connection: no own enumerable property, nothing in JSON', () => {
    class A {
      id = 1;
      async m() {}
    }
    decorate(A, locked('p'));
    const instance = new RecordingConnection().inject(new A());
    expect(Reflect.ownKeys(Object.assign({}, instance))).toEqual(['id']);
    expect(JSON.stringify(instance)).toBe('{"id":1}');
  });

  it('rejects, and does not throw, without a connection: the method never runs unlocked', async () => {
    let ran = false;
    class A {
      async m() {
        ran = true;
      }
    }
    decorate(A, locked('p'));
    const call = new A().m();
    await expect(call).rejects.toThrow(LockConfigurationError);
    await expect(call).rejects.toThrow(
      /A\.m: this object has no lock connection \('default'\), so the method was not run/,
    );
    expect(ran).toBe(false);
  });

  it('rejects arguments that give no key, naming class and method, before anything is sent', async () => {
    class A {
      async m(_id?: string) {}
    }
    decorate(A, locked('p:#{_id}'));
    const connection = new RecordingConnection();
    await expect(connection.inject(new A()).m()).rejects.toThrow("A.m: #{_id} in 'p:#{_id}' is undefined;");
    expect(connection.events).toEqual([]);
  });

  it('locks an inherited method and a super call by the inheriting instance, but not an override', async () => {
    const connection = new RecordingConnection();
    class Base {
      async m(id: string) {
        connection.note(`base ${id}`);
      }
      async n(id: string) {
        connection.note(`n ${id}`);
      }
    }
    decorate(Base, locked('p:#{id}'));
    decorate(Base, locked('n:#{id}'), 'n');
    class Sub extends Base {
      override async m(id: string) {
        connection.note('sub');
        await super.m(id);
      }
    }
    class Both extends Base {
      override async m(id: string) {
        connection.note('both');
        await super.m(id);
      }
    }
    decorate(Both, locked('q:#{id}'));
    await connection.inject(new Sub()).n('1');
    await connection.inject(new Sub()).m('2');
    await connection.inject(new Both()).m('3');
    expect(connection.events).toEqual([
      'enter n:1',
      'n 1 in n:1',
      'leave n:1 worked',
      'sub',
      'enter p:2',
      'base 2 in p:2',
      'leave p:2 worked',
      'enter q:3',
      'both in q:3',
      'enter p:3 in q:3',
      'base 3 in p:3',
      'leave p:3 worked',
      'leave q:3 worked',
    ]);
  });

  it('keeps the instances of two applications separate, each with its own defaults', async () => {
    class A {
      async m() {}
    }
    decorate(A, locked({ key: 'p', wait: 5 }));
    const [one, two] = [new RecordingConnection(), new RecordingConnection()];
    Object.assign(two, { defaults: { ...two.defaults, lease: 99 } });
    const [a, b] = [one.inject(new A()), two.inject(new A())];
    await a.m();
    await b.m();
    await b.m();
    expect([one.events.length, two.events.length]).toEqual([2, 4]);
    expect([one.options?.lease, two.options?.lease, two.options?.wait]).toEqual([30_000, 99, 5]);
  });

  it('uses two connections in one class', async () => {
    class A {
      async m() {}
      async n() {}
    }
    decorate(A, locked({ key: 'm', connection: 'one' }));
    decorate(A, locked({ key: 'n', connection: 'two' }), 'n');
    const { connectionsWanted } = await import('../../lib/nest/method/connection-slot.js');
    const instance = new A();
    const wanted = connectionsWanted(instance);
    const [one, two] = [new RecordingConnection(), new RecordingConnection()];
    Reflect.set(instance, wanted.get('one')!, one);
    Reflect.set(instance, wanted.get('two')!, two);
    await instance.m();
    await instance.n();
    expect([one.events[0], two.events[0]]).toEqual(['enter m', 'enter n']);
  });

  it('locks methods with symbol names and passes `this`', async () => {
    const connection = new RecordingConnection();
    const symbol = Symbol('m');
    class A {
      state = 'kept';
      async [symbol](id: string) {
        return `${this.state} ${id}`;
      }
    }
    decorate(A, locked('s:#{id}'), symbol);
    await expect(connection.inject(new A())[symbol]('1')).resolves.toBe('kept 1');
    expect(connection.events[0]).toBe('enter s:1');
  });

  it('rejects with the error of the work; a lost lock rejects only work that succeeded', async () => {
    const connection = new RecordingConnection();
    connection.lost = true;
    class A {
      async m(fail: string) {
        if (fail === 'yes') throw new Error('business');
        return 1;
      }
    }
    decorate(A, locked('p:#{fail}'));
    const instance = connection.inject(new A());
    await expect(instance.m('yes')).rejects.toThrow('business');
    await expect(instance.m('no')).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it('accepts typed options', () => {
    const options: DistributedLockOptions = { key: 'p', lease: '5s' };
    class A {
      @DistributedLock(options)
      async m() {}
    }
    expect(A.prototype.m.name).toBe('m');
  });
});
