import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { DistributedLock, InjectRedisLock, Leader, LeaderOnly, LockConfigurationError } from 'nestjs-redis-lock';
import ts from 'typescript';

const { ES2022, ES2016 } = ts.ScriptTarget;

/** Loads a class as a compiler writes it. Returns the error, or nothing. */
function load(method: string, options: ts.CompilerOptions): string | undefined {
  const { outputText } = ts.transpileModule(`class A { @DistributedLock('a:#{id}') ${method} }`, {
    compilerOptions: { module: ts.ModuleKind.None, target: ES2022, experimentalDecorators: true, ...options },
  });
  return run(outputText);
}

function run(source: string, decorator?: unknown): string | undefined {
  try {
    // oxlint-disable-next-line no-implied-eval
    new Function('DistributedLock', 'decorator', source)(DistributedLock, decorator);
    return undefined;
  } catch (error) {
    if (error instanceof LockConfigurationError) return error.message;
    throw error;
  }
}

const types = { emitDecoratorMetadata: true };
const promise = 'm(id: string): Promise<string> { return Promise.resolve(id); }';
const untyped = 'm(id: string) { return Promise.resolve(id); }';
const async = 'async m(id: string) { return id; }';

describe('@DistributedLock, as compilers write it', () => {
  it('accepts async methods of every build, and others if the build emits that they return a promise', () => {
    for (const options of [types, {}, { ...types, target: ES2016 }]) expect(load(async, options)).toBeUndefined();
    expect(load(promise, types)).toBeUndefined();
  });

  it('requires async or a return type if the build emits types and the method has none', () => {
    expect(load(untyped, types)).toMatch(
      /^@DistributedLock on A\.m: the method is not async and declares no promise.*Write async, or the return type, such as : Promise<…>/,
    );
  });

  it('requires async or `returns` if the build emits no types: esbuild, tsx, Vite', () => {
    for (const method of [promise, untyped]) {
      expect(load(method, {})).toMatch(
        /the method is not async.*emits no types \(esbuild.*Write async.*returns: 'promise'/,
      );
    }
  });

  it('names the compile target if the build has removed async and emits no types', () => {
    const lowered = /async was compiled away.*target.*ES2017.*returns: 'promise'/;
    expect(load(async, { target: ES2016 })).toMatch(lowered);
    const esbuild = 'class A { m(id) { return __async(this, null, function* () { return id; }); } }';
    expect(run(`${esbuild}; DistributedLock('a')(A.prototype, 'm', { value: A.prototype.m })`)).toMatch(lowered);
  });

  it.each([
    ['a method', async],
    ['a static method', `static ${async}`],
    ['a property', 'm = async (id) => id;'],
    ['an accessor', 'get m() { return 1; }'],
  ])('names experimentalDecorators if it was compiled as a standard decorator: %s', (_what, member) => {
    expect(load(member, { experimentalDecorators: false })).toMatch(
      /^@DistributedLock on m: compiled as a standard decorator.*experimentalDecorators: true/,
    );
  });

  it.each([
    ['a method', async],
    ['a static method', `static ${async}`],
    ['a property', 'm = async (id) => id;'],
    ['an accessor', 'get m() { return 1; }'],
  ])('says what to write if it stands without brackets, in each build: %s', (_what, member) => {
    for (const [name, decorator] of Object.entries({ DistributedLock, Leader, LeaderOnly, InjectRedisLock })) {
      for (const options of [types, {}, { experimentalDecorators: false }]) {
        const { outputText } = ts.transpileModule(`class A { @decorator ${member} }`, {
          compilerOptions: { module: ts.ModuleKind.None, target: ES2022, experimentalDecorators: true, ...options },
        });
        expect(run(outputText, decorator)).toMatch(
          new RegExp(`^@${name} on (A\\.)?m: without brackets a decorator does nothing; write @${name}\\(`),
        );
      }
    }
  });

  it('refuses a class without brackets, and with them', () => {
    for (const [name, decorator] of Object.entries({ DistributedLock, Leader, LeaderOnly, InjectRedisLock })) {
      for (const experimentalDecorators of [true, false]) {
        const compile = (line: string) =>
          ts.transpileModule(`${line} class A { ${async} }`, {
            compilerOptions: { module: ts.ModuleKind.None, target: ES2022, experimentalDecorators },
          }).outputText;
        expect(run(compile('@decorator'), decorator)).toMatch(
          new RegExp(`^@${name} on A: without brackets a decorator does nothing; write @${name}\\(`),
        );
        expect(run(compile("@decorator('a')"), decorator)).toMatch(
          experimentalDecorators ? /on A: it is for / : /on A: compiled as a standard decorator/,
        );
      }
    }
  });

  it('says how to turn mangling off if a minifier has renamed the parameters', () => {
    const source = 'class A{async m(e,t){return[e,t]}}';
    const message = run(`${source};DistributedLock('a:#{id}')(A.prototype,'m',{value:A.prototype.m})`);
    expect(message).toMatch(
      /Found: e, t, as a minifier calls them.*esbuild: minifyWhitespace and minifySyntax instead of minify.*terser and SWC: mangle: false.*#\{0\}.*params/,
    );
    // Both keep the names of functions and classes only.
    expect(message).not.toMatch(/keepNames|keep_fnames|keep names/i);
  });
});
