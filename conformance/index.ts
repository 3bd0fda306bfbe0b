/**
 * The suite that checks an implementation of `LockBackend`. Unstable: this package may change in a minor version.
 * @module
 */
export { lockBackendConformance } from './lock-backend.conformance.js';
export type { ConformanceTarget, TargetOptions } from './target.js';
export type { SuiteTime } from './time.js';
export type { TestFramework } from './test-framework.js';
