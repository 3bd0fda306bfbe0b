import type { LockConnection } from '../connection/lock.connection.js';
import type { FleetActivity } from '../core/activity.js';
import type { ProcessActivity, HeldLock, Listed } from '../core/activity-record.js';
import type { LockInfo } from '../core/lock-info.js';
import type { LockError } from '../errors/lock-errors.js';
import { type Overview, overviewOf, type SeenProcess } from './overview.js';
import { SharedQuestion } from './shared-question.js';

/** Processes that are read at once, and holds of this process that are shown. */
const mostProcesses = 500;
const mostHolds = 50;
/** Locks that are looked at within a second. More are refused. */
const mostLooks = 20;

/** Why a question to Redis has no answer. It names no address and no lock. */
export type ConsoleProblem = 'unavailable' | 'refused';

export interface ConsoleView extends Overview {
  readonly connection: string;
  /** This process, which answers. */
  readonly own: Pick<ProcessActivity, 'client' | 'host' | 'pid' | 'held' | 'waiting'> & {
    readonly holds: Listed<HeldLock>;
    /** Whether it tells other processes what its callers wait for. */
    readonly tells: boolean;
  };
  /** Milliseconds since the other processes were read; undefined when they never were. */
  readonly age: number | undefined;
  readonly problem: ConsoleProblem | undefined;
}

/** What the console asks one connection. Answers are shared by all who ask within a second. */
export class ConsoleReader {
  private readonly view: SharedQuestion<ConsoleView>;
  private readonly looks = new Map<string, SharedQuestion<LockInfo>>();
  /** The last answer of Redis: shown, with its age, while there is no newer one. */
  private fleet: { readonly found: FleetActivity; readonly at: number } | undefined;

  constructor(readonly connection: LockConnection) {
    this.view = new SharedQuestion(() => this.look());
  }

  async overview(): Promise<ConsoleView> {
    return (await this.view.ask()).value;
  }

  /** Undefined when too many locks are looked at. */
  async inspect(name: string): Promise<LockInfo | undefined> {
    for (const [other, question] of this.looks) if (!question.isFresh) this.looks.delete(other);
    let look = this.looks.get(name);
    if (!look && this.looks.size >= mostLooks) return undefined;
    const { connection } = this;
    const options = { ...connection.defaults, wait: 0 };
    look ??= new SharedQuestion(() => connection.ask(name, options, ({ views }) => views.inspect(name)));
    this.looks.set(name, look);
    return (await look.ask()).value;
  }

  /** After a release: the next question asks Redis. */
  forget(name: string): void {
    this.looks.delete(name);
  }

  private async look(): Promise<ConsoleView> {
    const { connection } = this;
    const problem = await this.readFleet();
    const { activity } = connection;
    const [own, holds] = [await activity.own(), await activity.live.holds(mostHolds)];
    const age = this.fleet && Math.round(performance.now() - this.fleet.at);
    const others = (this.fleet?.found.processes ?? [])
      .filter(({ client }) => client !== own.client)
      .map((process): SeenProcess => ({ ...process, age: process.age + age! }));
    const { client, host, pid, held, waiting } = own;
    return {
      connection: connection.name,
      ...overviewOf([{ ...own, age: 0 }, ...others], this.fleet?.found.total ?? 0),
      own: { client, host, pid, held, waiting, holds, tells: activity.isStarted },
      age,
      problem,
    };
  }

  private async readFleet(): Promise<ConsoleProblem | undefined> {
    const { connection } = this;
    const options = { ...connection.defaults, wait: 0 };
    try {
      const found = await connection.ask(undefined, options, ({ activity }) => activity.fleet(mostProcesses));
      this.fleet = { found, at: performance.now() };
      return undefined;
    } catch (error) {
      return problemOf(error);
    }
  }
}

/** @throws what is no error of a lock */
export function problemOf(error: unknown): ConsoleProblem {
  const { code } = error as Partial<LockError>;
  if (code === 'LOCK_UNAVAILABLE') return 'unavailable';
  if (code === 'LOCK_CONFIGURATION') return 'refused';
  throw error;
}
