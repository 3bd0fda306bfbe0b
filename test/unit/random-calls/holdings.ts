import type { MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { LockHandle } from '../../../lib/core/lock-handle.js';
import { limit } from './calls.js';

/** A lock that a process holds. */
export interface Holding {
  readonly handle: LockHandle;
  readonly mode: 'exclusive' | 'shared' | number;
}

/** The holders of all locks, in all processes: never two that exclude each other, and later holders have larger tokens. */
export class Holdings {
  private readonly holdings = new Set<Holding>();
  /** By name: the largest token of an exclusive hold that has ended. */
  private readonly ended = new Map<string, number>();
  /** By name: the server has forgotten tokens up to this one. Their holders cannot know that, and another process may hold the lock. */
  private readonly forgotten = new Map<string, number>();
  /** By name: how many operators are taking it from its holders. Which ones is known at the reply. */
  private readonly revoking = new Map<string, number>();

  constructor(
    private readonly servers: readonly MemoryLockServer[],
    private readonly broke: (promise: string) => void,
  ) {}

  /** By name: a new grant has a larger token. */
  tokens(): ReadonlyMap<string, number> {
    return new Map(this.ended);
  }

  begin(handle: LockHandle, mode: Holding['mode'], before: ReadonlyMap<string, number>): Holding {
    if (!this.isForgotten(handle) && handle.fencingToken <= (before.get(handle.key) ?? 0))
      this.broke(`a later holder of ${handle.key} got a smaller token`);
    const holding = { handle, mode };
    this.holdings.add(holding);
    this.exclude();
    return holding;
  }

  finish(holding: Holding): void {
    this.holdings.delete(holding);
    const { key, fencingToken } = holding.handle;
    if (holding.mode === 'exclusive') this.ended.set(key, Math.max(this.ended.get(key) ?? 0, fencingToken));
  }

  /** No process holds for certain a lock that another process holds exclusively for certain. */
  exclude(): void {
    const certain = [...this.holdings].filter(({ handle }) => !this.isForgotten(handle) && this.isCertain(handle));
    for (const { handle, mode } of certain) {
      const others = certain.filter((other) => other.handle !== handle && other.handle.key === handle.key);
      const beside =
        mode === 'exclusive'
          ? others.length
          : mode === 'shared'
            ? others.filter((other) => other.mode !== 'shared').length
            : Number(others.reduce((sum, other) => sum + Number(other.mode), mode) > limit);
      if (beside > 0) this.broke(`${handle.key} was held by more than may`);
    }
  }

  /** Not `isHeld`: that ends a hold whose time is up, and its process may be stopped, or dead. */
  private isCertain(handle: LockHandle): boolean {
    const { lost, isUsed, validUntil, endsAt } = LockHandle.holdOf(handle);
    return !lost && isUsed && this.servers[0]!.clock.now() < Math.min(validUntil, endsAt);
  }

  /** All tokens granted so far, or reserved for hand-offs inside a process. Never fewer than before: a server that has lost all its data since
   * knows of none. */
  forget(name: string): void {
    this.forgotten.set(name, Math.max(this.forgotten.get(name) ?? 0, ...this.servers.map(largestToken)));
  }

  /** The same, and all that are granted until the operator has its reply. */
  async revoke(name: string, operator: Promise<unknown>): Promise<void> {
    this.revoking.set(name, (this.revoking.get(name) ?? 0) + 1);
    await operator.catch(() => undefined);
    this.forget(name);
    this.revoking.set(name, this.revoking.get(name)! - 1);
  }

  private isForgotten({ key, fencingToken }: LockHandle): boolean {
    return (this.revoking.get(key) ?? 0) > 0 || fencingToken <= (this.forgotten.get(key) ?? 0);
  }
}

/** The largest token that a server has issued or reserved. */
export const largestToken = ({ table }: MemoryLockServer): number =>
  (table as unknown as { register: number | undefined }).register ?? 0;
