import { warn } from '../diagnostics/platform.js';
import { logLines } from './refusals.js';

/** Where the engine logs. Nest's `Logger` fits. */
export interface LockLog {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** For a caller that shows the errors itself. */
export const silence: LockLog = { log() {}, warn() {}, error() {} };

/**
 * The log of an application, as everything here uses it: the engine logs in the middle of a loss or a shutdown, and a log that throws or
 * rejects must not stop it there. The line becomes a warning of the process.
 */
export function guarded(log: LockLog): LockLog {
  const line =
    (level: keyof LockLog) =>
    (message: string): void => {
      const failed = (error: unknown): void => warn(logLines.failed(message, error), 'LOCK_LOG_FAILED');
      try {
        // An async function fits the type, too.
        Promise.resolve(log[level](message) as unknown).catch(failed);
      } catch (error) {
        failed(error);
      }
    };
  return { log: line('log'), warn: line('warn'), error: line('error') };
}
