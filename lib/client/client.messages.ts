import { describe } from '../errors/describe.js';
import { wrong } from '../errors/configuration.js';

/** Options that only `createLockClient` has. */
export const clientRefusals = {
  /** A function, or an object without the three methods. */
  noLog: (given: unknown) =>
    wrong(`log: ${describe(given)} given; an object with the methods log, warn and error expected, such as console.`),
} as const;
