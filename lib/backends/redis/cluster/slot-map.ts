import type { Redis } from 'ioredis';
import { inRoot } from '../../../core/root-context.js';
import { createConnection, endConnection, openConnection } from '../redis-connection.js';
import { textOf, isRefused, toLockError } from '../redis-errors.js';
import { redisReasons, redisRefusals } from '../redis.messages.js';
import { UnexpectedReply } from '../replies.js';
import type { ClusterNode } from './cluster-node.js';
import type { ClusterAccess } from './cluster-options.js';
import { slotCount } from './slots.js';

/** Longest time (ms) to wait for the reply of a node without a connection. */
const longestVisit = 2000;
/** Nodes that are asked at once: one of them may be silent. */
const askedAtOnce = 3;
/** Pause (ms) between two requests. It doubles while a node stays unavailable. */
const pause = 100;
const longestPause = 1000;

/** A line of CLUSTER SLOTS: first and last slot, then the master and its replicas. */
type Shard = [number, number, ...Array<[string | null, number, ...unknown[]]>];

/** @throws UnexpectedReply */
function decodeSlots(reply: unknown): Shard[] {
  const isNode = (node: unknown): boolean => Array.isArray(node) && Number.isSafeInteger(node[1]);
  const isShard = (shard: unknown): boolean =>
    Array.isArray(shard) &&
    shard.length > 2 &&
    shard.slice(0, 2).every((slot) => Number.isSafeInteger(slot) && slot >= 0 && slot < slotCount) &&
    shard.slice(2).every(isNode);
  if (Array.isArray(reply) && reply.every(isShard)) return reply as Shard[];
  throw new UnexpectedReply('CLUSTER SLOTS', reply);
}

/** What the map needs from its user. */
interface SlotMapHost {
  open(address: string, home: number): ClusterNode;
  /** The node serves no slots any more. */
  retire(node: ClusterNode): void;
}

/** The node of each slot, as far as known. It is read at the start and while a node is unavailable, and corrected by redirections. */
export class SlotMap {
  /** All nodes with slots, by address. */
  readonly nodes = new Map<string, ClusterNode>();
  private owners: Array<ClusterNode | undefined> = [];
  /** Addresses of all nodes that were ever named, with replicas. */
  private readonly known: Set<string>;
  private readonly visitors = new Set<Redis>();
  private refreshing: Promise<void> | undefined;
  private refreshedAt = Number.NEGATIVE_INFINITY;
  private watchTimer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly access: ClusterAccess,
    private readonly commandTimeout: number,
    private readonly host: SlotMapHost,
  ) {
    this.known = new Set(access.seeds);
  }

  /** The node that serves the slot. Where none does: any node, which will redirect. Undefined while no node is known. */
  owner(slot: number): ClusterNode | undefined {
    return this.owners[slot] ?? this.nodes.values().next().value;
  }

  /** A node said that another one serves the slot. @param address without a host when it is the host of the node */
  moved(slot: number, address: string, by: ClusterNode): ClusterNode {
    const node = this.nodeAt(this.reached(address, by.address), slot);
    this.owners[slot] = node;
    // Other slots may have moved, too; by then the nodes have told each other.
    this.watch(longestPause);
    return node;
  }

  /**
   * Reads the map again. @throws LockUnavailableError when no node replies, LockConfigurationError when no node may, or when this is not a
   * cluster
   */
  refresh(): Promise<void> {
    if (this.closed) return Promise.reject(redisRefusals.notConnected(undefined, this.access.seeds.join(', '), ''));
    if (performance.now() - this.refreshedAt < pause) return Promise.resolve();
    this.refreshing ??= inRoot(() =>
      this.readSlots().finally(() => {
        this.refreshing = undefined;
        if (this.nodes.size === 0) this.watch(pause);
      }),
    );
    return this.refreshing;
  }

  /** Reads the map again and again while a node is unavailable: the cluster may replace it. */
  watch(delay = pause): void {
    if (this.watchTimer || this.closed) return;
    const again = (): void => {
      void this.refresh()
        .catch(() => undefined)
        .then(() => {
          this.watchTimer = undefined;
          const whole = this.nodes.size > 0 && [...this.nodes.values()].every(({ usable }) => usable);
          if (!whole) this.watch(Math.min(2 * delay, longestPause));
        });
    };
    this.watchTimer = inRoot(() => setTimeout(again, delay)).unref();
  }

  /** Stops reading; settles when its own connections are closed. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.watchTimer);
    await Promise.all([...this.visitors].map((visitor) => endConnection(visitor)));
  }

  private async readSlots(): Promise<void> {
    const connected = [...this.nodes.values()].filter(({ usable }) => usable);
    // Different nodes each time: one of them may be cut off from the rest, and not know what has changed.
    const some = shuffled(connected).slice(0, askedAtOnce);
    try {
      const answer = async ({ address, backend }: ClusterNode): Promise<void> =>
        this.take(await backend.connection.slots(), address);
      await Promise.any(some.map(answer));
    } catch {
      await this.visitAny();
    }
  }

  private async visitAny(): Promise<void> {
    try {
      await Promise.any([...this.known].map((address) => this.visit(address)));
    } catch (failure) {
      const { errors } = failure as AggregateError;
      const addresses = this.access.seeds.join(', ');
      if (errors.some((error: Error) => error.message.includes('cluster support disabled')))
        throw redisRefusals.noCluster(addresses);
      const refused = errors.find(isRefused) as unknown;
      if (refused) throw toLockError(refused, addresses);
      throw redisRefusals.notConnected(undefined, addresses, ` (${textOf(errors[0])})`);
    } finally {
      for (const visitor of this.visitors) void endConnection(visitor);
    }
  }

  private async visit(address: string): Promise<void> {
    const visitor = createConnection(this.access.optionsFor(address), this.commandTimeout);
    this.visitors.add(visitor);
    let lastError: unknown;
    visitor.on('error', (error) => (lastError = error));
    let stop: NodeJS.Timeout | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      stop = setTimeout(() => reject(redisReasons.noConnection(longestVisit)), longestVisit);
    });
    try {
      await Promise.race([openConnection(visitor), tooLong]);
      this.take(await Promise.race([visitor.cluster('SLOTS'), tooLong]), address);
    } catch (error) {
      throw lastError ?? error;
    } finally {
      clearTimeout(stop);
      this.visitors.delete(visitor);
      await endConnection(visitor);
    }
  }

  /** @param asked the node that replied: a node that does not know its own address leaves it out */
  private take(reply: unknown, asked: string): void {
    if (this.closed) return;
    const shards = decodeSlots(reply);
    if (shards.length === 0) throw redisReasons.noSlots();
    const owners: Array<ClusterNode | undefined> = Array.from({ length: slotCount });
    const serving = new Set<ClusterNode>();
    for (const [first, last, ...members] of shards) {
      const [master, ...replicas] = members.map(([name, port]) => this.reached(`${name ?? ''}:${port}`, asked));
      for (const replica of replicas) this.known.add(replica);
      const node = this.nodeAt(master!, first);
      node.home = first;
      serving.add(node);
      owners.fill(node, first, last + 1);
    }
    this.owners = owners;
    this.refreshedAt = performance.now();
    for (const [address, node] of this.nodes) {
      if (serving.has(node)) continue;
      this.nodes.delete(address);
      this.host.retire(node);
    }
  }

  private nodeAt(address: string, slot: number): ClusterNode {
    let node = this.nodes.get(address);
    if (!node) {
      node = this.host.open(address, slot);
      this.nodes.set(address, node);
      this.known.add(address);
    }
    return node;
  }

  private reached(address: string, asked: string): string {
    const colon = address.lastIndexOf(':');
    const host = address.slice(0, colon) || asked.slice(0, asked.lastIndexOf(':'));
    return this.access.reached(host + address.slice(colon));
  }
}

function shuffled<T>(items: T[]): T[] {
  return items
    .map((item) => [Math.random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}
