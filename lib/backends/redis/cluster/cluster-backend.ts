import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'ioredis';
import { longestTimer } from '../../../core/clock.js';
import { claimWindow, defaults } from '../../../core/defaults.js';
import type {
  AcquireReply,
  AcquireRequest,
  ActivityReport,
  ActivityReports,
  AdoptReply,
  AdoptRequest,
  HolderRef,
  LockBackend,
  LockBackendEvents,
  LockSnapshot,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../../../core/lock-backend.js';
import type { LockFinding } from '../../../diagnostics/lock-finding.js';
import type { LockLog } from '../../../core/lock-log.js';
import { refusals } from '../../../core/refusals.js';
import { LockConfigurationError, LockUnavailableError } from '../../../errors/lock-errors.js';
import { type RedisDialect, transientPause } from '../redis-backend.js';
import { redisLines, redisRefusals } from '../redis.messages.js';
import { type ClusterKeySpace, clusterKeySpace } from './cluster-keys.js';
import { ClusterNode } from './cluster-node.js';
import { type ClusterAccess, readCluster, type RedisClusterOptions } from './cluster-options.js';
import { SlotMap } from './slot-map.js';
import { slotOfKey } from './slots.js';

/** Checked by the module (`resolveModuleOptions`); times in ms. What is left out is the default. */
export interface ClusterBackendOptions {
  /** ioredis' client of a cluster, whose options are copied, or options to reach one. */
  cluster: Cluster | RedisClusterOptions;
  /** The beginning of all keys and channels. Clients with the same prefix share their locks. */
  keyPrefix?: string;
  /** The longest time to wait for a reply of a node; after it the connection to it counts as broken. */
  commandTimeout?: number;
  /** How often a waiter asks by itself, in case a message was lost. */
  poll?: number;
  /** True: it only shows locks. */
  observes?: boolean;
  /** Makes the format of the locks for a node. @default the library's own */
  format?: (prefix: string) => RedisDialect;
  log: LockLog;
}

/** Redirections in a row that are followed at once: nodes that redirect to each other get time to agree. */
const quickRedirections = 3;

/**
 * Locks on a Redis Cluster: a RedisBackend for each node with slots, and a map of the slots. A call that a node cannot serve, because the
 * slot has moved or the node was replaced, goes to the node that can.
 */
export class ClusterBackend implements LockBackend {
  readonly commandTimeout: number;
  readonly poll: number;
  readonly claimWindow = claimWindow;

  private readonly access: ClusterAccess;
  private readonly map: SlotMap;
  private readonly prefix: string;
  private readonly keys: ClusterKeySpace;
  /** Nodes that serve no slots any more, with the timer that ends their connection. */
  private readonly retired = new Map<ClusterNode, NodeJS.Timeout>();
  private clientId = '';
  private events: LockBackendEvents | undefined;

  constructor(private readonly options: ClusterBackendOptions) {
    const { cluster, keyPrefix = defaults.keyPrefix, commandTimeout, poll } = options;
    this.commandTimeout = commandTimeout ?? defaults.commandTimeout;
    this.poll = poll ?? defaults.poll;
    this.access = readCluster(cluster);
    this.prefix = this.access.keyPrefix + keyPrefix;
    this.keys = clusterKeySpace(this.prefix, options.format?.(this.prefix).keys);
    this.map = new SlotMap(this.access, this.commandTimeout, {
      open: (address, home) => this.open(address, home),
      retire: (node) => this.retire(node),
    });
  }

  async start(clientId: string, events: LockBackendEvents): Promise<void> {
    this.clientId = clientId;
    this.events = events;
    await this.map.refresh();
    const failures: unknown[] = [];
    await Promise.all(
      [...this.map.nodes.values()].map(({ started }) => started.catch((error) => failures.push(error))),
    );
    // Errors that retries do not heal come first.
    if (failures.length > 0) throw failures.find((error) => error instanceof LockConfigurationError) ?? failures[0];
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.routed(request.name, request.giveUpAt, ({ backend }, again) => {
      if (again && !request.isWanted()) throw refusals.givenUp(request.name);
      return backend.acquire(request);
    });
  }

  release(claim: ReleaseRequest): Promise<ReleaseReply> {
    return this.routed(claim.name, this.soon, ({ backend }) => backend.release(claim));
  }

  async renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    const replies: RenewReply[] = holds.map(() => 'unanswered');
    const indexed = holds.map((hold, index) => ({ hold, index }));
    const slots = grouped(indexed, ({ hold }) => this.keys.slotOf(hold.name));
    const until = performance.now() + this.commandTimeout;
    let unanswered = await this.renewAt(slots, replies);
    // A node replied, but not for this slot: it has moved, and for a moment the nodes do not agree where it is.
    while (unanswered.size > 0 && performance.now() + transientPause < until) {
      await sleep(transientPause);
      await this.refreshMap().catch(() => undefined);
      unanswered = await this.renewAt(unanswered, replies);
    }
    return replies;
  }

  inspect(name: string, waiters: number): Promise<LockSnapshot> {
    return this.routed(name, this.soon, ({ backend }) => backend.inspect(name, waiters));
  }

  revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    return this.routed(name, this.soon, ({ backend }) => backend.revoke(name, holders));
  }

  adopt(request: AdoptRequest): Promise<AdoptReply> {
    return this.routed(request.name, request.giveUpAt, ({ backend }) => backend.adopt(request));
  }

  async *list(startsWith: string): AsyncGenerator<readonly string[]> {
    await this.refreshMap();
    for (const { backend } of [...this.map.nodes.values()]) yield* backend.list(startsWith);
  }

  report(report: ActivityReport): Promise<void> {
    return this.routedTo(this.activitySlot, undefined, this.soon, ({ backend }) => backend.report(report));
  }

  reports(most: number): Promise<ActivityReports> {
    return this.routedTo(this.activitySlot, undefined, this.soon, ({ backend }) => backend.reports(most));
  }

  nodeOf(name: string): unknown {
    return this.map.owner(this.keys.slotOf(name));
  }

  async examine(): Promise<readonly LockFinding[]> {
    return (await Promise.all([...this.map.nodes.values()].map(({ backend }) => backend.examine()))).flat();
  }

  /** Until it has reached the cluster: the addresses from its options. */
  availability(): Array<[server: string, isAvailable: boolean]> {
    const nodes = [...this.map.nodes.values()];
    return nodes.length > 0
      ? nodes.map(({ address, usable }) => [address, usable])
      : this.access.seeds.map((address) => [address, false]);
  }

  get isPolling(): boolean {
    return [...this.map.nodes.values()].some(({ backend }) => backend.isPolling);
  }

  async close(): Promise<void> {
    for (const timer of this.retired.values()) clearTimeout(timer);
    const nodes = [...this.map.nodes.values(), ...this.retired.keys()];
    await Promise.all([this.map.close(), ...nodes.map(({ backend }) => backend.close())]);
  }

  private open(address: string, home: number): ClusterNode {
    const { keyPrefix, observes = false, log } = this.options;
    const format = this.options.format?.(this.prefix);
    const node: ClusterNode = new ClusterNode(
      address,
      home,
      {
        redis: this.access.optionsFor(address),
        ...(keyPrefix !== undefined && { keyPrefix }),
        commandTimeout: this.commandTimeout,
        poll: this.poll,
        observes,
        log,
      },
      format ? clusterKeySpace(this.prefix, format.keys) : this.keys,
      () => this.map.watch(),
      format,
    );
    node.start(this.clientId, {
      granted: (grant) => {
        // A node that was replaced may still grant locks: the node that serves the slot now must confirm it.
        const certain = this.nodeOf(grant.name) === node;
        this.events?.granted(certain ? grant : { ...grant, validUntil: undefined });
      },
      revoked: (claim) => this.events?.revoked?.(claim),
      freeAt: (claim, at) => this.events?.freeAt?.(claim, at),
      recovered: (what, concerns = (name) => this.nodeOf(name) === node) => this.events?.recovered(what, concerns),
    });
    return node;
  }

  /** Its connection ends when no command can be under way to it any more. */
  private retire(node: ClusterNode): void {
    if (!node.usable) this.options.log.log(redisLines.replaced(node.address));
    const end = (): void => void node.backend.close().finally(() => this.retired.delete(node));
    const timer = setTimeout(end, Math.min(longestTimer, 2 * this.commandTimeout)).unref();
    this.retired.set(node, timer);
  }

  private get activitySlot(): number {
    return slotOfKey(this.keys.activity);
  }

  private get soon(): number {
    return performance.now() + this.commandTimeout;
  }

  private routed<T>(name: string, until: number, call: (node: ClusterNode, again: boolean) => Promise<T>): Promise<T> {
    return this.routedTo(this.keys.slotOf(name), name, until, call);
  }

  /** @param until local ms until which transient errors are worth another try */
  private async routedTo<T>(
    slot: number,
    name: string | undefined,
    until: number,
    call: (node: ClusterNode, again: boolean) => Promise<T>,
  ): Promise<T> {
    let node = this.map.owner(slot) ?? (await this.found(slot, name));
    for (let tries = 0; ; tries++) {
      try {
        return await call(node, tries > 0);
      } catch (error) {
        node = await this.follow(error, slot, node, tries < quickRedirections, until);
      }
    }
  }

  /** The next node to call. @throws the error itself, when no other node can help */
  private async follow(
    error: unknown,
    slot: number,
    node: ClusterNode,
    atOnce: boolean,
    until: number,
  ): Promise<ClusterNode> {
    if (!(error instanceof LockUnavailableError)) throw error;
    const [answer, , address] = ((error.cause as Error | undefined)?.message ?? '').split(' ');
    const soon = performance.now() + transientPause < until;
    if (answer === 'MOVED') {
      if (!atOnce && !soon) throw error;
      if (!atOnce) await sleep(transientPause);
      return this.map.moved(slot, address!, node);
    }
    // The keys are moving to another node: soon this one redirects.
    if (answer === 'ASK' || answer === 'TRYAGAIN' || answer === 'CLUSTERDOWN') {
      if (!soon) throw error;
      await sleep(transientPause);
      return this.map.owner(slot) ?? node;
    }
    if (answer !== '' && !error.uncertain) throw error;
    // The node did not reply.
    const other = soon ? await this.replacement(slot, node) : undefined;
    if (!other) throw error;
    return other;
  }

  /** The node that serves the slot now, in place of an unavailable one. */
  private async replacement(slot: number, node: ClusterNode): Promise<ClusterNode | undefined> {
    await this.refreshMap().catch(() => undefined);
    const owner = this.map.owner(slot);
    return owner === node ? undefined : owner;
  }

  /** Reads the map of slots, within `commandTimeout`. @throws when no node replies, or none may be asked */
  private async refreshMap(): Promise<void> {
    const over = new AbortController();
    const late = sleep(this.commandTimeout, undefined, over).catch(() => undefined);
    await Promise.race([this.map.refresh(), late]).finally(() => over.abort());
  }

  private async found(slot: number, name: string | undefined): Promise<ClusterNode> {
    await this.refreshMap();
    const node = this.map.owner(slot);
    if (!node) throw redisRefusals.notConnected(name, this.access.seeds.join(', '), '');
    return node;
  }

  private async renewAt(
    slots: ReadonlyMap<number, IndexedHold[]>,
    replies: RenewReply[],
  ): Promise<Map<number, IndexedHold[]>> {
    const unanswered = new Map<number, IndexedHold[]>();
    const byNode = grouped([...slots.keys()], (slot) => this.map.owner(slot));
    await Promise.all(
      [...byNode].map(async ([node, served]) => {
        if (!node) return;
        const asked: Array<Promise<RenewReply[]>> = [];
        // One packet for all commands.
        node.backend.connection.together(() => {
          for (const slot of served) asked.push(node.backend.renew(slots.get(slot)!.map(({ hold }) => hold)));
        });
        const answers = await Promise.all(asked);
        served.forEach((slot, position) => {
          const answer = answers[position]!;
          slots.get(slot)!.forEach(({ index }, position) => (replies[index] = answer[position]!));
          // The node replied, but not for this slot: another one may serve it now.
          if (answer.includes('unanswered') && node.usable) unanswered.set(slot, slots.get(slot)!);
        });
      }),
    );
    return unanswered;
  }
}

/** A hold, and the index of its reply. */
interface IndexedHold {
  readonly hold: RenewRequest;
  readonly index: number;
}

function grouped<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
