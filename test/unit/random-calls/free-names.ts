import { claimWindow } from '../../../lib/core/defaults.js';
import type { ShortLivedMap } from '../../../lib/core/short-lived-map.js';
import type { MemoryLockServer } from '../../../lib/backends/memory/index.js';
import type { HolderSnapshot } from '../../../lib/core/lock-backend.js';
import type { Span } from '../../support/faulty-link.js';
import { commandTimeout, names } from './calls.js';
import { largestToken } from './holdings.js';
import type { Process } from './process.js';

/** Milliseconds after the end of a lease within which a waiter gets the lock. */
const promptly = 100;

/** A call that waited, or still waits, for one name. */
export interface Waiting {
  readonly name: string;
  readonly process: Process;
  readonly since: number;
}

/** A time in which a name was free, and the process of the first waiter, which knows it. */
interface FreeSpan extends Span {
  readonly first: Process | undefined;
}

/** Watches one server: for how long names are free while calls wait for them. */
export class FreeNames {
  /** By name: until when it is held, and whose waiter was the first, by the last check; and the times in which it was free. */
  private readonly seen = new Map<string, { until: number; first: Process | undefined; readonly free: FreeSpan[] }>();
  /** Grants to processes that were silent already: by process and name, the end of the first one. */
  private readonly posthumous = new Map<string, { readonly token: number; readonly endsAt: number }>();
  /** Claims that hold at the server without a hold in their process: since when. */
  private readonly stale = new Map<string, number>();
  /** By name: when waiters cannot know that it is free, since it was taken from its holder by force. */
  private readonly unknown = new Map<string, number>();
  /** The largest token from before a restart without data. */
  private oldTokens = 0;

  constructor(
    private readonly server: MemoryLockServer,
    private readonly processes: readonly Process[],
    private readonly broke: (promise: string) => void,
  ) {
    for (const name of names) this.seen.set(name, { until: 0, first: undefined, free: [] });
  }

  /** After each command. */
  look(name: string | undefined): void {
    if (name === undefined) return;
    const now = this.server.clock.now();
    const { holders, waiters } = this.server.table.snapshot(name, 1);
    const seen = this.seen.get(name)!;
    if (seen.until < now) seen.free.push({ from: seen.until, to: now, first: seen.first });
    seen.until = Math.max(now, ...holders.map(({ leaseLeft }) => now + leaseLeft));
    seen.first = this.processes.find(({ clientId }) => clientId !== '' && waiters[0]?.id.startsWith(`${clientId}:`));
    for (const holder of holders) {
      this.lookAtSilent(name, holder, now);
      if (holder.fencingToken! <= this.oldTokens)
        this.broke(`${name} was granted with a smaller token than before the restart`);
    }
  }

  /** Before a restart: every earlier token is smaller than those that follow. */
  restarted(): void {
    this.oldTokens = Math.max(this.oldTokens, largestToken(this.server));
  }

  /** Its holder was removed without a notification. */
  lost(name: string): void {
    this.unknown.set(name, this.server.clock.now());
    this.look(name);
  }

  /** The call has settled: was the name free for longer than it should have been? */
  waited({ name, process, since }: Waiting): void {
    const now = this.server.clock.now();
    const { until, first: next, free } = this.seen.get(name)!;
    for (const { from, to, first } of [...free, { from: until, to: now, first: next }]) {
      if (to <= since || from >= now) continue;
      const end = Math.min(to, now);
      // What it knows of the lock: a caller that joins others of its process waits by what the server said to them.
      const asked = process.links[0]!.askedAt.get(name)?.findLast((at) => at < end) ?? since;
      // An acquire that failed is sent again after a third of the window.
      // Where the holder ended without a release, only the first waiter knows when the lease ends. Those behind it find out by their polls.
      const waitsBehind =
        first !== undefined &&
        first !== process &&
        (first.troubledUntil(end) > since || first.latency(since, end) > commandTimeout);
      const calm =
        !waitsBehind &&
        process.troubledUntil(end) <= since &&
        process.failedUntil(end) + claimWindow / 3 <= since &&
        (this.unknown.get(name) ?? -1) < Math.min(since, asked);
      const troubleEnd = Math.max(process.troubledUntil(to), this.unknown.get(name) ?? 0);
      // A hold of its own process that the server has forgotten is released first.
      const own = process.held
        .filter(({ hold }) => hold.name === name && hold.acquiredAt < end)
        .map(({ hold, leftAt }) => (hold.lost?.reason === 'expired' ? hold.validUntil : Math.min(leftAt ?? now, end)));
      const begin = Math.max(from, since, calm ? 0 : troubleEnd, ...own);
      const allowed = calm ? promptly : process.client.backend.poll + claimWindow + 2 * commandTimeout + promptly;
      const waits = end - begin;
      if (waits > allowed + 2 * process.latency(since, to))
        this.broke(`${name} was free for ${waits} ms while process ${process.number} waited for it`);
    }
  }

  /** Now and then: a hold at the server must have a hold in its process, or be released. */
  lookForStale(): void {
    const now = this.server.clock.now();
    const there = new Set<string>();
    for (const name of this.server.table.held()) {
      for (const { id: claim, state } of this.server.table.snapshot(name, 0).holders) {
        const process = this.processes.find(({ clientId }) => clientId !== '' && claim.startsWith(`${clientId}:`));
        if (!process || state !== 'held' || process.isLeftToRunOut(claim) || isInUse(process, claim)) continue;
        const live = !process.clock.isDead && !process.clock.isStopped && process.closingAt > now;
        if (!live || process.troubledUntil(now) >= now - promptly) continue;
        there.add(claim);
        const since = this.stale.get(claim) ?? now;
        this.stale.set(claim, since);
        if (now - since > 4 * commandTimeout + promptly)
          this.broke(`${name} is held by process ${process.number}, which does not know of it`);
      }
    }
    for (const claim of this.stale.keys()) if (!there.has(claim)) this.stale.delete(claim);
  }

  /** A silent process costs the others one claim window. */
  private lookAtSilent(name: string, holder: HolderSnapshot, now: number): void {
    const { id: claim, fencingToken = 0, state, leaseLeft, heldFor = 0 } = holder;
    if (state !== 'provisional') return;
    const process = this.processes.find(({ clientId }) => claim.startsWith(`${clientId}:`));
    if (!process?.clock.isStopped || now - heldFor < process.clock.silentSince) return;
    const key = `${process.number} ${process.clock.silentSince} ${name}`;
    const first = this.posthumous.get(key);
    if (!first) this.posthumous.set(key, { token: fencingToken, endsAt: now + leaseLeft });
    else if (fencingToken > first.token && now >= first.endsAt)
      this.broke(`${name} was granted again to process ${process.number}, which did not take it up before`);
  }
}

/** Whether the client of the process knows of the claim. */
function isInUse({ client }: Process, claim: string): boolean {
  const { renewal, queues, strictQueues } = client as unknown as {
    renewal: { holds: Iterable<{ claim: { id: string } }> };
    queues: ShortLivedMap<string, { claim?: { id: string } }>;
    strictQueues: ShortLivedMap<string, object>;
  };
  if (strictQueues.get(claim)) return true;
  for (const hold of renewal.holds) if (hold.claim.id === claim) return true;
  for (const queue of queues.values()) if (queue.claim?.id === claim) return true;
  return false;
}
