import { LockConfigurationError, type LockError } from '../../errors/lock-errors.js';
import { redisReasons, redisRefusals as refusals } from './redis.messages.js';
import { UnexpectedReply } from './replies.js';

/** Redis will reply otherwise soon: worth another try within the caller's `wait`. The command was not executed. */
export function isTransient(error: unknown): boolean {
  return /^(BUSY|LOADING|READONLY|MASTERDOWN|TRYAGAIN|CLUSTERDOWN)\b/.test(textOf(error));
}

/** This server cannot write: the same name may lead to another server now. */
export function isReadOnly(error: unknown): boolean {
  return textOf(error).startsWith('READONLY');
}

export function isMissingScript(error: unknown): boolean {
  return textOf(error).startsWith('NOSCRIPT');
}

/** Wrong credentials or permissions: retries do not help. */
export function isRefused(error: unknown): boolean {
  if (error instanceof LockConfigurationError) return true;
  // Inside a script Redis says it in words: 'The user executing the script can't publish to …', from 7.2 on 'ACL failure in script: …'.
  return /NOPERM|NOAUTH|WRONGPASS|user executing the script can't|ACL failure in script|without any password configured/.test(
    textOf(error),
  );
}

/** Turns an error of ioredis into ours. `error.command` contains claim ids and is left out. */
export function toLockError(error: unknown, address: string, name?: string): LockError {
  if (error instanceof LockConfigurationError) return error;
  const message = reasonOf(error);
  const cause = new Error(message);
  if (message.includes('NOAUTH')) return refusals.noPassword(name, address, cause);
  if (message.includes('WRONGPASS')) return refusals.wrongPassword(name, address, cause);
  if (isRefused(error)) return refusals.refused(name, address, message, cause);
  if (/^WRONGTYPE|FOREIGN value/.test(message)) return refusals.foreign(name, address, cause);
  if (message.startsWith('TOKENS ')) return refusals.tokens(name, address, message.slice(7), cause);
  if (error instanceof UnexpectedReply) return refusals.unexpected(name, address, message, cause);
  return isReply(error)
    ? refusals.answered(name, address, message, cause)
    : refusals.noAnswer(name, address, message, cause);
}

/** The same for a connection that never worked: no command was sent. */
export function toStartError(error: unknown, address: string): LockError {
  return isRefused(error) || isReply(error)
    ? toLockError(error, address)
    : refusals.unreachable(address, reasonOf(error));
}

/** Why there is no reply, in words. */
export function reasonOf(error: unknown): string {
  const message = textOf(error);
  // 'Max retries' is our setting of ioredis (no command is sent twice); the reason is that the connection broke.
  return /max retries per request|^Connection is closed/.test(message) ? redisReasons.closed().message : message;
}

const isReply = (error: unknown): boolean =>
  error instanceof UnexpectedReply || (error as Partial<Error> | undefined)?.name === 'ReplyError';

/**
 * The error as text for messages. Redis repeats the arguments of an unknown command: passwords (AUTH), keys. Errors of ioredis may be of
 * another realm (jest).
 */
export function textOf(error: unknown): string {
  const message = (error as Partial<Error> | null | undefined)?.message;
  return (typeof message === 'string' ? message : String(error)).replace(/, with args beginning with:.*/s, '');
}
