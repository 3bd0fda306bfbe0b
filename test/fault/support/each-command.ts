import { inspect } from 'node:util';
import { LockConnection, type LockHandle } from '../../support/backends.js';
import type { RedisServer } from '../../support/redis-server.js';
import { type Fate, RespTap } from '../../support/resp-tap.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from './conditions.js';
import { Locker, uniqueName } from './locker.js';

/** Short, so that hundreds of broken links take seconds; long enough to connect on a busy machine. */
const commandTimeout = 1000;
/** Milliseconds within which everything settles, many times more than needed. A link that is never given up takes forever. */
const patience = 20_000;
const fates: readonly Fate[] = ['silence', 'silence behind it'];
/** Links that are broken at the same time. */
const lanes = 24;

/** What an operation works with. */
export interface Site {
  readonly name: string;
  /** Its commands go through a link that breaks. */
  readonly locker: Locker;
  readonly connection: LockConnection;
  /** Opens the connection, and resolves when its link is up: a busy machine needs longer than `commandTimeout`. */
  readonly open: () => Promise<void>;
  /** A client whose link has no fault. */
  readonly other: Locker;
}

/** An operation that sends commands. It is prepared first; only the function that it returns meets the fault. */
export type Operation = (site: Site) => Promise<() => Promise<unknown>>;

export interface Fault {
  /** The index of the command that meets the fault. */
  readonly at: number;
  readonly fate: Fate;
  /** Whether the server has forgotten the scripts when the operation begins. */
  readonly unknown: boolean;
}

/** Runs an operation with a fault. Returns the commands that it sent, and what went wrong. */
export async function meet(
  redis: RedisServer,
  other: Locker,
  operation: Operation,
  fault: Fault,
): Promise<{ readonly commands: readonly string[]; readonly problem: string | undefined }> {
  const commands: string[] = [];
  let armed = false;
  const newTap = (): RespTap => {
    let knowsScripts = false;
    return new RespTap((command) => {
      if (!armed) return 'passes';
      const { length } = commands;
      commands.push(command);
      if (length === fault.at) return fault.fate;
      if (command === 'SCRIPT') knowsScripts = true;
      return command === 'EVALSHA' && fault.unknown && !knowsScripts ? 'unknown script' : 'passes';
    });
  };
  await using proxy = await TcpProxy.to(redis.port, { tap: newTap });
  const locker = new Locker(proxy.url, { commandTimeout, poll: 1_000 });
  const connection = new LockConnection(locker.client, { name: 'default', strict: false, shutdownTimeout: 100 });
  const open = async (): Promise<void> => {
    await connection.open();
    await until('the link is up', () => [...locker.backend.availability()].every(([, isUp]) => isUp));
  };
  const perform = await operation({ name: uniqueName(), locker, connection, open, other }).catch(
    async (error: unknown) => {
      await connection.beforeApplicationShutdown();
      throw error;
    },
  );
  armed = true;
  const outcome = await within(perform());
  armed = false;
  const said = `${fault.fate} at command ${fault.at + 1} (${commands.slice(0, fault.at + 1).join(', ')})`;
  const problems: string[] = [];
  if (outcome === 'open') problems.push('does not settle');
  else if (outcome.error !== undefined && !isLockError(outcome.error))
    problems.push(`ends by ${inspect(outcome.error)}`);
  if ((await within(connection.beforeApplicationShutdown())) === 'open') problems.push('the shutdown does not settle');
  const problem = problems.length > 0 ? `${said}: ${problems.join(', ')}` : undefined;
  return { commands, problem };
}

/** The same for each of the commands that an operation sends. Returns the problems. */
export async function meetAtEach(
  redis: RedisServer,
  other: Locker,
  operation: Operation,
  unknown: boolean,
): Promise<string[]> {
  const { commands, problem } = await meet(redis, other, operation, { at: -1, fate: 'passes', unknown });
  const faults = commands.flatMap((_, at) => fates.map((fate) => ({ at, fate, unknown })));
  const problems: string[] = problem === undefined ? [] : [problem];
  const lane = async (): Promise<void> => {
    for (let fault = faults.shift(); fault; fault = faults.shift()) {
      const met = await meet(redis, other, operation, fault);
      if (met.problem !== undefined) problems.push(met.problem);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return problems;
}

/** A usable lock: its token and its remaining time are numbers. */
export function assertSound(lock: Pick<LockHandle, 'fencingToken' | 'leaseLeft'>): void {
  if (!Number.isSafeInteger(lock.fencingToken) || !Number.isFinite(lock.leaseLeft))
    throw new Error(`token ${lock.fencingToken}, ${lock.leaseLeft} ms left`);
}

const isLockError = (error: unknown): boolean => String((error as { code?: unknown }).code).startsWith('LOCK_');

async function within(promise: Promise<unknown>): Promise<'open' | { readonly error?: unknown }> {
  let stop: NodeJS.Timeout | undefined;
  const late = new Promise<'open'>((resolve) => (stop = setTimeout(() => resolve('open'), patience)));
  const settled = promise.then(
    () => ({}),
    (error: unknown) => ({ error }),
  );
  const outcome = await Promise.race([settled, late]);
  clearTimeout(stop);
  return outcome;
}
