import { type Clock, systemClock } from '../../core/clock.js';
import { defaults } from '../../core/defaults.js';
import type {
  AcquireReply,
  AcquireRequest,
  ActivityReport,
  ActivityReports,
  BackendCapabilities,
  HolderRef,
  LockBackend,
  LockBackendEvents,
  LockSnapshot,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../../core/lock-backend.js';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import type { LockLog } from '../../core/lock-log.js';
import { LockConfigurationError } from '../../errors/lock-errors.js';
import { QuorumClaim } from './quorum-claim.js';
import { assertQuorumSize, majorityOf, type QuorumRules } from './quorum-rules.js';
import { allReplies, notStarted, releaseOutcome } from './quorum-replies.js';
import { quorumLines, quorumRefusals } from './quorum.messages.js';
import { QuorumNode } from './quorum-node.js';
import { QuorumViews } from './quorum-views.js';
import { QuorumRenewal } from './quorum-renewal.js';

export interface QuorumBackendOptions {
  /** 3, 5, 7 … independent backends, on one clock. The `commandTimeout` of each limits the wait for its replies. */
  nodes: readonly LockBackend[];
  /** For so many ms after its start a node gives no vote. */
  restartGuard?: number;
  /** From 0 to 1. @default Math.random */
  random?: () => number;
  log: LockLog;
}

/** What a quorum cannot promise: its nodes' queues need not agree, and a majority of permits has no meaning. */
export const quorumCapabilities: BackendCapabilities = {
  fifo: false,
  permits: false,
  views: true,
  handOver: false,
  shared: true,
  queue: true,
  dated: true,
};

/**
 * N independent backends as one: a claim that gets the votes of a majority holds the lock. It works while a majority can be reached, and
 * uses nothing of their replies but their votes (Redlock).
 */
export class QuorumBackend implements LockBackend {
  readonly capabilities = quorumCapabilities;
  readonly clock: Clock;
  readonly commandTimeout: number;
  readonly poll: number;
  readonly claimWindow: number;

  private readonly rules: QuorumRules;
  private readonly restartGuard: number;
  private readonly views: QuorumViews;
  private readonly claims = new Map<string, QuorumClaim>();
  private clientId: string | undefined;
  private events: LockBackendEvents | undefined;

  /** @throws LockConfigurationError for fewer than three nodes, for an even number of them, and for one that is there twice. */
  constructor(private readonly options: QuorumBackendOptions) {
    const { nodes, log, random = Math.random, restartGuard = defaults.restartGuard } = options;
    assertQuorumSize(nodes.length);
    assertIndependent(nodes);
    this.restartGuard = restartGuard;
    const clock = (this.clock = nodes[0]!.clock ?? systemClock);
    const nodeTimeout = Math.max(...nodes.map((node) => node.commandTimeout));
    // A request and, behind it, the round for the token.
    this.commandTimeout = 2 * nodeTimeout;
    this.poll = Math.max(...nodes.map((node) => node.poll));
    this.claimWindow = Math.max(...nodes.map((node) => node.claimWindow));
    this.rules = {
      nodes: nodes.reduce<QuorumNode[]>(
        (earlier, node) => [...earlier, new QuorumNode(node, earlier, clock, this.restartGuard, log)],
        [],
      ),
      majority: majorityOf(nodes.length),
      poll: this.poll,
      claimWindow: this.claimWindow,
      nodeTimeout,
      now: () => clock.now(),
      timer: (delay, fn) => clock.timer(delay, fn),
      random,
      granted: (grant) => this.events?.granted(grant),
      forget: (claim) => this.claims.delete(claim),
    };
    this.views = new QuorumViews(this.rules.nodes, this.rules.majority);
  }

  /** Rejects when no majority can be reached, and when a node refuses what locks need. The nodes keep trying in the background. */
  async start(clientId: string, events: LockBackendEvents): Promise<void> {
    this.clientId = clientId;
    this.events = events;
    const { nodes, majority } = this.rules;
    const { given, errors } = await allReplies(nodes, (node) => node.start(clientId, events));
    const refused = errors.find((error) => error instanceof LockConfigurationError);
    if (refused) throw refused;
    for (const node of nodes) {
      const twin = node.twinRefusal();
      if (twin) throw twin;
    }
    if (given.length < majority) throw notStarted(nodes, errors, majority);
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { name, id, kind, lease } = request;
    this.assertOpen(name);
    if (kind === 'permits') throw quorumRefusals.noPermits(name);
    if (this.restartGuard > 0 && lease > this.restartGuard)
      throw quorumRefusals.longerThanGuard(name, lease, this.restartGuard);
    let claim = this.claims.get(id);
    if (!claim) this.claims.set(id, (claim = new QuorumClaim(request, this.rules)));
    return claim.ask(request);
  }

  async release({ name, id, keepUntil }: ReleaseRequest): Promise<ReleaseReply> {
    this.assertOpen(name);
    const claim = this.claims.get(id);
    if (claim) return claim.release(keepUntil);
    // A claim of this client was released at all nodes before; the release is repeated where it had no reply.
    if (id.startsWith(`${this.clientId}:`)) return 'absent';
    const { nodes, majority } = this.rules;
    return releaseOutcome(
      name,
      nodes.map((node) => node.releases.release({ name, id }, this.claimWindow, 0)),
      majority,
    );
  }

  async renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    if (!this.clientId) return holds.map(() => 'unanswered');
    const { nodes } = this.rules;
    const renewals = holds.map((hold) => new QuorumRenewal(hold, this.claims.get(hold.id), this.rules));
    await new Promise<void>((resolve) => {
      const answers = nodes.map(async (node) => {
        await renewAt(node, renewals);
        if (renewals.every(({ reply }) => reply !== undefined)) resolve();
      });
      void Promise.all(answers).then(() => {
        resolve();
        this.tellLost(renewals);
      });
    });
    return renewals.map((renewal) => renewal.end());
  }

  async inspect(name: string, waiters: number): Promise<LockSnapshot> {
    this.assertOpen(name);
    return this.views.inspect(name, waiters);
  }

  async revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    this.assertOpen(name);
    return this.views.revoke(name, holders);
  }

  list(startsWith: string): AsyncIterable<readonly string[]> {
    return this.views.list(startsWith);
  }

  report(report: ActivityReport): Promise<void> {
    return this.views.report(report);
  }

  reports(most: number): Promise<ActivityReports> {
    return this.views.reports(most);
  }

  /** Examines all nodes. A node that loses its data in a restart does no harm if `restartGuard` keeps it from voting then. */
  async examine(): Promise<readonly LockFinding[]> {
    const found = await Promise.all(this.rules.nodes.map(async ({ backend }) => backend.examine?.()));
    return found
      .flatMap((findings) => findings ?? [])
      .filter(({ code }) => this.restartGuard === 0 || code !== 'LOCK_DOCTOR_PERSISTENCE');
  }

  availability(): Array<readonly [server: string, isAvailable: boolean]> {
    return this.rules.nodes.flatMap(({ backend, label }) => [
      ...(backend.availability?.() ?? [[label, true] as const]),
    ]);
  }

  get isPolling(): boolean {
    return this.rules.nodes.some(({ backend }) => backend.isPolling);
  }

  async close(): Promise<void> {
    this.clientId = undefined;
    for (const claim of this.claims.values()) claim.abandon();
    this.claims.clear();
    await Promise.all(this.rules.nodes.map((node) => node.close()));
  }

  /** A node that forgot what it had granted is worth a warning, although the others still know. */
  private tellLost(renewals: readonly QuorumRenewal[]): void {
    for (const node of this.rules.nodes) {
      const count = renewals.filter(({ reply, lost }) => typeof reply === 'object' && lost.includes(node)).length;
      if (count === 0) continue;
      this.options.log.warn(quorumLines.forgotten(node.label, count));
    }
  }

  private assertOpen(name: string): void {
    if (!this.clientId) throw quorumRefusals.closed(name);
  }
}

async function renewAt(node: QuorumNode, renewals: readonly QuorumRenewal[]): Promise<void> {
  const parts = renewals.flatMap((renewal) =>
    [...renewal.votes.keys()]
      .filter((nodeClaim) => nodeClaim.node === node)
      .map((nodeClaim) => ({ renewal, nodeClaim })),
  );
  if (parts.length === 0) return;
  const replies = await node.backend.renew(parts.map(({ renewal, nodeClaim }) => renewal.requestTo(nodeClaim)));
  parts.forEach(({ renewal, nodeClaim }, index) => {
    renewal.take(nodeClaim, replies[index]!);
  });
}

function assertIndependent(nodes: readonly LockBackend[]): void {
  const labels = nodes.map(({ label }, position) => label ?? `node ${position + 1}`);
  const twice = nodes.findIndex(
    (node, position) => nodes.indexOf(node) < position || labels.indexOf(labels[position]!) < position,
  );
  if (twice >= 0) throw quorumRefusals.twice(labels[twice]!);
}
