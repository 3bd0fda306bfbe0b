/**
 * The types of `LockBackend`, and the suite that checks an implementation of it. Unstable: this entry may change in a minor version.
 * Only authors of a backend need it.
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
} from '../lib/core/lock-backend.js';
export type { LockFinding } from '../lib/core/lock-finding.js';
export { lockBackendConformance } from './lock-backend.conformance.js';
export type { ConformanceTarget, TargetOptions } from './target.js';
export type { TestFramework } from './test-framework.js';
