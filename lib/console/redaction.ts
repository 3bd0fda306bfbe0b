import type { LockFinding, LockFindingCode } from '../core/lock-finding.js';
import type { LockInfo } from '../core/lock-info.js';
import { consoleLines } from './console.messages.js';
import type { ConsoleView } from './console.reader.js';
import type { ResolvedConsoleOptions } from './console.options.js';

const names = new Set(['key', 'name']);
/** Findings whose messages name locks. */
const nested: ReadonlySet<string | undefined> = new Set<LockFindingCode>(['LOCK_DOCTOR_ORDER', 'LOCK_DOCTOR_LEASE']);
const { withheld } = consoleLines;

/** A copy with each lock's name and each label as `redact` shows them, wherever they stand. */
export function redacted<T extends ConsoleView | LockInfo>(
  view: T,
  { redact }: Pick<ResolvedConsoleOptions, 'redact'>,
): T {
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
 * @param view as it was before it was redacted
 */
export function realName(
  shown: string,
  view: ConsoleView,
  { redact }: Pick<ResolvedConsoleOptions, 'redact'>,
): string | undefined {
  const keys = new Set(
    [...view.contended, ...view.leaders, ...view.long, ...view.incidents, ...view.own.holds.first].map(
      ({ key }) => key,
    ),
  );
  if (keys.has(shown)) return shown;
  const [real = shown, ...others] = redact ? [...keys].filter((key) => redact(key, 'name') === shown) : [];
  return others.length > 0 ? undefined : real;
}
