import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { PeerProgram } from './peer.js';

const run = promisify(execFile);
const sources = join(import.meta.dirname, '..', 'java');
const source = join(sources, 'src', 'Peer.java');
/** Outside of the checkout: Redisson and what it needs are 20 MB for each version. */
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'nestjs-redis-lock');

/** The versions that are tested: the oldest supported one, the last of 3.x, the newest. */
export const redissonVersions = ['3.24.3', '3.52.0', '4.7.0'] as const;

/** Why the tests with Redisson itself cannot run on this machine; undefined when they can. */
export function whyNoJava(): string | undefined {
  for (const program of ['javac', 'mvn']) {
    if (spawnSync(program, ['-version'], { stdio: 'ignore' }).error) return `there is no ${program} on PATH`;
  }
  return undefined;
}

/** A service with this version of Redisson, built when it is not in the cache. */
export async function javaPeer(version: string): Promise<PeerProgram> {
  const jars = join(cache, `redisson-${version}`);
  const digest = createHash('sha1').update(readFileSync(source)).digest('hex').slice(0, 12);
  const classes = join(cache, `peer-${version}-${digest}`);
  if (!existsSync(jars)) {
    await inPlace(jars, async (target) => {
      const copy = ['dependency:copy-dependencies', `-DoutputDirectory=${target}`];
      await run('mvn', ['-q', '-B', '-f', join(sources, 'pom.xml'), `-Dredisson.version=${version}`, ...copy]);
    });
  }
  if (!existsSync(classes)) {
    await inPlace(classes, async (target) => {
      await run('javac', ['--release', '17', '-cp', join(jars, '*'), '-d', target, source]);
    });
  }
  return {
    title: `Redisson ${version}`,
    command: 'java',
    // Small and quick to start: tests run beside it on the same cores.
    args: [
      '-Xmx128m',
      '-XX:TieredStopAtLevel=1',
      '-XX:+UseSerialGC',
      '-cp',
      `${classes}${delimiter}${join(jars, '*')}`,
      'Peer',
    ],
  };
}

/** Makes a directory that is whole or not there: another run may look at the same time. */
async function inPlace(directory: string, fill: (target: string) => Promise<void>): Promise<void> {
  const draft = `${directory}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  await fill(draft);
  if (existsSync(directory)) rmSync(draft, { recursive: true });
  else renameSync(draft, directory);
}
