import { quorumClaimId } from '../../../lib/backends/quorum/node-claim-id.js';
import type { Hold } from '../../../lib/core/hold.js';
import type { Process } from './process.js';

/** A lock that a process holds, and what it requested. */
interface Lasting {
  readonly hold: Hold;
  readonly process: Process;
  readonly renew: boolean;
  /** Milliseconds for which it was certain when it began. */
  readonly certainAtFirst: number;
}

/** The most that a lease may lose by inexact clocks: a thousandth and 2 ms with one server, a hundredth with a quorum. */
const inexact = (lease: number): number => lease / 50 + 10;
/** Milliseconds after which a renewal that failed is tried again. */
const pauseOf = (lease: number): number => Math.min(lease / 12, 250);

/** Checks that a hold lasts as requested. Returns what it lacks, if the backend has replied for long enough for a retry of failed renewals.
 */
export function shortOf({ hold, process, renew, certainAtFirst }: Lasting): string | undefined {
  const { lease, lost, acquiredAt, name } = hold;
  if (lost && lost.reason !== 'expired') return undefined;
  // A lost hold is judged by the moment at which it was lost.
  const at = lost ? hold.validUntil : process.clock.now();
  const troubledUntil = process.troubledUntil(at);
  const latency = process.latency(Math.min(acquiredAt - lease, troubledUntil), at);
  // Slower than that, a renewal does not help.
  if (latency > 0.45 * lease) return undefined;
  // A short lease is extended after a third of it. A failed renewal is tried again after a twelfth of the lease, after the pending one.
  const first = acquiredAt + Math.max(0, certainAtFirst) / 3;
  const again = troubledUntil + pauseOf(lease);
  if (at < Math.max(first, again) + 2 * latency + 30) return undefined;
  const short = lost ? 'was lost' : `is certain for ${Math.round(hold.validUntil - at)} ms`;
  const said = `${name} of process ${process.number}, held for ${Math.round(at - acquiredAt)} ms with a lease of ${lease} ms`;
  if (renew)
    return hold.validUntil - at < lease / 2 - latency - inexact(lease) ? `${said}, renewed, ${short}` : undefined;
  const owed = acquiredAt + lease - latency - inexact(lease);
  return Math.max(at, owed) > hold.validUntil && at < owed ? `${said}, ${short}` : undefined;
}

/** A hold with less than its requested lease is being renewed, or will be before it ends: the model calls this `owed`. */
export function isForgotten(hold: Hold, process: Process): string | undefined {
  const { fixedEnd, endsAt } = hold as unknown as { fixedEnd: number; endsAt: number };
  const { validUntil, renewAt, acquiredAt, lease, name } = hold;
  const now = process.clock.now();
  if (hold.lost || renewAt < validUntil || endsAt <= validUntil) return undefined;
  // At a node of a quorum, the claim may have an id of its own.
  const isOfHold = (claim: string): boolean => quorumClaimId(claim) === hold.claim.id;
  if (process.links.some(({ renewing }) => [...renewing].some(isOfHold))) return undefined;
  // The last renewal that failed.
  if (validUntil - now <= pauseOf(lease) && process.failedUntil(now) >= now - pauseOf(lease)) return undefined;
  const missing = fixedEnd - validUntil;
  if (missing <= inexact(lease) + process.latency(acquiredAt - lease, now)) return undefined;
  return `${name} of process ${process.number}, of a lease of ${lease} ms, is certain for ${Math.round(validUntil - acquiredAt)} ms, and nothing will lengthen it`;
}
