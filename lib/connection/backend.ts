/**
 * What a `LockBackend` promises, for authors of one. Unstable: this entry may change in a minor version. The suite that checks an
 * implementation is the package `nestjs-redis-lock-conformance`.
 * @module
 */
export type {
  AcquireReply,
  AcquireRequest,
  ActivityReport,
  ActivityReports,
  AdoptReply,
  AdoptRequest,
  BackendCapabilities,
  ClaimRef,
  HolderRef,
  HolderSnapshot,
  LockBackend,
  LockBackendEvents,
  LockDemand,
  LockKind,
  LockSnapshot,
  Outlook,
  PresentHolder,
  PushedGrant,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
  WaiterSnapshot,
} from '../core/lock-backend.js';
export type { LockFinding } from '../diagnostics/lock-finding.js';

// What the suite drives a backend with: the engine of this package, not one of its own.
/** @internal */
export { callerSuffix, newClientId, partyOf } from '../core/claim-id.js';
/** @internal */
export type { Clock } from '../core/clock.js';
/** @internal */
export { callerOf } from '../errors/describe.js';
/** @internal */
export { allCapabilities, exclusive } from '../core/lock-backend.js';
/** @internal */
export { LockClient } from '../core/lock-client.js';
/** @internal */
export type { LockHandle } from '../core/lock-handle.js';
/** @internal */
export type { LockKey } from '../core/lock-key.js';
/** @internal */
export type { LockLog } from '../core/lock-log.js';
/** @internal */
export type { Lock, LockScope } from '../core/lock.js';
/** @internal */
export { lockDefaults, resolveAdoption, resolveOptions } from '../core/options.js';
/** @internal */
export type { AdoptOptions, Fairness, LockOptions, ResolvedLockOptions } from '../core/options.js';
/** @internal */
export { readTicket, type TicketHold } from '../core/ticket.js';
/** @internal */
export type { LockHolder, LockNotAcquiredError } from '../errors/lock-errors.js';
/** @internal */
export { Elections, type LocalElection } from '../leader/election.js';
/** @internal */
export type { CampaignOptions, Leadership } from '../leader/leadership.js';
/** @internal */
export { Operators } from '../operators/operators.js';
