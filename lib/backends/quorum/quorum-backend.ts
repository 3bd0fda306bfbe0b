import { type Clock, systemClock } from '../../core/clock.js';
import type {
  AcquireReply,
  AcquireRequest,
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
import type { LockFinding } from '../../core/lock-finding.js';
import type { LockLog } from '../../core/lock-log.js';
import { LockConfigurationError } from '../../errors/lock-errors.js';
import { Candidacy } from './candidacy.js';
import { majorityOf } from './majority.js';
import { notStarted, releaseOutcome } from './outcomes.js';
import { quorumLines, quorumRefusals } from './quorum.messages.js';
import { QuorumNode } from './quorum-node.js';
import { assertQuorumSize, type QuorumTuning, resolveQuorumTuning } from './quorum.options.js';
import { QuorumViews } from './quorum-views.js';
import type { QuorumRules } from './quorum-rules.js';
import { Renewing } from './renewing.js';

export interface QuorumBackendOptions extends QuorumTuning {
  /** 3, 5, 7 … places that know nothing of each other, on one clock. The `commandTimeout` of each bounds how long it is waited for. */
  nodes: readonly LockBackend[];
  /** From 0 to 1. @default Math.random */
  random?: () => number;
  log: LockLog;
}

/** What a quorum does not promise: its nodes' queues need not agree, and a majority of permits says nothing. */
export const quorumCapabilities: BackendCapabilities = { fifo: false, permits: false, views: true, handOver: false };

/**
 * N independent places of locks as one: whoever is granted the lock by a majority of them holds it. It goes on working while a
 * majority can be reached, and takes their word for nothing but their votes (Redlock).
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
  private readonly candidacies = new Map<string, Candidacy>();
  private clientId: string | undefined;
  private events: LockBackendEvents | undefined;

  /** @throws LockConfigurationError for fewer than three nodes, for an even number of them, and for one that is there twice. */
  constructor(private readonly options: QuorumBackendOptions) {
    const { nodes, log, random = Math.random } = options;
    const { restartGuard, ...tuning } = resolveQuorumTuning(options);
    assertQuorumSize(nodes.length);
    assertIndependent(nodes);
    this.restartGuard = restartGuard;
    const clock = (this.clock = nodes[0]!.clock ?? systemClock);
    // A question and, behind it, the token's round.
    this.commandTimeout = 2 * Math.max(...nodes.map((node) => node.commandTimeout));
    this.poll = Math.max(...nodes.map((node) => node.poll));
    this.claimWindow = Math.max(...nodes.map((node) => node.claimWindow));
    this.rules = {
      nodes: nodes.map((node, position) => new QuorumNode(node, position, clock, this.restartGuard, log)),
      majority: majorityOf(nodes.length),
      ...tuning,
      poll: this.poll,
      claimWindow: this.claimWindow,
      stragglers: this.commandTimeout / 2,
      now: () => clock.now(),
      timer: (delay, fn) => clock.timer(delay, fn),
      random,
      granted: (grant) => this.events?.granted(grant),
      forget: (claim) => this.candidacies.delete(claim),
    };
    this.views = new QuorumViews(this.rules.nodes, this.rules.majority);
  }

  /** Rejects when no majority can be reached, and when a node refuses what locks need. The nodes go on trying by themselves. */
  async start(clientId: string, events: LockBackendEvents): Promise<void> {
    this.clientId = clientId;
    this.events = events;
    const { nodes, majority } = this.rules;
    const starts = await Promise.allSettled(nodes.map((node) => node.start(clientId, events)));
    const reasons = starts.map((start) => (start.status === 'rejected' ? (start.reason as Error) : undefined));
    const refused = reasons.find((reason) => reason instanceof LockConfigurationError);
    if (refused) throw refused;
    if (reasons.filter((reason) => !reason).length < majority) throw notStarted(nodes, reasons, majority);
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { name, claim, kind, lease } = request;
    this.assertOpen(name);
    if (kind === 'permits') throw quorumRefusals.noPermits(name);
    if (this.restartGuard > 0 && lease > this.restartGuard)
      throw quorumRefusals.longerThanGuard(name, lease, this.restartGuard);
    let candidacy = this.candidacies.get(claim);
    if (!candidacy) this.candidacies.set(claim, (candidacy = new Candidacy(request, this.rules)));
    return candidacy.ask(request);
  }

  async release({ name, claim, keepUntil }: ReleaseRequest): Promise<ReleaseReply> {
    this.assertOpen(name);
    const candidacy = this.candidacies.get(claim);
    if (candidacy) return candidacy.release(keepUntil);
    // An own one was given back at all nodes before; what they did not answer is repeated there.
    if (claim.startsWith(`${this.clientId}:`)) return 'absent';
    const { nodes, majority } = this.rules;
    return releaseOutcome(
      name,
      nodes.map((node) => node.releases.release({ name, claim }, this.claimWindow, 0)),
      majority,
    );
  }

  async renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    if (!this.clientId) return holds.map(() => 'unanswered');
    const { nodes } = this.rules;
    const renewals = holds.map((hold) => new Renewing(hold, this.candidacies.get(hold.claim), this.rules));
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

  /** Looks at every node. What one forgets by a restart does no harm where `restartGuard` keeps it from voting then. */
  async examine(): Promise<readonly LockFinding[]> {
    const found = await Promise.all(this.rules.nodes.map(async ({ backend }) => backend.examine?.()));
    return found
      .flatMap((findings) => findings ?? [])
      .filter(({ code }) => this.restartGuard === 0 || code !== 'LOCK_DOCTOR_PERSISTENCE');
  }

  async close(): Promise<void> {
    this.clientId = undefined;
    for (const candidacy of this.candidacies.values()) candidacy.abandon();
    this.candidacies.clear();
    await Promise.all(this.rules.nodes.map((node) => node.close()));
  }

  /** A node that forgot what it had granted is no small matter, though the others still know. */
  private tellLost(renewals: readonly Renewing[]): void {
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

async function renewAt(node: QuorumNode, renewals: readonly Renewing[]): Promise<void> {
  const parts = renewals.flatMap((renewal) =>
    [...renewal.votes.keys()].filter((ballot) => ballot.node === node).map((ballot) => ({ renewal, ballot })),
  );
  if (parts.length === 0) return;
  const replies = await node.backend.renew(parts.map(({ renewal, ballot }) => renewal.requestTo(ballot)));
  parts.forEach(({ renewal, ballot }, index) => {
    renewal.take(ballot, replies[index]!);
  });
}

function assertIndependent(nodes: readonly LockBackend[]): void {
  const labels = nodes.map(({ label }, position) => label ?? `node ${position + 1}`);
  const twice = nodes.findIndex(
    (node, position) => nodes.indexOf(node) < position || labels.indexOf(labels[position]!) < position,
  );
  if (twice >= 0) throw quorumRefusals.twice(labels[twice]!);
}
