/** Findings of the doctor, at start and (the last two) at run time. Stable: `ignoreFindings` names these. */
export const findingCodes = [
  'LOCK_DOCTOR_EVICTION',
  'LOCK_DOCTOR_PERSISTENCE',
  'LOCK_DOCTOR_PERMISSION',
  'LOCK_DOCTOR_VERSION',
  'LOCK_DOCTOR_UNEXAMINED',
  'LOCK_DOCTOR_HTTP_TIMEOUT',
  'LOCK_DOCTOR_MINIFIED',
  'LOCK_DOCTOR_WRAPPED',
  'LOCK_DOCTOR_OVERRIDDEN',
  'LOCK_DOCTOR_UNPROVIDED',
  'LOCK_DOCTOR_SCHEDULE',
  'LOCK_DOCTOR_FILTER',
  'LOCK_DOCTOR_SHUTDOWN',
  'LOCK_DOCTOR_CONSOLE',
  'LOCK_DOCTOR_LEASE',
  'LOCK_DOCTOR_ORDER',
] as const;

export type LockFindingCode = (typeof findingCodes)[number];

/** A setting or use that works now and may go wrong later. */
export interface LockFinding {
  readonly code: LockFindingCode;
  /** Where it is (class and method, or server), what is wrong, and the fix. */
  readonly message: string;
  /** True for a remark, not a mistake: a line of level `log` instead of a warning, and never a reason not to start. */
  readonly remark?: boolean;
}
