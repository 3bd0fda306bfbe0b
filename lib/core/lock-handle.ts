import { type Inspect, inspectCustom } from '../errors/describe.js';
import { type Duration, parseDuration } from './duration.js';
import type { Hold } from './hold.js';
import { type Lock, pictureOf } from './lock.js';
import { least } from './defaults.js';
import { fromCaller } from '../errors/caller-stack.js';
import type { LockLostError } from '../errors/lock-errors.js';
import { lostError } from './refusals.js';
import { inputRefusals } from '../errors/input.messages.js';

/** What a handle needs from its client. */
export interface HandleHost {
  readonly observation: { readonly connection: string };
  /** @param lease in ms; left out: that of each hold */
  renew(holds: readonly Hold[], lease?: number): Promise<void>;
  /** Exports the lock: all its handles together. @param lease in ms */
  export(handles: readonly LockHandle[], lease?: number): Promise<string>;
  /** One user less; the last one releases the lock. */
  leave(hold: Hold, handle: LockHandle): Promise<void>;
}

/**
 * One user's view of a hold: the outermost one, or a re-entry. The engine behind it, which has passwords and claim ids, is in private
 * fields: loggers and test matchers that walk its properties see only the state of the lock.
 */
export class LockHandle implements Lock {
  readonly key: string;
  readonly #hold: Hold;
  readonly #host: HandleHost;
  #released: Promise<void> | undefined;
  #ended: 'released' | 'exported' = 'released';

  constructor(
    hold: Hold,
    readonly depth: number,
    host: HandleHost,
  ) {
    this.key = hold.name;
    this.#hold = hold;
    this.#host = host;
  }

  /** For the engine. */
  static holdOf(lock: LockHandle): Hold {
    return lock.#hold;
  }

  static hostOf(lock: LockHandle): HandleHost {
    return lock.#host;
  }

  get fencingToken(): number {
    return this.#hold.fencingToken;
  }

  get keys(): readonly string[] {
    return [this.key];
  }

  get fencingTokens(): ReadonlyMap<string, number> {
    return new Map([[this.key, this.fencingToken]]);
  }

  get signal(): AbortSignal {
    return this.#hold.signal;
  }

  get isHeld(): boolean {
    return this.leaseLeft > 0;
  }

  get leaseLeft(): number {
    return this.#released ? 0 : this.#hold.leaseLeft();
  }

  get lost(): LockLostError | undefined {
    return this.#hold.lost;
  }

  /** True until the hold's last user leaves, whether it is lost or not: flows inside it are still in the hold. */
  get lasts(): boolean {
    return this.#hold.isUsed;
  }

  assertHeld(): void {
    if (attached(this, LockHandle, 'assertHeld').isHeld) return;
    throw fromCaller(this.lost ?? lostError(this.key, this.#ended, this.#hold.caller), LockHandle.prototype.assertHeld);
  }

  async renew(lease?: Duration): Promise<void> {
    attached(this, LockHandle, 'renew');
    const milliseconds = leaseOf(lease);
    this.assertHeld();
    await this.#host.renew([this.#hold], milliseconds);
  }

  async export(lease?: Duration): Promise<string> {
    return attached(this, LockHandle, 'export').#host.export([this], leaseOf(lease));
  }

  /** The hold was handed over: there is nothing to release. */
  moved(): void {
    this.#released = Promise.resolve();
    this.#ended = 'exported';
  }

  release(): Promise<void> {
    attached(this, LockHandle, 'release');
    this.#released ??= this.#host.leave(this.#hold, this);
    return this.#released;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  toJSON(): object {
    return pictureOf(this);
  }

  [inspectCustom](_depth: number, options: object, inspect: Inspect): string {
    return `Lock ${inspect(pictureOf(this), options)}`;
  }
}

/**
 * `const { release } = lock` and `.finally(lock.release)` call it without its lock, which stays held.
 * @throws LockConfigurationError unless `lock` is one
 */
export function attached<T extends Lock>(lock: T | undefined, type: new (...given: never) => T, method: string): T {
  if (lock instanceof type) return lock;
  throw inputRefusals.detached(method);
}

/** @throws LockConfigurationError */
export function leaseOf(lease: Duration | undefined): number | undefined {
  return lease === undefined ? undefined : parseDuration('lease', lease, { min: least.lease });
}
