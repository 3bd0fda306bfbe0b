/** Characters that a terminal interprets instead of showing them: controls, direction marks, line separators, and invisible ones. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A string for a log line or an error: control and invisible characters are escaped, and it is cut at 120 characters. User input must not forge lines. */
export function printable(text: string): string {
  const whole = escaped(text);
  return `'${whole.length > 120 ? `${whole.slice(0, 119).replace(/[\ud800-\udbff]$/, '')}…` : whole}'`;
}

/** The same without quotes, and not cut. */
export function escaped(text: string): string {
  // JSON escapes C0 and halves of surrogate pairs.
  return JSON.stringify(text).slice(1, -1).replaceAll(hidden, escape);
}

/** A caller in front of a message: its method, and the label of its call. `ReportService.build 'import 4711'` */
export function callerOf(where: string | undefined, label: string | undefined): string | undefined {
  if (label === undefined) return where;
  return where === undefined ? printable(label) : `${where} ${printable(label)}`;
}

function escape(character: string): string {
  const code = character.codePointAt(0)!.toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
}

/** The method of an object that `util.inspect`, and so `console.log`, calls. */
export const inspectCustom: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never;
export type Inspect = (value: unknown, options: object) => string;

/** A URL, the end of one, or a text that says what it is: a value in the wrong place. */
const mayHoldPassword = /:\/\/|@|passw|pwd|secret/i;

/**
 * A short, safe description of a wrong value for an error message: never calls user code such as `toString`. Every message that shows what
 * was given makes it here: a text that may hold a password is not shown.
 */
export function describe(value: unknown): string {
  if (typeof value === 'string') return mayHoldPassword.test(value) ? hiddenText : printable(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean')
    return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** What was thrown, for a log line. An error of the application may have getters of its own, and they may throw. */
export function errorText(error: unknown, part: 'message' | 'stack' = 'message'): string {
  try {
    return error instanceof Error ? String(error[part] ?? error.message) : describe(error);
  } catch {
    return 'an error that cannot be read';
  }
}

const hiddenText = 'a string (not shown, as it may hold a password)';

/** The same where a password may be expected: no text is shown. */
export const kindOf = (value: unknown): string => (typeof value === 'string' ? 'a string' : describe(value));

/** The name of an option as it was given. A URL that was taken apart has names, too. */
export const nameOf = (name: string): string => (/:\/\/|@/.test(name) ? 'of this name (not shown)' : printable(name));

/** 'Did you mean …?' for a misspelt name, else the list of names. Also used for parameter names in templates. */
export function suggestion(name: string, known: readonly string[]): string {
  const nearest = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  if (nearest && nearest.distance <= Math.max(1, Math.floor(name.length / 3)))
    return `Did you mean '${nearest.candidate}'?`;
  return known.length === 0 ? '' : `Known: ${known.join(', ')}.`;
}

/** Insertions, deletions, substitutions and swaps of two neighbours, one edit each. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, previous[column]! + 1, current[column - 1]! + 1));
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwapped) current[column] = Math.min(current[column]!, beforePrevious[column - 2]! + 1);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length]!;
}

/**
 * Hides a part of an object from loggers, test matchers and `structuredClone`, which walk over its properties. A private field of the
 * object itself would not work through a Proxy of it, which Nest's option `instrument.instanceDecorator` may put in its place.
 */
export class Hidden<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }
}
