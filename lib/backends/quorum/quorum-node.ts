import type { Clock } from '../../core/clock.js';
import type { LockBackend, LockBackendEvents, PushedGrant } from '../../core/lock-backend.js';
import type { LockLog } from '../../core/lock-log.js';
import { Releases } from '../../core/releases.js';
import type { LockError } from '../../errors/lock-errors.js';
import { quorumClaimId } from './node-claim-id.js';
import { quorumRefusals } from './quorum.messages.js';

/** What a node sends to a claim. */
interface NodeMember {
  readonly id: string;
  readonly vote: unknown;
  /** Messages may have been missed. */
  ask(): void;
  receive(grant: PushedGrant): void;
}

/** Why a node gives no vote, and until when. */
export interface Refusal {
  readonly error: LockError;
  readonly until: number;
}

/** One of the servers: its port, its open node claims, and the releases without a reply. */
export class QuorumNode {
  readonly label: string;
  readonly releases: Releases;
  private readonly members = new Map<string, NodeMember>();
  private hasStarted = false;

  /**
   * @param earlier the nodes in front of it in the list
   * @param restartGuard ms for which it gives no new vote after its start; 0: no such time
   */
  constructor(
    readonly backend: LockBackend,
    private readonly earlier: readonly QuorumNode[],
    private readonly clock: Clock,
    private readonly restartGuard: number,
    private readonly log: LockLog,
  ) {
    this.label = backend.label ?? `node ${earlier.length + 1}`;
    this.releases = new Releases(backend, clock, log);
  }

  now(): number {
    return this.clock.now();
  }

  /** @param events of the quorum, which do not include grants of this node alone */
  start(clientId: string, events: LockBackendEvents): Promise<void> {
    const start = this.backend.start(clientId, {
      granted: (grant) => {
        this.granted(grant);
      },
      recovered: (what) => {
        if (what === 'messages') {
          for (const nodeClaim of this.members.values()) if (!nodeClaim.vote) nodeClaim.ask();
          return;
        }
        const twin = this.hasStarted && this.twinRefusal();
        if (twin) this.log.error(twin.message);
        this.releases.repeat();
        events.recovered();
      },
      revoked: ({ name, id: claim }) => {
        events.revoked?.({ name, id: quorumClaimId(claim) });
      },
      freeAt: ({ name, id: claim }, at) => {
        events.freeAt?.({ name, id: quorumClaimId(claim) }, at);
      },
    });
    return start.finally(() => {
      this.hasStarted = true;
    });
  }

  /** The refusal of a node that leads to the same server as an earlier one, once both have sent their identity. */
  twinRefusal(): LockError | undefined {
    const { serverId } = this.backend;
    const twin = this.earlier.find(({ backend }) => serverId !== undefined && backend.serverId === serverId);
    return twin && quorumRefusals.sameServer(twin.label, this.label);
  }

  /** Settles when everything that is under way is released, and the connections are closed. */
  async close(): Promise<void> {
    // At a node without a reply the claim ends with its lease: the others are the majority that counts.
    await this.releases.settled(0);
    this.releases.stop();
    await this.backend.close();
  }

  enter(nodeClaim: NodeMember): void {
    this.members.set(nodeClaim.id, nodeClaim);
  }

  leave(nodeClaim: NodeMember): void {
    this.members.delete(nodeClaim.id);
  }

  /**
   * Why the node must not be asked for votes now, and until when: an earlier node leads to the same server; or it was started a short while
   * ago, perhaps without its data, and leases that it gave before may still run.
   */
  refusal(name: string): Refusal | undefined {
    const twin = this.twinRefusal();
    if (twin) return { error: twin, until: this.clock.now() + this.backend.poll };
    const { upSince } = this.backend;
    if (upSince === undefined || this.restartGuard === 0) return undefined;
    const until = upSince + this.restartGuard;
    const rest = until - this.clock.now();
    if (rest <= 0) return undefined;
    return { error: quorumRefusals.young(name, this.label, Math.ceil(rest)), until };
  }

  private granted(grant: PushedGrant): void {
    const nodeClaim = this.members.get(grant.id);
    // No claim here wants it: it was given up, or a failover brought it back. It lapses within the claim window.
    if (!nodeClaim) void this.releases.release(grant, this.backend.claimWindow, 0);
    // A node that lost its data may grant what another claim holds: left to lapse.
    else if (!this.refusal(grant.name)) nodeClaim.receive(grant);
  }
}
