import { wrong } from '../../errors/configuration.js';

/** `LockHealthIndicator`. The health route responds 500. */
export const terminusRefusals = {
  /** The application has no connection of this name. */
  noConnection: (connection: string, options: string) =>
    wrong(
      `LockHealthIndicator.check: there is no connection '${connection}'. Import RedisLockModule.forRoot(${options}), or name another one (option connection).`,
    ),
} as const;
