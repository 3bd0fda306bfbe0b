import { callerOf } from '../errors/describe.js';
import type { LockDemand } from './lock-backend.js';
import type { ResolvedLockOptions } from './options.js';
import { refusals } from './refusals.js';
import { AsyncLocalStorage } from '../diagnostics/platform.js';
import type { Lock } from './lock.js';
import type { LockHandle } from './lock-handle.js';

/**
 * A flow is everything that runs inside a hold, directly or through awaits. It is a chain of the holds around the running code, innermost
 * first, carried by the async context. The chain is immutable: concurrent branches cannot disturb it.
 */
export interface FlowNode {
  readonly handle: LockHandle;
  /** What it was taken as: the handle itself, or the lock of several names that it belongs to. */
  readonly whole: Lock;
  readonly outer: FlowNode | undefined;
}

const flow = new AsyncLocalStorage<FlowNode | undefined>();

/** Runs `fn` inside the hold of `handle`. */
export function runInFlow<T>(handle: LockHandle, fn: () => T): T {
  return flow.run({ handle, whole: handle, outer: flow.getStore() }, fn);
}

/** Runs `fn` inside the holds of all names (`parts`) of a lock: it may re-enter each of them, or several together. */
export function runInFlowOfAll<T>(whole: Lock, parts: readonly LockHandle[], fn: () => T): T {
  let node = flow.getStore();
  for (const handle of parts) node = { handle, whole, outer: node };
  return flow.run(node, fn);
}

/**
 * Runs `fn` outside of all holds: the start of a new entry point (a request, a message, a job). Without it, a server that was started
 * inside a hold would carry that hold into each request, and two requests would be inside one lock at once.
 */
export function startFlow<T>(fn: () => T): T {
  return flow.run(undefined, fn);
}

/** The innermost hold of the running flow that has not ended and meets the condition. An ended hold is never revived. */
export function findHandle(matches: (handle: LockHandle) => boolean): LockHandle | undefined {
  return findNode(matches)?.handle;
}

/** The innermost lock of the running flow that has not ended and meets the condition, with all names that it was taken with. */
export function findLock(matches: (handle: LockHandle) => boolean): Lock | undefined {
  return findNode(matches)?.whole;
}

/** The chain of the running flow: what a caller that waits is inside of. Undefined outside of all locks. */
export const flowAround = (): FlowNode | undefined => flow.getStore();

/** The holds of a chain that have not ended, innermost first. */
export function* handlesOf(chain: FlowNode | undefined): Iterable<LockHandle> {
  for (let node = chain; node; node = node.outer) if (node.handle.lasts) yield node.handle;
}

/** The lock around the running code, for its signal and its fencing token. Undefined outside of all locks. */
export function currentLock(): Lock | undefined {
  return findLock(() => true);
}

function findNode(matches: (handle: LockHandle) => boolean): FlowNode | undefined {
  for (let node = flow.getStore(); node; node = node.outer) {
    if (node.handle.lasts && matches(node.handle)) return node;
  }
  return undefined;
}

/**
 * Checks that a flow's hold of a name is enough for a request inside it: an exclusive lock covers a shared one, and permits cover as many
 * or fewer.
 * @throws LockUpgradeError when it is too little: the flow would wait for itself. LockKindMismatchError for permits beside another kind.
 */
export function assertCovers(name: string, held: LockDemand, asked: ResolvedLockOptions): void {
  const { kind, permits, method, label } = asked;
  if ((held.kind === 'permits') !== (kind === 'permits'))
    throw refusals.kindMismatch(name, kind, held.kind, callerOf(method, label));
  if (held.kind === 'shared' && kind === 'exclusive') throw refusals.upgrade(name, callerOf(method, label));
  if (held.permits < permits) throw refusals.morePermits(name, held.permits, permits, callerOf(method, label));
}
