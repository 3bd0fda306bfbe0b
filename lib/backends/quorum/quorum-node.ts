import type { Clock } from '../../core/clock.js';
import type { LockBackend, LockBackendEvents, PushedGrant } from '../../core/lock-backend.js';
import type { LockLog } from '../../core/lock-log.js';
import { Releases } from '../../core/releases.js';
import type { LockError } from '../../errors/lock-errors.js';
import { candidateOf } from './ballot-id.js';
import { quorumRefusals } from './quorum.messages.js';

/** What a node has to tell a claim. */
export interface NodeBallot {
  readonly claim: string;
  readonly vote: unknown;
  /** Messages may have been missed. */
  ask(): void;
  receive(grant: PushedGrant): void;
}

/** One of the servers: its port, the ballots that are open there, and the releases that it has yet to answer. */
export class QuorumNode {
  readonly label: string;
  readonly releases: Releases;
  private readonly ballots = new Map<string, NodeBallot>();

  /** @param restartGuard ms for which it gives no new vote after its start; 0: no such time */
  constructor(
    readonly backend: LockBackend,
    position: number,
    private readonly clock: Clock,
    private readonly restartGuard: number,
    log: LockLog,
  ) {
    this.label = backend.label ?? `node ${position + 1}`;
    this.releases = new Releases(backend, clock, log);
  }

  now(): number {
    return this.clock.now();
  }

  /** @param events of the quorum; grants of this node alone are none of them */
  start(clientId: string, events: LockBackendEvents): Promise<void> {
    return this.backend.start(clientId, {
      granted: (grant) => {
        this.granted(grant);
      },
      recovered: (what) => {
        if (what === 'messages') {
          for (const ballot of this.ballots.values()) if (!ballot.vote) ballot.ask();
          return;
        }
        this.releases.repeat();
        events.recovered();
      },
      revoked: ({ name, claim }) => {
        events.revoked?.({ name, claim: candidateOf(claim) });
      },
    });
  }

  /** Settles when everything that is under way is given back, and the connections are closed. */
  async close(): Promise<void> {
    await this.releases.settled();
    this.releases.stop();
    await this.backend.close();
  }

  enter(ballot: NodeBallot): void {
    this.ballots.set(ballot.claim, ballot);
  }

  leave(ballot: NodeBallot): void {
    this.ballots.delete(ballot.claim);
  }

  /**
   * Why it must not be asked for votes now, and until when: it was started a short while ago, perhaps with an empty memory, and
   * leases that it gave before may still run.
   */
  refusal(name: string): { readonly error: LockError; readonly until: number } | undefined {
    const { upSince } = this.backend;
    if (upSince === undefined || this.restartGuard === 0) return undefined;
    const until = upSince + this.restartGuard;
    const rest = until - this.clock.now();
    if (rest <= 0) return undefined;
    return { error: quorumRefusals.young(name, this.label, Math.ceil(rest)), until };
  }

  private granted(grant: PushedGrant): void {
    const ballot = this.ballots.get(grant.claim);
    // Given up meanwhile, or brought back by a failover: nobody here wants it, and it lapses within the claim window.
    if (!ballot) void this.releases.release(grant, this.backend.claimWindow, 0);
    // What a memory with a gap serves may be another's: left to lapse.
    else if (!this.refusal(grant.name)) ballot.receive(grant);
  }
}
