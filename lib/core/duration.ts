import { longestTimer } from './clock.js';
import ms, { type StringValue } from 'ms';
import { inputRefusals } from '../errors/input.messages.js';

/**
 * Milliseconds, or a string of the package `ms`: `500`, `'500ms'`, `'30s'`, `'2 minutes'`. The compiler checks what stands in the code. The
 * options of a connection take any string, such as `config.get('LOCK_LEASE')`: it is checked as the application starts.
 */
export type Duration = number | StringValue;

/** One timer is enough for it. */
export const longestDuration = longestTimer;

interface DurationRules {
  /** Smallest value in milliseconds. */
  readonly min: number;
  /** True when `Infinity` is allowed, for 'without end'. */
  readonly infinite?: boolean;
}

/**
 * Milliseconds of a duration as the user wrote it.
 * @throws LockConfigurationError naming `option` for anything that is not a whole number of milliseconds within the rules.
 */
export function parseDuration(option: string, value: unknown, { min, infinite = false }: DurationRules): number {
  // Seconds to who wrote it, most likely, and milliseconds to `ms`.
  if (typeof value === 'string' && /^\s*\d+\s*$/.test(value)) throw inputRefusals.noUnit(option, value.trim());
  const milliseconds = typeof value === 'string' ? parseText(value) : value;
  if (infinite && milliseconds === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  if (
    typeof milliseconds === 'number' &&
    Number.isInteger(milliseconds) &&
    milliseconds >= min &&
    milliseconds <= longestDuration
  ) {
    return milliseconds;
  }
  throw inputRefusals.noDuration(option, value, min, longestDuration, infinite ? ', Infinity,' : '');
}

function parseText(value: string): number | undefined {
  // `ms` throws for '' and for more than 100 characters, and returns undefined for text that it cannot read.
  if (value.length === 0 || value.length > 100) return undefined;
  const milliseconds = ms(value as StringValue) as number | undefined;
  // '0.1s' is 100 ms; floating point may differ in the last digit.
  return milliseconds === undefined ? undefined : Math.round(milliseconds * 1000) / 1000;
}
