import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { endings } from './cli.messages.js';
import { exitCode } from './exit-codes.js';

/** Milliseconds between two looks whether a group has ended. */
const lookPause = 20;
/** How long (ms) a killed group may take. In a container without an init process, dead members may stay for ever. */
const longestDying = 1_000;

/**
 * A command and all processes that it starts: a session and process group of their own. Signals of the terminal reach only this program,
 * which passes them on, and one call ends all of them. The command can still read the terminal: its group is no background group there.
 */
export class ChildGroup {
  /** When the command itself has ended. */
  readonly exited: Promise<number>;
  private readonly id: number;

  private constructor(child: ChildProcess) {
    this.id = child.pid!;
    process.on('exit', this.onExit);
    this.exited = once(child, 'exit').then((end) => {
      const [code, signal] = end as [number | null, NodeJS.Signals | null];
      return signal === null ? code! : exitCode.signal + constants.signals[signal];
    });
  }

  /** Without a shell. @throws CliError */
  static async start(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<ChildGroup> {
    const child = spawn(command, args, { stdio: 'inherit', detached: true, env });
    if (child.pid !== undefined) return new ChildGroup(child);
    const [error] = (await once(child, 'error')) as [NodeJS.ErrnoException];
    throw endings.noProgram(command, error.code ?? error.message, error.code === 'ENOENT');
  }

  /** True while one of its processes lives. */
  get exists(): boolean {
    return this.send(0);
  }

  /** To all its processes. @returns false when there is none any more */
  send(signal: NodeJS.Signals | 0): boolean {
    try {
      process.kill(-this.id, signal);
      return true;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'ESRCH';
    }
  }

  /** A stopped process, too, gets a chance to end by itself. */
  terminate(): void {
    this.send('SIGTERM');
    this.send('SIGCONT');
  }

  /** Settles when all its processes have ended. */
  async gone(): Promise<void> {
    await this.exited;
    while (this.exists && !this.isOverdue) await sleep(lookPause);
    process.off('exit', this.onExit);
  }

  private killedAt = Number.POSITIVE_INFINITY;
  /** When an error ends this program, the command does not go on without its lock. */
  private readonly onExit = (): void => void this.send('SIGKILL');

  kill(): void {
    this.killedAt = performance.now();
    this.send('SIGKILL');
  }

  private get isOverdue(): boolean {
    return performance.now() > this.killedAt + longestDying;
  }
}
