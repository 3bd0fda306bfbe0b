/** What the doctor can find, at start and (the last two) as the application runs. Stable: `ignoreFindings` names these. */
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
  'LOCK_DOCTOR_LEASE',
  'LOCK_DOCTOR_ORDER',
] as const;

export type LockFindingCode = (typeof findingCodes)[number];

/** Something that works now and will go wrong later. */
export interface LockFinding {
  readonly code: LockFindingCode;
  /** Where it is (class and method, or server), what is wrong, and the fix. */
  readonly message: string;
  /** Whether it only says what could not be looked at: never a reason not to start. */
  readonly remark?: boolean;
}
