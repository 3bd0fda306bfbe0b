import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, sharedRedisUrl } from '../support/redis-server.js';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const examples = join(root, 'examples/quick-start');

/** The quick start as it is pasted: built with the settings of `nest new`, and run by Node. */
describe('the quick start in an application of its own', () => {
  let directory: string;
  const running: ChildProcess[] = [];

  beforeAll(async () => {
    // In dist, where the package's own name leads to its build.
    await mkdir(join(root, 'dist'), { recursive: true });
    directory = await mkdtemp(join(root, 'dist', 'quick-start-'));
    await cp(examples, join(directory, 'src'), { recursive: true });
    const starter = 'node_modules/@nestjs/schematics/dist/lib/application/files/ts-esm/tsconfig.json';
    const settings = await readFile(join(root, starter), 'utf8');
    const types = settings.replace('"vitest/globals", ', '').replace('<%= strict %>', 'true');
    await writeFile(join(directory, 'tsconfig.json'), types.replace('"rootDir": "."', '"rootDir": "./src"'));
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', directory], { cwd: root });
  }, 120_000);

  afterEach(() => {
    for (const child of running.splice(0)) child.kill('SIGKILL');
  });

  afterAll(() => rm(directory, { recursive: true }));

  const start = async () => {
    const port = await freePort();
    const env = {
      ...process.env,
      ...{ NODE_OPTIONS: '', REDIS_URL: sharedRedisUrl(), PORT: String(port) },
      DATABASE_FILE: join(directory, 'stock.sqlite'),
    };
    const child = spawn(process.execPath, [join(directory, 'dist/main.js')], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running.push(child);
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    while (!output.includes('successfully started')) await once(child.stdout, 'data');
    return { child, url: `http://127.0.0.1:${port}`, port };
  };

  it('responds to the command of the README, sells no ticket twice in two processes, and ends on SIGTERM', async () => {
    const one = await start();
    const other = await start();
    const [command, answer] = (await readFile(join(examples, 'try.sh'), 'utf8')).trim().split(/ +# /);
    const { stdout } = await run('sh', ['-c', command!.replace('3000', String(one.port))]);
    expect(stdout).toBe(answer);

    const take = async ({ url }: { url: string }) => {
      const response = await fetch(`${url}/products/tea/take`, { method: 'POST' });
      const { left, message } = (await response.json()) as { left?: number; message?: string };
      return left ?? `${response.status} ${message}`;
    };
    const answers = await Promise.all(Array.from({ length: 11 }, (_, index) => take(index % 2 === 0 ? one : other)));
    expect(new Set(answers)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, '409 sold out']));
    expect(answers.filter((text) => text === '409 sold out')).toHaveLength(2);

    for (const { child } of [one, other]) child.kill('SIGTERM');
    const ends = await Promise.all([one, other].map(({ child }) => once(child, 'exit')));
    expect(ends).toEqual([
      [null, 'SIGTERM'],
      [null, 'SIGTERM'],
    ]);
  });
});
