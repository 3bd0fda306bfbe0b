/** The process that a lock library runs in: does what the benchmark's main process asks for, one answer for each task. */
import type { Driver, Lockable } from '../drivers/driver.js';
import { cycles } from './cycles.task.js';
import { crashed } from './crash.task.js';
import { decorated } from './decorated.task.js';
import { hold, idle, letGo } from './hold.task.js';
import { hot } from './hot.task.js';
import { names } from './names.task.js';
import { ask, giveBack, ping } from './relay.task.js';
import { turns } from './turns.task.js';

export interface OpenTask {
  readonly driver: string;
  readonly home: string;
  readonly url: string;
  readonly lease: number;
}

/** Each takes what is open, and its own settings; an answer travels back as it is. */
const tasks = { cycles, crashed, decorated, hold, idle, letGo, hot, names, ask, giveBack, ping, turns };
export type Tasks = typeof tasks;

let opened: Lockable | undefined;

async function open({ driver: name, home, url, lease }: OpenTask): Promise<void> {
  const drivers = Object.values((await import(home)) as Record<string, Partial<Driver>>);
  const driver = drivers.find((candidate) => candidate.name === name) as Driver | undefined;
  if (!driver) throw new Error(`${home} exports no driver '${name}'`);
  opened = await driver.open(url, { lease });
}

async function perform(task: string, settings: unknown): Promise<unknown> {
  if (task === 'open') return open(settings as OpenTask);
  if (task === 'close') return opened?.close();
  const perform = tasks[task as keyof Tasks] as (lockable: Lockable, settings: unknown) => unknown;
  return perform(opened!, settings);
}

process.on('message', ({ id, task, settings }: { id: number; task: string; settings: unknown }) => {
  perform(task, settings).then(
    (result) => process.send!({ id, result }),
    (error: unknown) =>
      process.send!({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
// Without its parent it has nothing to do, however that went.
process.on('disconnect', () => process.exit(0));
