/** A string for a log line or an error: control characters escaped, cut at 120 characters. User input must not forge lines. */
export function printable(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1);
  return `'${escaped.length > 120 ? `${escaped.slice(0, 119)}…` : escaped}'`;
}

/** A short, safe picture of a wrong value for an error message: never calls user code such as `toString`. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return printable(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean')
    return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
