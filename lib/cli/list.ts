import type { LockInfo } from '../core/lock-info.js';
import { escaped } from '../errors/describe.js';
import { LockConfigurationError } from '../errors/lock-errors.js';
import type { RedisLockClient } from '../client/redis-lock.client.js';
import { type Arguments, durationIn, noNames, numberIn, onlyName, textIn } from './arguments.js';
import { viewLines as lines } from './cli.messages.js';
import { observe, observeAll } from './connect.js';
import { exitCode } from './exit-codes.js';
import {
  heldText,
  json,
  leaseText,
  type Paint,
  paintFor,
  partyText,
  print,
  say,
  screenWidth,
  stateText,
  table,
  time,
  tokenText,
} from './output.js';

/** Names that are looked at together. */
const batch = 50;

export async function ls(given: Arguments): Promise<number> {
  noNames('ls', given);
  const wanted = filterOf(given);
  await using connected = await observeAll('ls', given);
  const { locks, more, problems } = await look(connected.locks, wanted);
  problems.forEach(say);
  if (given.options['json']) for (const lock of locks) print(json(lock));
  else for (const line of listed(locks, paintFor(given.options))) print(line);
  if (more) say(lines.more(wanted.limit));
  return exitCode.ok;
}

export async function inspect(given: Arguments): Promise<number> {
  const name = onlyName('inspect', given);
  await using connected = await observe(given);
  const info = await connected.locks.inspect(name);
  if (given.options['json']) print(json(info));
  else for (const line of detailed(info, paintFor(given.options))) print(line);
  return exitCode.ok;
}

/** Which locks are shown. */
export interface Wanted {
  readonly startsWith: string;
  readonly limit: number;
  shows(lock: LockInfo): boolean;
}

/** @throws CliError */
export function filterOf(given: Arguments, most = 1_000): Wanted {
  const olderThan = durationIn(given, 'older-than') ?? 0;
  const isContended = given.options['contended'] === true;
  return {
    startsWith: textIn(given, 'starts-with') ?? '',
    limit: numberIn(given, 'limit') ?? most,
    shows: ({ holders, waiters }) =>
      (!isContended || waiters.length > 0) &&
      (olderThan === 0 || holders.some(({ heldFor }) => heldFor !== undefined && heldFor >= olderThan)),
  };
}

export interface Looked {
  /** By name. */
  readonly locks: LockInfo[];
  /** There are names behind the limit. */
  readonly more: boolean;
  /** What other programs have written: a line for each. */
  readonly problems: string[];
}

/**
 * The held locks that are wanted, and those of the known names in any state: a lock that is not listed may be held, because there are names
 * behind the limit.
 */
export async function look(
  locks: RedisLockClient,
  { startsWith, limit, shows }: Wanted,
  known: ReadonlySet<string> = new Set(),
): Promise<Looked> {
  const names = new Set(known);
  let more = false;
  for await (const name of locks.list({ startsWith })) {
    if (names.has(name)) continue;
    more = names.size >= limit;
    if (more) break;
    names.add(name);
  }
  const found: LockInfo[] = [];
  const unreadable: LockConfigurationError[] = [];
  const inspect = async (name: string): Promise<void> => {
    try {
      found.push(await locks.inspect(name));
    } catch (error) {
      if (!(error instanceof LockConfigurationError)) throw error;
      unreadable.push(error);
    }
  };
  const all = [...names];
  for (let first = 0; first < all.length; first += batch)
    await Promise.all(all.slice(first, first + batch).map(inspect));
  // One name with a foreign value does not hide the others. If no name can be read, the reason is another one.
  if (found.length === 0 && unreadable[0]) throw unreadable[0];
  found.sort((one, other) => (one.key < other.key ? -1 : 1));
  return {
    // A lock may have become free since.
    locks: found.filter((lock) => known.has(lock.key) || (lock.kind !== undefined && shows(lock))),
    more,
    problems: unreadable.map(({ message }) => message).sort(),
  };
}

/** A table with a line for each lock. @param width of the screen, if there is one */
export function listed(locks: readonly LockInfo[], paint: Paint, width = screenWidth()): string[] {
  const rows = locks.map(({ key, kind, limit, holders, waiters }) => {
    const [first] = holders;
    const others = holders.length > 1 ? ` and ${holders.length - 1} more` : '';
    return [
      escaped(key),
      kind === 'permits' ? `permits (${limit ?? '?'})` : (kind ?? ''),
      first ? partyText(first) + others + stateText(first) : '',
      first?.heldFor === undefined ? '' : time(first.heldFor),
      first ? time(first.leaseLeft) : '',
      String(waiters.length),
    ];
  });
  return table([['NAME', 'KIND', 'HOLDER', 'HELD', 'LEASE LEFT', 'WAITING'], ...rows], paint, width);
}

/** One lock with all its holders and waiters. */
export function detailed({ key, kind, limit, holders, waiters }: LockInfo, paint: Paint): string[] {
  if (kind === undefined) return [`${paint.bold(escaped(key))} is free.`];
  return [
    `${paint.bold(escaped(key))} ${paint.dim(kind === 'permits' ? `${limit ?? '?'} permits` : kind)}`,
    ...holders.map(
      (holder) =>
        `  held by ${partyText(holder)}${heldText(holder)}, ${leaseText(holder)}` +
        `${tokenText(holder)}${holder.permits > 1 ? `, ${holder.permits} permits` : ''}${stateText(holder)}`,
    ),
    ...waiters.map(
      (waiter, index) =>
        `  ${index + 1}. waits: ${partyText(waiter)} for ${time(waiter.waited)}` +
        `${waiter.kind === kind ? '' : `, ${waiter.kind}`}${waiter.reachable ? '' : ', not reachable'}`,
    ),
  ];
}
