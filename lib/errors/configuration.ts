import { LockConfigurationError } from './lock-errors.js';

/** For the catalogues of messages. */
export const wrong = (problem: string, cause?: unknown): LockConfigurationError =>
  new LockConfigurationError(problem, { cause });

/** Runs `action`, and puts the place in front of the message of its LockConfigurationError. */
export function located<T>(where: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw atPlace(where, error);
  }
}

/** The same for an error that was caught. Other errors are returned unchanged. */
export function atPlace(where: string, error: unknown): unknown {
  if (!(error instanceof LockConfigurationError)) return error;
  return new LockConfigurationError(`${where}: ${error.message}`, { key: error.key, cause: error.cause });
}
