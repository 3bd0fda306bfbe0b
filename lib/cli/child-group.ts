import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { getSystemErrorMap } from 'node:util';
import { endings as errors } from './cli.messages.js';
import { exitCode } from './exit-codes.js';
import { type ProcessEntry, processTable } from './process-table.js';

/** Milliseconds between two looks whether all have ended. */
const lookPause = 20;
/** How long (ms) killed processes may take. Those of another user, or in the middle of a call of the kernel, may stay forever. */
const longestDying = 1_000;

/** They ask a program to end. */
const endings = new Set<NodeJS.Signals>(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']);

/**
 * A command and all processes that it starts: a session and process group of their own. Signals of the terminal reach only this program,
 * which passes them on. The command can still read the terminal: its group is no background group there.
 *
 * A member may have made a group of its own, as `timeout` and a shell after `set -m` do, but keeps the session. It may have made a session as
 * well: then it is found by its parents, for as long as they live, and is a member from there on.
 */
export class ChildGroup {
  /** When the command itself has ended. */
  readonly exited: Promise<number>;
  private readonly id: number;
  /** Where those were found that have left the session, or the group where no session is known: when they were started, by their numbers. */
  private known = new Map<number, string>();

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
    // A name that Node refuses.
    if (command === '') throw errors.noProgram(command, reasonOf('ENOENT'), true);
    let child: ChildProcess;
    try {
      child = spawn(command, args, { stdio: 'inherit', detached: true, env });
      if (child.pid === undefined) throw (await once(child, 'error'))[0];
    } catch (error) {
      // Node throws some of them, and emits others.
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (code === undefined || syscall === undefined) throw error;
      throw errors.noProgram(command, reasonOf(code), code === 'ENOENT');
    }
    return new ChildGroup(child);
  }

  /** To all its processes. One that stands still would get it only when it goes on. @returns false when none lives */
  send(signal: NodeJS.Signals): boolean {
    const groups = new Set(this.members().map(({ group }) => group));
    // A whole group at once: a process that is just being started gets it as well.
    for (const group of groups) {
      signalGroup(group, signal);
      if (endings.has(signal)) signalGroup(group, 'SIGCONT');
    }
    return groups.size > 0;
  }

  /** Settles when all its processes have ended. @returns those that SIGKILL has not ended */
  async gone(): Promise<readonly number[]> {
    await this.exited;
    let left = this.members();
    while (left.length > 0 && !this.isOverdue) {
      await sleep(lookPause);
      // One may have been started in a group of its own after the last look.
      if (this.killedAt !== Number.POSITIVE_INFINITY) this.send('SIGKILL');
      left = this.members();
    }
    process.off('exit', this.onExit);
    return left.map(({ pid }) => pid);
  }

  private killedAt = Number.POSITIVE_INFINITY;
  /** When an error ends this program, the command does not go on without its lock. */
  private readonly onExit = (): void => void this.send('SIGKILL');

  /** @returns false when none lives */
  kill(): boolean {
    this.killedAt = performance.now();
    return this.send('SIGKILL');
  }

  private get isOverdue(): boolean {
    return performance.now() > this.killedAt + longestDying;
  }

  private members(): Array<Pick<ProcessEntry, 'pid' | 'group'>> {
    const found = membersIn(processTable(), this.id, this.known);
    this.known = new Map(found.map(({ pid, startedAt }) => [pid, startedAt]));
    // It exists, but this user may not see it, or there is no table.
    if (!found.some(({ group }) => group === this.id) && signalGroup(this.id, 0))
      return [{ pid: this.id, group: this.id }];
    return found.filter(({ isDead }) => !isDead);
  }
}

/** As a shell says it: `not a directory`. */
const reasonOf = (code: string): string =>
  [...getSystemErrorMap().values()].find(([name]) => name === code)?.[1] ?? code;

/** @returns false when there is no such group */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** @param id of the session and its first group  @param known start of former members, by their numbers */
function membersIn(table: readonly ProcessEntry[], id: number, known: ReadonlyMap<number, string>): ProcessEntry[] {
  const members = new Map<number, ProcessEntry>();
  // Only members can be in a session or group that a member has made.
  const sessions = new Set([id]);
  const groups = new Set([id]);
  let before: number;
  do {
    before = members.size;
    for (const entry of table) {
      const { pid, parent, group, session, startedAt } = entry;
      if (members.has(pid)) continue;
      if (!sessions.has(session) && !groups.has(group) && !members.has(parent) && known.get(pid) !== startedAt)
        continue;
      members.set(pid, entry);
      groups.add(group);
      if (session > 0) sessions.add(session);
    }
  } while (members.size > before);
  return [...members.values()];
}
