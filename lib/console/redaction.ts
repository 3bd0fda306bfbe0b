import type { LockFinding, LockFindingCode } from '../diagnostics/lock-finding.js';
import { consoleLines } from './console.messages.js';
import type { ResolvedConsoleOptions } from './console.options.js';

const names = new Set(['key', 'name']);
/** Findings whose messages name locks. */
const nested: ReadonlySet<string | undefined> = new Set<LockFindingCode>(['LOCK_DOCTOR_ORDER', 'LOCK_DOCTOR_LEASE']);
const { withheld } = consoleLines;

/** A copy with each lock's name and each label as `redact` shows them, wherever they stand. */
export function redacted<T extends object>(view: T, { redact }: Pick<ResolvedConsoleOptions, 'redact'>): T {
  if (!redact) return view;
  return JSON.parse(
    JSON.stringify(view, (field, value: unknown) => {
      if (nested.has((value as Partial<LockFinding> | null)?.code))
        return { ...(value as LockFinding), message: withheld() };
      if (typeof value !== 'string') return value;
      if (names.has(field)) return redact(value, 'name');
      return field === 'label' ? redact(value, 'label') : value;
    }),
  ) as T;
}

/**
 * The real name of a lock that a person knows by its shown name. Undefined when several locks are shown by it.
 * @param known real names
 */
export function realName(
  shown: string,
  known: ReadonlySet<string>,
  { redact }: Pick<ResolvedConsoleOptions, 'redact'>,
): string | undefined {
  if (known.has(shown)) return shown;
  const [real = shown, ...others] = redact ? [...known].filter((key) => redact(key, 'name') === shown) : [];
  return others.length > 0 ? undefined : real;
}
