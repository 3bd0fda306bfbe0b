import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export { exitCode } from '../../lib/cli/exit-codes.js';

/** The published program, as the global set-up has built it. */
export const program = join(import.meta.dirname, '..', '..', 'dist', 'esm', 'cli.js');

/** Milliseconds for what an ended process has written. */
const longestReading = 1_000;

interface CliOptions {
  /** In place of the environment's. */
  readonly redis?: string;
  readonly env?: Record<string, string>;
  /** The arguments of a program that runs a command of the shell in a terminal. */
  readonly inTerminal?: (command: string) => string[];
}

/** `npx nestjs-redis-lock` with these arguments, as a process of its own. */
export class CliProcess implements AsyncDisposable {
  /** Standard output, and standard error, so far. */
  output = '';
  errors = '';
  /** The exit code; the name of the signal when one has ended it. */
  readonly exited: Promise<number | string>;
  private readonly process: ChildProcess;

  constructor(args: readonly string[], { redis, env, inTerminal }: CliOptions = {}) {
    const all = [process.execPath, program, ...args];
    const [command, ...rest] = inTerminal ? inTerminal(`exec ${all.map(quoted).join(' ')}`) : all;
    this.process = spawn(command!, rest, {
      env: { ...process.env, NODE_OPTIONS: '', ...(redis !== undefined && { REDIS_URL: redis }), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const { stdout, stderr } = this.process;
    stdout!.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    stderr!.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
    this.process.stdin!.on('error', () => undefined);
    const closed = once(this.process, 'close');
    this.exited = once(this.process, 'exit').then(async (end) => {
      // Its last words may still be in the pipe. But what it has left running may keep the pipe open.
      await Promise.race([closed, sleep(longestReading, undefined, { ref: false })]);
      return (end[0] ?? end[1]) as number | string;
    });
  }

  get pid(): number {
    return this.process.pid!;
  }

  send(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  write(text: string): void {
    this.process.stdin!.write(text);
  }

  /** As a reader that goes away, such as `head`. */
  stopReading(): void {
    this.process.stdout!.destroy();
  }

  /** Resolves when its output matches. @throws Error when it ends before */
  async says(pattern: RegExp): Promise<RegExpMatchArray> {
    const end = this.exited.then((code) => {
      const found = this.output.match(pattern);
      if (found) return found;
      throw new Error(`ended with ${code} without ${String(pattern)}:\n${this.output}\n${this.errors}`);
    });
    end.catch(() => undefined);
    for (;;) {
      const found = this.output.match(pattern);
      if (found) return found;
      const done = await Promise.race([once(this.process.stdout!, 'data').then(() => undefined), end]);
      if (done) return done;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill('SIGKILL');
    await this.exited;
  }
}

/** For the shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** How a program has ended. */
interface Ended {
  readonly code: number | string;
  readonly output: string;
  readonly errors: string;
}

/** Runs to its end. */
export async function cli(args: readonly string[], options?: CliOptions): Promise<Ended> {
  await using process_ = new CliProcess(args, options);
  const code = await process_.exited;
  return { code, output: process_.output, errors: process_.errors };
}

/**
 * One process for many commands, one after the other, that reply and end: for what they print and their exit codes. A process of its own
 * shows in addition that a command ends, and what signals and terminals do.
 */
export class CliHost implements AsyncDisposable {
  private readonly process = fork(join(import.meta.dirname, 'cli-host.mjs'), [program], {
    env: { ...process.env, NODE_OPTIONS: '' },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  private last: Promise<unknown> = Promise.resolve();

  /** Runs to its end, after those that were given before. */
  readonly run = (args: readonly string[], { redis }: Pick<CliOptions, 'redis'> = {}): Promise<Ended> => {
    const ended = this.last.then(async () => {
      this.process.send({ args, redis });
      return ((await once(this.process, 'message')) as [Ended])[0];
    });
    this.last = ended.catch(() => undefined);
    return ended;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.process, 'exit');
    this.process.disconnect();
    await exited;
  }
}
