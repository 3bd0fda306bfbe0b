import 'reflect-metadata';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as common from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import * as schedule from '@nestjs/schedule';
import * as library from 'nestjs-redis-lock';
import { createLockClient } from 'nestjs-redis-lock/client';
import { LockConsoleModule } from 'nestjs-redis-lock/console';
import { LockTestBed, RedisLockTestingModule, VirtualClock } from 'nestjs-redis-lock/testing';
import * as rxjs from 'rxjs';
import ts from 'typescript';

/**
 * A wrong line, and what its writer must get. `line` is one of
 * - a decorator, or a whole member, of the class Shop; without a method it stands on `on`;
 * - a class with its decorator;
 * - an expression, or statements that end with a semicolon; `locks` is the RedisLockService. A module is imported into an application;
 * - a command of the shell.
 *
 * `call` is made when the application runs; `shop` is its Shop. `code` is that of the error, of the doctor's finding, `log` for another
 * line of the log, or `exit 64`. `says` has what the message must contain.
 * @typedef {{ line: string, on?: string, call?: string, code?: string, says: string[], build?: keyof typeof builds }} Row
 * @typedef {{ title: string, rows: Row[] }} Group
 * @typedef {{ code: string, message: string }} Answer
 */

/** The method of a decorator that has none. */
export const method = 'async buy(id: string, order: Order) {}';
/** The code of a row that names none. */
export const usualCode = 'LOCK_CONFIGURATION';

const builds = {
  /** TypeScript and SWC, as Nest sets them up. */
  nest: { experimentalDecorators: true, emitDecoratorMetadata: true },
  /** esbuild and tsx. */
  untyped: { experimentalDecorators: true },
  /** Without `experimentalDecorators`. */
  standard: {},
};

const scope = {
  ...library,
  ...{ createLockClient, LockConsoleModule, LockTestBed, RedisLockTestingModule, VirtualClock },
  ...{ ...common, ...schedule, ...rxjs },
  Order: class {},
};

/** Makes JavaScript of TypeScript. @typedef {(code: string, build: keyof typeof builds) => string} Compile */

/** @type {Compile} */
const byTypeScript = (code, build) =>
  ts.transpileModule(code, { compilerOptions: { target: ts.ScriptTarget.ES2022, ...builds[build] } }).outputText;

/**
 * @param {string} code TypeScript
 * @param {{ build?: Row['build'], names?: Record<string, unknown>, compile?: Compile | undefined }} how
 */
async function evaluate(code, { build = 'nest', names = {}, compile = byTypeScript }) {
  const known = Object.fromEntries(
    // A namespace has `default` as well.
    Object.entries({ ...scope, ...names }).filter(([name]) => /^[\w$]+$/.test(name) && name !== 'default'),
  );
  const compiled = compile(`async function main() { ${code} }`, build);
  // oxlint-disable-next-line no-implied-eval
  const run = new Function(...Object.keys(known), `${compiled}\nreturn main();\n//# sourceURL=shop.js`);
  return run(...Object.values(known));
}

/** True for a whole member, and false for decorators alone. @param {string} text */
const hasMember = (text) => /^(?!@)|\}$|^@\w+ \w/.test(text.replace(/\}\)$/, ''));

/** What the page shows. @param {Row} row */
export const shown = ({ line, on, call }) =>
  [line, on, call && `await ${call}`]
    .filter(Boolean)
    .join(' … ')
    .replaceAll(/\s*\n\s*/g, ' ');

/** @param {Row} row @param {Compile} [compile] */
async function load({ line, on, build = 'nest' }, compile) {
  if (!/^(?:@|async |constructor)/.test(line)) return undefined;
  if (/ class /.test(line)) return evaluate(`${line} return Shop;`, { build, compile });
  const member = hasMember(line) ? line : `${line} ${on ?? method}`;
  const decorator = build === 'standard' ? '' : '@Injectable() ';
  return evaluate(`${decorator}class Shop { ${member} } return Shop;`, { build, compile });
}

/** A logger of Nest that keeps warnings and errors. */
class Lines {
  /** @type {string[]} */
  kept = [];
  log() {}
  debug() {}
  verbose() {}
  /** @param {unknown} line */
  warn(line) {
    this.kept.push(String(line));
  }
  /** @param {unknown} line */
  error(line) {
    this.kept.push(line instanceof Error ? line.message : String(line));
  }
}

/**
 * Runs the line as an application would.
 * @param {Row} row
 * @param {string} program the command line
 * @param {Compile} [compile]
 * @returns {Promise<Answer>} what its writer gets
 */
export async function answerTo(row, program, compile) {
  if (row.line.startsWith('npx ')) return commandAnswer(row.line, program);
  const log = new Lines();
  const bed = new LockTestBed();
  const apps = /** @type {common.INestApplicationContext[]} */ ([]);
  try {
    const Shop = await load(row, compile);
    const open = async (/** @type {unknown[]} */ imports) => {
      class Application {}
      const providers = Shop === undefined ? [] : [Shop];
      common.Module({ imports: /** @type {common.DynamicModule[]} */ (imports), providers })(Application);
      const app = await NestFactory.createApplicationContext(Application, { logger: log, abortOnError: false });
      apps.push(app);
      return app;
    };
    const own = [RedisLockTestingModule.forRoot({ bed }), schedule.ScheduleModule.forRoot()];
    const lateNames = async () => {
      const app = apps[0] ?? (await open(own));
      return { bed, locks: app.get(library.RedisLockService), shop: Shop && app.get(Shop) };
    };
    if (Shop !== undefined) await open(own);
    else {
      const isBody = /;\s*$/.test(row.line);
      const isCall = /\b(?:locks|bed)\b/.test(row.line);
      const run = evaluate(isBody ? row.line : `return (${row.line});`, { names: isCall ? await lateNames() : {} });
      const value = await (isCall ? bed.until(run) : run);
      if (value?.module) await open(value.module === LockConsoleModule ? [...own, value] : [value]);
    }
    if (row.call !== undefined) await bed.until(evaluate(`return await (${row.call});`, { names: await lateNames() }));
  } catch (error) {
    const { code, name, message } = /** @type {Error & { code?: string }} */ (error);
    // Nest adds what else it could be.
    return { code: code ?? name, message: message.replace(/\n+Potential solutions:[^]*/, '') };
  } finally {
    for (const app of apps) await bed.until(app.close());
  }
  const line = log.kept.find((kept) => kept.includes(`[${row.code}]`)) ?? log.kept.at(-1);
  if (line === undefined) return { code: 'none', message: 'No error, and no line in the log.' };
  const [, message = line, code = 'log'] = /^(.*) \[(LOCK_\w+)\]$/.exec(line) ?? [];
  return { code, message };
}

/** @param {string} line @param {string} program @returns {Promise<Answer>} */
async function commandAnswer(line, program) {
  const args = line.split(' ').slice(2);
  const child = spawn(process.execPath, [program, ...args], { env: { PATH: process.env['PATH'] }, stdio: 'pipe' });
  let message = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (message += text));
  child.stdout.resume();
  const [code] = await once(child, 'close');
  return { code: `exit ${code}`, message: message.trim() };
}
