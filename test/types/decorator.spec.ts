import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';

/** What the compiler says about each snippet, all checked in one run. `// error: …` = it must say something with that text. */
const snippets: Record<string, string> = {
  'accepts a template on an async method': `class A { @DistributedLock('p:#{id}') async m(id: string) { return id; } }`,
  'accepts a key function with the parameters of the method': `class A {
    @DistributedLock({ key: (id: string, order: Order) => id + order.shop }) async m(id: string, order: Order) { return [id, order]; } }`,
  'accepts a key function with fewer parameters': `class A { @DistributedLock({ key: (id: string) => id }) async m(id: string, n: number) { return [id, n]; } }`,
  'accepts a key function with wider parameters': `class A { @DistributedLock({ key: (id: string | number) => String(id) }) async m(id: string) { return id; } }`,
  'accepts several templates, and a key function that answers several names': `class A {
    @DistributedLock({ key: ['a:#{id}', 'b:#{id}'] }) async m(id: string) { return id; }
    @DistributedLock({ key: (...ids: string[]) => ids }) async n(...ids: string[]) { return ids; } }`,
  'refuses templates that are none': `class A { @DistributedLock({ key: ['a', 1] }) async m() {} } // error: not assignable`,
  'takes several keys by call, and has a token for each': `async function f(locks: RedisLockService, ids: readonly string[]): Promise<number | undefined> {
    await using lock = await locks.acquire(ids); return (await locks.tryAcquire(['a', 'b'], { wait: 1 }))?.fencingTokens.get('a') ?? lock.keys.length; }`,
  'accepts a key function without parameters': `class A { @DistributedLock({ key: () => 'p' }) async m(id: string) { return id; } }`,
  'accepts a key function of the ExecutionContext, for LockInterceptor, with any parameters': `class A {
    @UseInterceptors(LockInterceptor) @DistributedLock({ key: (context: ExecutionContext) => context.getType() }) async m(id: string) { return id; } }`,
  'refuses a key function of the ExecutionContext and more': `class A { @DistributedLock({ key: (context: ExecutionContext, id: string) => id }) async m(id: string) { return id; } } // error: the key function does not fit`,
  'accepts rest parameters': `class A { @DistributedLock({ key: (...ids: string[]) => ids.join(':') }) async m(...ids: string[]) { return ids; } }`,
  'accepts generic methods': `class A { @DistributedLock('p:#{id}') async m<T extends string>(id: T): Promise<T> { return id; } }`,
  'accepts promises, Observables, async generators and async iterables': `class A {
    @DistributedLock('a') a(): Promise<void> { return Promise.resolve(); }
    @DistributedLock('b') b(): Observable<number> { return of(1); }
    @DistributedLock('c') async *c(): AsyncGenerator<number> { yield 1; }
    @DistributedLock({ key: 'd', returns: 'iterable' }) d(): AsyncIterable<number> { return this.c(); } }`,
  'accepts private and protected methods': `class A { n() { return this.m(); } @DistributedLock('p') private async m() { return 1; } }`,
  'accepts every option': `class A { @DistributedLock({ key: 'p', lease: '5s', wait: 0, renew: true, maxHold: '1 minute', signal: new AbortController().signal,
    fairness: 'strict', onLost: 'warn', connection: 'billing', params: ['id'], returns: 'promise' }) async m(id: string) { return id; } }`,
  'accepts a shared lock, and permits': `class A {
    @DistributedLock({ key: 'p', shared: true, onContended: (error, id: string) => error.code + id }) async m(id: string) { return id; }
    @DistributedLock({ key: (id: string) => id, limit: 10 }) async n(id: string) { return id; }
    @DistributedLock({ key: 'p', limit: 10, permits: 2, wait: 0, onContended: 'skip' }) async o() {} }
    async function f(locks: RedisLockService): Promise<unknown> { await locks.using('r', { shared: true, wait: '1s' }, () => 1); return locks.tryAcquire('g', { limit: 3, permits: 2 }); }`,
  'refuses a shared lock with permits': `class A { @DistributedLock({ key: 'p', shared: true, limit: 3 }) async m() {} } // error: not assignable`,
  'refuses permits without their number in all': `class A { @DistributedLock({ key: 'p', permits: 3 }) async m() {} } // error: not assignable`,
  'refuses a shared lock with permits by call': `async function f(locks: RedisLockService) { await locks.acquire('p', { shared: true, limit: 3 }); } // error: not assignable`,
  'refuses permits without their number in all by call': `async function f(locks: RedisLockService) { await locks.using('p', { permits: 3 }, () => 1); } // error:`,
  'accepts skip where the result may be undefined, for Observables and for iterables': `class A {
    @DistributedLock({ key: 'a', onContended: 'skip' }) async a() {}
    @DistributedLock({ key: 'b', onContended: 'skip' }) async b(): Promise<number | undefined> { return 1; }
    @DistributedLock({ key: 'c', onContended: 'skip' }) c(): Observable<number> { return of(1); }
    @DistributedLock({ key: 'd', onContended: 'skip' }) async *d(): AsyncGenerator<number> { yield 1; }
    @DistributedLock({ key: 'e', onContended: 'skip' }) async e(): Promise<unknown> { return 1; } }`,
  'accepts a fallback with the parameters and the result of the method, sync or async': `class A {
    @DistributedLock({ key: 'p:#{id}', onContended: (error, id: string, order: Order) => error.leaseLeft ?? id.length + order.shop.length })
    async a(id: string, order: Order): Promise<number> { return id.length + order.shop.length; }
    @DistributedLock({ key: (id: string) => id, onContended: async (error, id: string) => error.code + id }) async b(id: string): Promise<string> { return id; }
    @DistributedLock({ key: 'c', onContended: () => of(1) }) c(): Observable<number> { return of(2); }
    @DistributedLock({ key: 'd', onContended: async () => of(1) }) d(): Observable<number> { return of(2); }
    @DistributedLock({ key: 'e', onContended: async function* () { yield 1; } }) async *e(): AsyncIterable<number> { yield 2; }
    @DistributedLock({ key: 'f', onContended: () => { throw new Error(); } }) async f() { return 1; }
    @DistributedLock({ key: 'g', onContended: (error: LockNotAcquiredError) => void error }) async g() {} }`,
  'accepts a fallback that is called on the object': `class A { private stale = 1;
    @DistributedLock({ key: 'p', onContended(this: A, error: LockNotAcquiredError, id: number) { return this.stale + id; } }) async m(id: number) { return id; } }`,
  'accepts a fallback of the ExecutionContext, for LockInterceptor': `class A {
    @DistributedLock({ key: (context: ExecutionContext) => context.getType(), onContended: (error, context: ExecutionContext) => context.getType() })
    async m(id: number): Promise<string> { return String(id); } }`,
  'accepts a key function and a signal function that are called on the object': `class A { private tenant = 't'; shop = 's'; private end = new AbortController();
    @DistributedLock({ key(this: A, id: string) { return this.tenant + id; } }) async m(id: string) { return id; }
    @DistributedLock({ key: 'p', signal(this: A) { return this.end.signal; } }) async n(id: string) { return id; }
    @DistributedLock({ key(this: A, id: string) { return this.tenant + id; }, onContended(this: A, error, id: string) { return this.tenant + id; } })
    async o(id: string) { return id; }
    @DistributedLock({ key(this: { shop?: string }, ...ids: string[]) { return ids.map((id) => this.shop + id); } }) async q(...ids: string[]) { return ids; }
    tenantOf(): string { return this.tenant + this.end; } }`,
  'refuses a key function that is called on something else': `class B { tenant = 1; } class A { @DistributedLock({ key(this: B, id: string) { return this.tenant + id; } }) async m(id: string) { return id; } } // error: a function of the options is called on the object that has the method`,
  'refuses a signal function that is called on something else': `class B { end = new AbortController(); } class A { @DistributedLock({ key: 'p', signal(this: B) { return this.end.signal; } }) async m(id: string) { return id; } } // error: a function of the options is called on the object that has the method`,
  'accepts a signal function with the parameters of the method': `class A {
    @DistributedLock({ key: 'p', signal: (id: string, signal?: AbortSignal) => signal }) async m(id: string, signal?: AbortSignal) { return [id, signal]; }
    @DistributedLock({ key: (id: string) => id, signal: (id: string, signal: AbortSignal) => signal }) async n(id: string, signal: AbortSignal) { return [id, signal]; } }`,
  'refuses skip where the result is never undefined': `class A { @DistributedLock({ key: 'p', onContended: 'skip' }) async m() { return 1; } } // error: with onContended: 'skip' the method may return undefined`,
  'refuses another word for onContended': `class A { @DistributedLock({ key: 'p', onContended: 'ignore' }) async m() {} } // error: not assignable`,
  'refuses a fallback with another result': `class A { @DistributedLock({ key: 'p', onContended: () => 'x' }) async m() { return 1; } } // error: onContended does not fit the method`,
  'refuses a fallback that returns one value for an Observable': `class A { @DistributedLock({ key: 'p', onContended: () => 1 }) m(): Observable<number> { return of(1); } } // error: onContended does not fit the method`,
  'refuses a fallback with other parameters': `class A { @DistributedLock({ key: 'p', onContended: (error, id: number) => id }) async m(id: string) { return id.length; } } // error: onContended does not fit the method`,
  'refuses a fallback with more parameters': `class A { @DistributedLock({ key: 'p', onContended: (error, id: string, n: number) => n }) async m(id: string) { return id.length; } } // error: onContended does not fit the method`,
  'refuses a fallback of another error': `class A { @DistributedLock({ key: 'p', onContended: (error: { reason: string }) => 1 }) async m() { return 1; } } // error: `,
  'refuses a fallback that is called on something else': `class B { stale = 1; } class A { @DistributedLock({ key: 'p', onContended(this: B) { return this.stale; } }) async m() { return 1; } } // error: a function of the options is called on the object that has the method`,
  'refuses a signal function with other parameters': `class A { @DistributedLock({ key: 'p', signal: (id: number) => AbortSignal.timeout(id) }) async m(id: string) { return id; } } // error: the signal function does not fit`,
  'refuses a signal function that returns none': `class A { @DistributedLock({ key: 'p', signal: () => 'now' }) async m() {} } // error: not assignable`,
  'refuses a key function with another type': `class A { @DistributedLock({ key: (id: number) => String(id) }) async m(id: string) { return id; } } // error: the key function does not fit the parameters of the method`,
  'refuses a key function with a narrower type': `class A { @DistributedLock({ key: (id: 'a') => id }) async m(id: string) { return id; } } // error: the key function does not fit`,
  'refuses a key function with more parameters': `class A { @DistributedLock({ key: (id: string, n: number) => id + n }) async m(id: string) { return id; } } // error: the key function does not fit`,
  'refuses a key function that returns no string': `class A { @DistributedLock({ key: (id: string) => Number(id) }) async m(id: string) { return id; } } // error: not assignable`,
  'refuses a synchronous method': `class A { @DistributedLock('p') m() { return 1; } } // error: not assignable`,
  'refuses a void method': `class A { @DistributedLock('p') m(): void {} } // error: not assignable`,
  'refuses a synchronous generator': `class A { @DistributedLock('p') *m() { yield 1; } } // error: not assignable`,
  'refuses a getter': `class A { @DistributedLock('p') get m(): string { return ''; } } // error: not assignable`,
  'refuses a static method': `class A { @DistributedLock('p') static async m() {} } // error: not assignable`,
  'refuses a property': `class A { @DistributedLock('p') m = async () => 1; } // error: `,
  'refuses a class': `@DistributedLock('p') class A {} // error: `,
  'refuses an unknown option': `class A { @DistributedLock({ key: 'p', leese: '5s' }) async m() {} } // error: 'leese' does not exist`,
  'refuses an unknown unit of time': `class A { @DistributedLock({ key: 'p', lease: '5 parsec' }) async m() {} } // error: not assignable`,
  'takes names of any kind by call: texts, consts, enums, lockName, a variable, a UUID, lists of them': `enum Job { Nightly = 'nightly' }
    const fixed = 'a'; declare const name: string, either: 'a' | 'b', list: readonly string[], key: string | readonly string[];
    async function f(locks: RedisLockService, uuid: ReturnType<typeof crypto.randomUUID>) {
      await locks.acquire('a'); await locks.acquire(fixed); await locks.acquire(Job.Nightly); await locks.acquire(\`job:\${either}\`); await locks.acquire(name);
      await locks.acquire(lockName\`file:\${name}\`); await locks.acquire(uuid); await locks.acquire(list); await locks.acquire(key); await locks.acquire([name, 'b']);
      const n: number = await locks.using(either, async () => 5); const m: number = await locks.using<number>(list, { wait: 5 }, () => n);
      await locks.tryAcquire(['a', lockName\`b:\${m}\`]); await locks.inspect(name); await locks.forceRelease('a');
      return [locks.current(), locks.current(name), locks.election('a')]; }`,
  ...Object.fromEntries(
    [
      'acquire(NAME)',
      'tryAcquire(NAME)',
      'using(NAME, () => 1)',
      'using(NAME, { wait: 1 }, () => 1)',
      "acquire(['a', NAME])",
    ]
      .concat([
        'inspect(NAME)',
        'forceRelease(NAME)',
        'election(NAME)',
        'current(NAME)',
        "acquire(path === '' ? 'a' : NAME)",
      ])
      .map((call) => [
        `refuses a template string that does not encode its values: ${call}`,
        `const f = (locks: RedisLockService, path: string) => locks.${call.replace('NAME', '`file:${path}`')}; // error: a template string does not encode its values`,
      ]),
  ),
  'takes a duration from the configuration as a string, where a connection gets its options': `const given = process.env.LOCK_LEASE;
    RedisLockModule.forRoot({ lease: given, wait: given, commandTimeout: given, shutdownTimeout: given });
    RedisLockModule.forRootAsync({ useFactory: () => ({ lease: given, replicas: { count: 1, timeout: given ?? '1s' } }) });`,
  'takes a name of a branded type': `type OrderId = string & { readonly __brand: 'OrderId' }; declare const symbol: unique symbol;
    async function f(locks: RedisLockService, id: OrderId, other: string & { [symbol]: true }) {
      await locks.acquire(id); await locks.using([id, other, 'a'], () => 1); return locks.current(lockName\`order:\${id}\`); }`,
  'refuses a template string with a value of a branded type': `type OrderId = string & { readonly __brand: 'OrderId' };
    const f = (locks: RedisLockService, id: OrderId) => locks.acquire(\`order:\${id}\`); // error: a template string does not encode its values`,
  'is a part of other decorators': `const Once = (key: string) => applyDecorators(DistributedLock({ key, wait: 0 }), UseInterceptors(LockInterceptor));
    const ByName = (name: string) => applyDecorators(DistributedLock({ key: (id: string) => lockName\`\${name}:\${id}\`, onContended: 'skip' }));
    const Led = () => applyDecorators(LeaderOnly('reports')); const Lead = () => applyDecorators(Leader('reports'));
    const Short = (key: string, options: LockOptions = {}) => DistributedLock({ lease: '5s', ...options, key });
    class A { @Once('a') async a() {} @ByName('b') async b(id: string) { return id; } @Led() async c() {} @Lead() async d() {} @Short('e', { wait: 0 }) async e() {} }`,
  'refuses options without a key': `class A { @DistributedLock({ lease: '5s' }) async m() {} } // error: 'key' is missing`,
  'infers the result of using, with and without options': `async function f(locks: RedisLockService): Promise<[number, string]> {
    return [await locks.using('a', () => 1), await locks.using('a', { wait: 0 }, async (lock) => lock.key)]; }`,
  'has null in the result type of tryAcquire': `async function f(locks: RedisLockService) { const lock = await locks.tryAcquire('a'); lock.release(); } // error: possibly 'null'`,
  'accepts a lock in await using': `async function f(locks: RedisLockService) { await using lock = await locks.acquire('a', { lease: 500 }); return lock.fencingToken; }`,
  'accepts strings, numbers and bigints in lockName':
    'function f(path: string, id: number): string[] { return [lockName`file:${path}`, lockName`a:${id}:${2n}`]; }',
  'refuses a value in a name that may be undefined':
    'function f(path?: string) { return lockName`file:${path}`; } // error: not assignable',
  'refuses other values in a name': 'function f(at: Date) { return lockName`file:${at}`; } // error: not assignable',
  'refuses lockName as a function': `lockName('file:x'); // error: not assignable`,
  'accepts a cluster and a quorum': `RedisLockModule.forRoot({ cluster: { nodes: ['redis://a:7000'] } });
    RedisLockModule.forRoot({ quorum: { nodes: ['redis://a', 'redis://b', { host: 'c' }] } });`,
  'refuses an unknown option of the module': `RedisLockModule.forRoot({ clusters: { nodes: [] } }); // error: 'clusters' does not exist`,
  'accepts a factory that is declared to return the options of the module': `RedisLockModule.forRootAsync({ useFactory: (): RedisLockModuleOptions => ({ redis: 'redis://a' }) });`,
  'refuses an async configuration that gives neither factory nor class its type': `RedisLockModule.forRootAsync({ useFactory: () => ({ leese: 5 }) }); // error: `,
  'accepts forRoot without options, and an async one with name and isGlobal': `RedisLockModule.forRoot();
    RedisLockModule.forRootAsync({ name: 'billing', isGlobal: false, useFactory: async (n: number) => ({ lease: n }), inject: ['n'] });`,
};

const prelude = `import { applyDecorators, type ExecutionContext, UseInterceptors } from '@nestjs/common';
import { DistributedLock, Leader, LeaderOnly, LockInterceptor, lockName, type LockNotAcquiredError, type LockOptions, RedisLockModule, type RedisLockModuleOptions, RedisLockService } from 'nestjs-redis-lock';
import { Observable, of } from 'rxjs';
interface Order { shop: string }
export { applyDecorators, Leader, LeaderOnly, type LockOptions, DistributedLock, LockInterceptor, lockName, RedisLockModule, RedisLockService, Observable, of, UseInterceptors, type ExecutionContext, type LockNotAcquiredError, type Order, type RedisLockModuleOptions };
`;

const root = fileURLToPath(new URL('../../', import.meta.url));
const fileOf = (index: number): string => `${root}test/types/snippet-${index}.ts`;
const sources = new Map(
  Object.values(snippets).map(
    (snippet, index) => [fileOf(index), prelude + snippet.replace(/\/\/ error:.*/, '')] as const,
  ),
);
let program: ts.Program;

beforeAll(() => {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: unknown };
  };
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => sources.has(path) || fileExists.call(host, path);
  host.readFile = (path) => sources.get(path) ?? readFile.call(host, path);
  program = ts.createProgram([...sources.keys()], options, host);
}, 60_000);

describe('the compiler', () => {
  it.each(Object.keys(snippets).map((title, index) => [title, index] as const))('%s', (title, index) => {
    const source = program.getSourceFile(fileOf(index));
    const messages = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'),
    );
    const expected = /\/\/ error: ?(.*)$/m.exec(snippets[title]!)?.[1];
    if (expected === undefined) return expect(messages).toEqual([]);
    expect(messages).not.toEqual([]);
    expect(messages.join('\n')).toContain(expected);
    if (snippets[title]!.includes('@DistributedLock')) expect(messages.join('\n')).not.toMatch(/no overload matches/i);
  });
});
