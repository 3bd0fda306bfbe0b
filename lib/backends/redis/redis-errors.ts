import { LockConfigurationError, type LockError, LockUnavailableError } from '../../errors/lock-errors.js';
import { printable } from '../../core/describe.js';

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
  return /NOPERM|NOAUTH|WRONGPASS|can't run this command|without any password configured/.test(messageOf(error));
}

/** What ioredis rejected with, as an error of ours. `error.command` holds claim ids and is left behind. */
export function toLockError(error: unknown, address: string, name?: string): LockError {
  const message = messageOf(error);
  const lock = name === undefined ? 'Locks' : `Lock ${printable(name)}`;
  const cause = new Error(message);
  if (isRefused(error)) {
    return new LockConfigurationError(
      `${lock}: Redis at ${address} refuses what the lock needs: ${message} (docs/guarantees.md lists the smallest ACL).`,
      { key: name, cause },
    );
  }
  if (/^WRONGTYPE|FOREIGN value/.test(message)) {
    return new LockConfigurationError(
      `${lock}: its key in Redis at ${address} holds something that is no lock. Delete that key, or choose another keyPrefix for locks.`,
      { key: name, cause },
    );
  }
  const answered = error instanceof Error && error.name === 'ReplyError';
  return new LockUnavailableError(
    answered
      ? `${lock}: Redis at ${address} answered ${printable(message)}.`
      : `${lock}: Redis at ${address} did not answer (${message}).`,
    { key: name, cause, uncertain: !answered },
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
