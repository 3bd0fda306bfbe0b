import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENTRIES } from '../../scripts/build.mjs';
import { root, runNode, tool } from '../../scripts/run.mjs';
import { spawn } from 'node:child_process';

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
/** The version that this repository has locked. @param {string} name */
const locked = (name) => /** @type {string} */ (lock[`node_modules/${name}`].version);

/** Where the last version of the line is not that of the core. @type {Record<string, string>} */
const NEST_11 = {
  '@nestjs/microservices': '11.2.6',
  '@nestjs/platform-fastify': '11.2.8',
  '@nestjs/platform-ws': '11.2.6',
  '@nestjs/schedule': '6.1.3',
  '@nestjs/terminus': '11.1.1',
  '@nestjs/websockets': '11.2.6',
};
const NEST = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/platform-fastify',
  '@nestjs/platform-ws',
  '@nestjs/schedule',
  '@nestjs/terminus',
  '@nestjs/websockets',
];
/** What the applications use beside it. */
const OTHERS = [
  ...['@opentelemetry/api', '@types/node', '@types/ws', 'prom-client', 'reflect-metadata', 'rxjs', 'typescript', 'ws'],
];

/** The two lines of Nest, each with the ioredis of its time. */
export const LINES = {
  'Nest 12, ioredis 6': { nest: locked, ioredis: locked('ioredis') },
  'Nest 11, ioredis 5': {
    nest: (/** @type {string} */ name) => NEST_11[name] ?? '11.2.10',
    ioredis: locked('ioredis5'),
  },
};
/** @typedef {keyof typeof LINES} Line */

/** The oldest Nest with which npm installs Fastify, for what depends on Nest most. */
export const OLDEST = {
  ...Object.fromEntries(
    ['common', 'core', 'platform-express', 'platform-fastify'].map((name) => [`@nestjs/${name}`, '11.0.5']),
  ),
  ...Object.fromEntries(['@types/node', 'reflect-metadata', 'rxjs', 'typescript'].map((name) => [name, locked(name)])),
  '@nestjs/schedule': '6.0.0',
  ioredis: locked('ioredis5'),
};

/** What the applications of `apps` need. @param {Line} line @returns {Record<string, string>} */
export function dependenciesOf(line) {
  const { nest, ioredis } = LINES[line];
  return {
    ...Object.fromEntries(NEST.map((name) => [name, nest(name)])),
    ...Object.fromEntries(OTHERS.map((name) => [name, locked(name)])),
    ioredis,
  };
}

const SUITE = 'nestjs-redis-lock-conformance';

/** @typedef {'esm' | 'cjs'} Format */
/** @typedef {{ command?: string, args?: string[], env?: NodeJS.ProcessEnv, patience?: number }} Runtime patience: milliseconds until it has to end */
/** @typedef {{ name: string, options: Record<string, unknown> }} Resolution */

/** A user's application: the packed package and its peers from the registry, installed as npm would for him. */
export class App {
  /**
   * @param {string} directory
   * @param {string} line
   * @param {Record<string, string>} dependencies
   * @param {RegExp} [sources] which of `apps` it has; all by default
   */
  constructor(directory, line, dependencies, sources = /./) {
    this.directory = directory;
    this.line = line;
    this.dependencies = dependencies;
    this.sources = sources;
  }

  /** @param {string} tarball @param {string} [suite] the tarball of nestjs-redis-lock-conformance, for authors of a backend */
  async install(tarball, suite) {
    const ours = { 'nestjs-redis-lock': `file:${tarball}`, ...(suite && { [SUITE]: `file:${suite}` }) };
    await npmInstall(this.directory, { ...this.dependencies, ...ours });
    cpSync(join(root, 'test', 'package', 'apps'), join(this.directory, 'apps'), { recursive: true });
  }

  /** import and require give one copy, and both builds have one engine. */
  async loadsOnce() {
    await this.run(['apps/single-copy.mjs']);
  }

  /** Where two copies are loaded, errors of one are caught by the filter and the classes of the other. */
  async tellsErrorsOfBothCopies(/** @type {string} */ redisUrl) {
    await this.runs('apps/two-copies.mjs', 'two copies, one kind of errors', redisUrl);
  }

  /** The CommonJS build, which only tools without module-sync load, works by itself. */
  async loadsAsPlainCommonJs() {
    for (const entry of Object.keys(ENTRIES))
      await this.run(['-e', `require('./node_modules/nestjs-redis-lock/dist/cjs/${entry}.js')`]);
  }

  /**
   * Each wrong line gets its answer on this Nest, too.
   * @param {'tsc' | 'swc' | 'esbuild'} compiler of the lines; with the last two the decorators that no one called
   */
  async answersWrongLines(compiler) {
    cpSync(join(root, 'test', 'wrong-lines'), join(this.directory, 'wrong-lines'), { recursive: true });
    const program = join('node_modules', 'nestjs-redis-lock', 'dist', 'esm', 'cli.js');
    const output = await this.run([join('wrong-lines', 'check.mjs'), program, compiler]);
    if (!output.includes('each wrong line is answered')) throw new Error(output);
  }

  /** jest in CommonJS, from our node_modules, in the user's folder. */
  async loadsInJest() {
    this.#write('jest.config.json', { rootDir: '.', testMatch: ['<rootDir>/apps/*.test.cjs'], transform: {} });
    await this.run([tool('jest', 'bin', 'jest.js'), '--config', 'jest.config.json']);
  }

  /**
   * The user's source compiles against our types.
   * @param {Format} format
   * @param {Resolution} resolution
   * @param {{ checkDeclarations?: boolean, compiler?: string }} [how] checkDeclarations: and those are right in
   *   themselves. Slow, since TypeScript then checks Nest's as well; compiler: the directory of another TypeScript
   */
  async compiles(format, { name, options }, { checkDeclarations = false, compiler = tool('typescript') } = {}) {
    const out = join('built', `${format}-${name}`);
    const project = join(this.directory, `src-${format}-${name}`);
    mkdirSync(project, { recursive: true });
    const sources = readdirSync(join(this.directory, 'apps')).filter(
      (file) => file.endsWith('.ts') && this.sources.test(file),
    );
    for (const file of sources) cpSync(join(this.directory, 'apps', file), join(project, file));
    // nodenext asks the nearest package.json which kind of module a file is, and so does Node for the output.
    const type = { type: format === 'esm' ? 'module' : 'commonjs' };
    this.#write(join(`src-${format}-${name}`, 'package.json'), type);
    this.#write(join(out, 'package.json'), type);
    const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true };
    const compilerOptions = {
      ...decorators,
      strict: true,
      // As in Nest's template: each type that an application's exports have must have a name that it can import.
      declaration: true,
      skipLibCheck: !checkDeclarations,
      types: ['node'],
      target: 'ES2023',
      rootDir: '.',
      ...options,
    };
    const outDir = join('..', out);
    this.#write(join(`src-${format}-${name}`, 'tsconfig.json'), { compilerOptions: { ...compilerOptions, outDir } });
    const { code, output } = await runNode([join(compiler, 'bin', 'tsc'), '-p', project, '--pretty', 'false'], {
      cwd: this.directory,
    });
    // Other packages' declarations have mistakes of their own; ours and the user's are our business.
    const errors = output.split('\n').filter((line) => /error TS/.test(line));
    // The file stands before the position; a message may name other packages, as where our declarations miss one's types.
    const ours = errors.filter((line) => !/^[^(]*node_modules\/(?!nestjs-redis-lock\/)/.test(line));
    if (ours.length > 0) throw new Error(ours.join('\n'));
    if (code !== 0 && errors.length === 0) throw new Error(`tsc ended with ${code}: ${output}`);
    return out;
  }

  /** The application does its work, prints that, and ends by itself.
   * @param {string} program its file
   * @param {string} words what it says
   * @param {string} redisUrl
   * @param {Runtime} [runtime] another one than this Node
   */
  async runs(program, words, redisUrl, { command, args = [], env, patience } = {}) {
    const output = await this.run([...args, program], { REDIS_URL: redisUrl, ...env }, command, patience);
    if (!output.includes(words)) throw new Error(output);
  }

  /**
   * @param {string[]} args
   * @param {NodeJS.ProcessEnv} [env]
   * @param {string} [command] another program than this Node
   */
  async run(args, env = {}, command = process.execPath, patience = 30_000) {
    const end = AbortSignal.timeout(patience);
    const { code, output } = await runNode(args, {
      command,
      cwd: this.directory,
      env: { NODE_OPTIONS: '', ...env },
      signal: end,
    });
    if (end.aborted) throw new Error(`did not end by itself within ${patience / 1000} s:\n${output}`);
    if (code !== 0) throw new Error(output);
    return output;
  }

  /**
   * @param {string} path
   * @param {unknown} content
   */
  #write(path, content) {
    const file = join(this.directory, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, JSON.stringify(content, null, 2));
  }
}

/**
 * @param {string} directory
 * @param {Record<string, string>} dependencies
 */
export async function npmInstall(directory, dependencies) {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: 'app', private: true, dependencies }));
  const args = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  const { code, output } = await npm([...args, '--loglevel=error'], directory);
  if (code !== 0) throw new Error(`npm install failed:\n${output}`);
}

/**
 * @param {string[]} args
 * @param {string} cwd
 * @returns {Promise<{ code: number, output: string }>}
 */
function npm(args, cwd) {
  // Settings of the npm that runs this script would apply to the app as well.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(?!config_(registry|cache|userconfig))/i.test(name)),
  );
  const child = spawn('npm', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
