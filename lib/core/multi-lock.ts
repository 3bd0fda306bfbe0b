import { type Inspect, inspectCustom } from '../errors/describe.js';
import type { Duration } from './duration.js';
import { type Lock, pictureOf } from './lock.js';
import { type HandleHost, LockHandle, attached, leaseOf } from './lock-handle.js';
import { makeExact } from './on-abort.js';
import type { LockLostError } from '../errors/lock-errors.js';

/** Several names that were taken together: held while each of them is, released together. */
export class MultiLock implements Lock {
  readonly keys: readonly string[];
  readonly #host: HandleHost;
  #allSignals: AbortSignal | undefined;
  #released: Promise<void> | undefined;

  /** @param parts one for each name, in the order of the names */
  constructor(
    readonly parts: readonly LockHandle[],
    host: HandleHost,
  ) {
    this.#host = host;
    this.keys = parts.map(({ key }) => key);
  }

  get key(): string {
    return this.keys[0]!;
  }

  get fencingToken(): number {
    return this.parts[0]!.fencingToken;
  }

  get fencingTokens(): ReadonlyMap<string, number> {
    return new Map(this.parts.map(({ key, fencingToken }) => [key, fencingToken]));
  }

  get signal(): AbortSignal {
    if (!this.#allSignals) {
      this.#allSignals = AbortSignal.any(this.parts.map(({ signal }) => signal));
      // Of the holds, not of `this`: a listener of the signal must not keep the lock itself.
      const holds = this.parts.map((part) => LockHandle.holdOf(part));
      makeExact(this.#allSignals, () => {
        // Makes each of them check for its own loss.
        for (const hold of holds) hold.leaseLeft();
      });
    }
    return this.#allSignals;
  }

  get isHeld(): boolean {
    return this.leaseLeft > 0;
  }

  get leaseLeft(): number {
    // Reads all parts: each checks for its own loss.
    return Math.min(...this.parts.map(({ leaseLeft }) => leaseLeft));
  }

  /** 1 when at least one name was not held by the flow before. */
  get depth(): number {
    return Math.min(...this.parts.map(({ depth }) => depth));
  }

  /** Why it is not held any more: the first of its names that was lost. */
  get lost(): LockLostError | undefined {
    return this.parts.find(({ lost }) => lost)?.lost;
  }

  assertHeld(): void {
    for (const part of attached(this, MultiLock, 'assertHeld').parts) part.assertHeld();
  }

  async renew(lease?: Duration): Promise<void> {
    attached(this, MultiLock, 'renew');
    const milliseconds = leaseOf(lease);
    this.assertHeld();
    await this.#host.renew(
      this.parts.map((part) => LockHandle.holdOf(part)),
      milliseconds,
    );
  }

  async export(lease?: Duration): Promise<string> {
    return attached(this, MultiLock, 'export').#host.export(this.parts, leaseOf(lease));
  }

  release(): Promise<void> {
    attached(this, MultiLock, 'release');
    this.#released ??= giveBack(this.parts);
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

/** All in one turn of the event loop, so in one command. */
export async function giveBack(parts: readonly LockHandle[]): Promise<void> {
  await Promise.all(parts.map((part) => part.release()));
}
