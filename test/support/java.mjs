/**
 * Java programs for the tests, the benchmark and the demo: jars by Maven, classes by javac. Both are kept outside of the checkout, because
 * Redisson and what it needs are 20 MB for each version.
 */
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'nestjs-redis-lock');

/** The newest version of Redisson that is tested. */
export const newestRedisson = '4.7.0';
/** All that are tested: the oldest supported one, the last of 3.x, the newest. */
export const redissonVersions = ['3.24.3', '3.52.0', newestRedisson];

/** Why Java programs cannot be built on this machine; undefined when they can. */
export function whyNoJava() {
  for (const program of ['javac', 'mvn']) {
    if (spawnSync(program, ['-version'], { stdio: 'ignore' }).error) return `there is no ${program} on PATH`;
  }
  return undefined;
}

/**
 * Why programs with these dependencies cannot be built on this machine (no JDK, no Maven, no network); undefined when they can, and their
 * jars are in the cache.
 * @param {string} pom
 * @param {string[]} [versions] of Redisson
 */
export async function whyNoJars(pom, versions = [newestRedisson]) {
  const missing = whyNoJava();
  if (missing !== undefined) return missing;
  try {
    for (const version of versions) await jarsOf(pom, version);
  } catch (error) {
    const said = /\[ERROR\] (.+?)(?: -> \[Help \d+\])?$/m.exec(String(error))?.[1];
    return `Maven did not get Redisson: ${said ?? String(error)}`;
  }
  return undefined;
}

/**
 * The directory with the dependencies of a program.
 * @param {string} pom
 * @param {string} redisson version
 */
async function jarsOf(pom, redisson) {
  const jars = join(cache, `jars-${redisson}-${digest(pom)}`);
  await inPlace(jars, async (target) => {
    const copy = ['dependency:copy-dependencies', `-DoutputDirectory=${target}`];
    await step('mvn', ['-q', '-B', '-f', pom, `-Dredisson.version=${redisson}`, ...copy]);
  });
  return jars;
}

/**
 * Builds a program of one file, unless it is in the cache.
 * @param {string} pom its dependencies; its property `redisson.version` is set
 * @param {string} source a .java file with the class of its name
 * @param {string} [redisson] version
 * @returns {Promise<{ command: string, args: string[] }>} how it is started, before its own arguments
 */
export async function buildJava(pom, source, redisson = newestRedisson) {
  const main = basename(source, '.java');
  const jars = await jarsOf(pom, redisson);
  const classes = join(cache, `${main}-${redisson}-${digest(pom, source)}`);
  await inPlace(classes, async (target) => {
    await step('javac', ['--release', '17', '-cp', join(jars, '*'), '-d', target, source]);
  });
  // Small and quick to start: other programs run beside it on the same cores. Without files in /tmp, which a killed one would leave.
  const small = ['-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:-UsePerfData'];
  return { command: 'java', args: [...small, '-cp', `${classes}${delimiter}${join(jars, '*')}`, main] };
}

/** @param {string[]} files */
function digest(...files) {
  const hash = createHash('sha1');
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 12);
}

/**
 * @param {string} program
 * @param {string[]} args
 */
async function step(program, args) {
  try {
    await run(program, args);
  } catch (error) {
    // Maven writes its errors to stdout.
    const { stdout, stderr } = /** @type {{ stdout?: string, stderr?: string }} */ (error);
    throw new Error(`${program} failed:\n${stdout ?? ''}${stderr ?? ''}`, { cause: error });
  }
}

/**
 * Makes a directory that is whole or not there: another run may look at the same time.
 * @param {string} directory
 * @param {(target: string) => Promise<void>} fill
 */
async function inPlace(directory, fill) {
  if (existsSync(directory)) return;
  const draft = `${directory}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    await fill(draft);
    if (!existsSync(directory)) renameSync(draft, directory);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
