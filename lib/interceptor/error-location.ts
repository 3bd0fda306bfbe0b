import { LockConfigurationError } from '../errors/lock-errors.js';

/** Runs `action`; a LockConfigurationError out of it says, in front, where the mistake stands. */
export function located<T>(where: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof LockConfigurationError)) throw error;
    throw new LockConfigurationError(`${where}: ${error.message}`, { cause: error.cause });
  }
}
