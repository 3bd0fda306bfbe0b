import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const succeeds = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

/** Redis on one core, all clients on the other; otherwise the system's scheduler decides, and figures scatter. */
const pinned = availableParallelism() >= 2 && succeeds('taskset', '-cp', String(process.pid));

export const placement = pinned ? 'Redis on one core, all clients on another' : 'no core of its own for anybody';

const pin = (pid: number, core: number): boolean => pinned && succeeds('taskset', '-acp', String(core), String(pid));

export const onRedisCore = (pid: number): boolean => pin(pid, 1);
export const onClientCore = (pid: number): boolean => pin(pid, 0);

/** Runs only when no other process uses the core, and then at once: for a process that waits by reading the clock. */
export const onlyWhenIdle = (pid: number): boolean => succeeds('chrt', '-i', '-p', '0', String(pid));
