import { channels } from '../diagnostics/channels.js';
import { originOf, placeOf } from './claim-id.js';
import type { Clock } from './clock.js';
import type { Hold } from './hold.js';
import type { HolderSnapshot, LockBackend, LockSnapshot } from './lock-backend.js';
import type { LockHolderInfo, LockInfo, LockListOptions } from './lock-info.js';
import type { LockLog } from './lock-log.js';
import { assertLockName } from './lock-name.js';
import { readOptions } from './options.js';
import { viewLines, viewRefusals as refusals } from './views.messages.js';

/** Waiters that one look tells of. */
const mostWaiters = 1000;

/** What it needs from its client. */
export interface ViewsHost {
  readonly backend: LockBackend;
  readonly clock: Clock;
  readonly log: LockLog;
  /** Its id, with which all its claims begin. */
  readonly id: string;
  /** What this process holds. */
  readonly holds: Iterable<Hold>;
}

/** What operators do with locks: look who has them, and take them away. No lock is taken or given back by it. */
export class LockViews {
  constructor(private readonly host: ViewsHost) {}

  async inspect(name: string): Promise<LockInfo> {
    const { kind, limit, holders, waiters } = await this.look('inspect', name, mostWaiters);
    return {
      key: name,
      kind,
      limit,
      holders: holders.map((holder) => this.holderInfo(holder)),
      waiters: waiters.map(({ claim, waited, ...wants }) => {
        return { ...originOf(claim), waited: Math.floor(waited), ...wants };
      }),
    };
  }

  /**
   * Takes the lock from those who hold it now, and hands it on. Two steps: who it is taken from is known, told, and matched, so a repeated
   * or late command takes nothing from whoever came after.
   */
  async forceRelease(name: string): Promise<boolean> {
    const { backend, id, log } = this.host;
    const { holders } = await this.look('forceRelease', name, 0);
    if (holders.length === 0) return false;
    if (!backend.revoke) throw refusals.notProvided('forceRelease');
    // Looked at while those in this process still hold.
    const infos = new Map(holders.map((holder) => [holder.claim, this.holderInfo(holder)]));
    const deprived = new Set(await backend.revoke(name, holders));
    if (deprived.size === 0) return false;
    for (const hold of this.host.holds) if (deprived.has(hold.claim.claim)) hold.lose('revoked');
    const lost = [...infos].filter(([claim]) => deprived.has(claim)).map(([, info]) => info);
    const holdersOf = lost.map((holder) => `${placeOf(holder)} for ${holder.heldFor} ms`);
    log.warn(viewLines.forceReleased(name, placeOf(originOf(id)), holdersOf.join('; ')));
    if (channels.forceReleased.hasSubscribers) {
      const { client, host, pid } = originOf(id);
      channels.forceReleased.publish({ key: name, by: { client, host, pid }, holders: lost });
    }
    return true;
  }

  /** @throws LockConfigurationError at once for a wrong option; while iterated over, what the backend rejects with. */
  list(options: LockListOptions = {}): AsyncIterable<string> {
    const { startsWith = '' } = readOptions('options', options, ['startsWith']);
    if (typeof startsWith !== 'string') throw refusals.noStart(startsWith);
    const { backend } = this.host;
    if (!backend.list) throw refusals.notProvided('list');
    return eachOnce(backend.list(startsWith));
  }

  private async look(call: string, name: string, waiters: number): Promise<LockSnapshot> {
    assertLockName(name);
    const { backend } = this.host;
    if (!backend.inspect) throw refusals.notProvided(call);
    return backend.inspect(name, waiters);
  }

  private holderInfo({ claim, fencingToken, heldFor, leaseLeft, state, permits }: HolderSnapshot): LockHolderInfo {
    const info: LockHolderInfo = {
      ...originOf(claim),
      fencingToken,
      heldFor: Math.floor(heldFor),
      leaseLeft: Math.max(0, leaseLeft),
      state: state === 'full' ? 'held' : state,
      permits,
    };
    // The backend knows which claim holds, this process which of its callers has it by now.
    for (const hold of this.host.holds) {
      if (hold.claim.claim !== claim) continue;
      const { fencingToken: token, acquiredAt, where } = hold;
      return { ...info, fencingToken: token, heldFor: Math.floor(this.host.clock.now() - acquiredAt), method: where };
    }
    return info;
  }
}

async function* eachOnce(batches: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  const told = new Set<string>();
  for await (const names of batches) {
    for (const name of names) {
      if (told.has(name)) continue;
      told.add(name);
      yield name;
    }
  }
}
