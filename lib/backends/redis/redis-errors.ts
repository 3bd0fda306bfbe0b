import type { LockError } from '../../errors/lock-errors.js';
import { redisRefusals as refusals } from './redis.messages.js';

/** Redis will answer otherwise by itself, soon: worth another try within the caller's `wait`. Nothing was executed. */
export function isPassing(error: unknown): boolean {
  return /^(BUSY|LOADING|READONLY|MASTERDOWN|TRYAGAIN|CLUSTERDOWN)\b/.test(messageOf(error));
}

/** The server we talk to cannot write: another one may by now be behind the same name. */
export function isReadOnly(error: unknown): boolean {
  return messageOf(error).startsWith('READONLY');
}

export function isMissingScript(error: unknown): boolean {
  return messageOf(error).startsWith('NOSCRIPT');
}

/** Credentials or permissions: will not heal by itself. */
export function isRefused(error: unknown): boolean {
  // Inside a script Redis says it in words: 'The user executing the script can't publish to …', from 7.2 on 'ACL failure in script: …'.
  return /NOPERM|NOAUTH|WRONGPASS|user executing the script can't|ACL failure in script|without any password configured/.test(
    messageOf(error),
  );
}

/** What ioredis rejected with, as an error of ours. `error.command` holds claim ids and is left behind. */
export function toLockError(error: unknown, address: string, name?: string): LockError {
  const message = messageOf(error);
  const cause = new Error(message);
  if (isRefused(error)) return refusals.refused(name, address, message, cause);
  if (/^WRONGTYPE|FOREIGN value/.test(message)) return refusals.foreign(name, address, cause);
  const answered = error instanceof Error && error.name === 'ReplyError';
  return answered ? refusals.answered(name, address, message, cause) : refusals.noAnswer(name, address, message, cause);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
