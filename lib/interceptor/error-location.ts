import { LockConfigurationError } from '../errors/lock-errors.js';

/** Runs `action`; a LockConfigurationError out of it says, in front, where the mistake stands. */
export function located<T>(where: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw atPlace(where, error);
  }
}

/** The same for an error that was caught; any other is answered as it is. */
export function atPlace(where: string, error: unknown): unknown {
  if (!(error instanceof LockConfigurationError)) return error;
  return new LockConfigurationError(`${where}: ${error.message}`, { key: error.key, cause: error.cause });
}
