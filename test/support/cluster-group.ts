import { Redis, type RedisOptions } from 'ioredis';
import { slotCount } from '../../lib/backends/redis/cluster/slots.js';
import type { RedisClusterOptions } from '../../lib/backends/redis/index.js';
import { type RedisServer, startRedis } from './redis-server.js';

/**
 * Half of this (ms) passes between two words of a node to another. Short while they get to know each other; then so long that none takes
 * a busy machine for a dead node. Failovers are the tests' own doing.
 */
const nodeTimeout = { first: 1000, later: 60_000 };

/** A Redis Cluster of three masters with a replica each, on free ports. */
export class ClusterGroup {
  private readonly admins = new Map<RedisServer, Redis>();

  private constructor(
    readonly masters: readonly RedisServer[],
    readonly replicas: readonly RedisServer[],
  ) {}

  static async start(options: { acl?: string; args?: string[] } = {}): Promise<ClusterGroup> {
    const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeout.first)];
    args.push(
      '--cluster-replica-no-failover',
      'yes',
      '--repl-diskless-sync-delay',
      '0',
      '--repl-ping-replica-period',
      '1',
      ...(options.args ?? []),
    );
    const acl = options.acl === undefined ? {} : { acl: options.acl };
    const servers = await Promise.all(Array.from({ length: 6 }, () => startRedis({ args, ...acl })));
    const group = new ClusterGroup(servers.slice(0, 3), servers.slice(3));
    await group.join();
    return group;
  }

  get servers(): RedisServer[] {
    return [...this.masters, ...this.replicas];
  }

  /** How clients reach it. */
  get connection(): RedisClusterOptions {
    return { nodes: this.servers.map(({ host, port }) => ({ host, port })) };
  }

  /** A user that no message reaches. */
  readonly pollingUser = { username: 'polling', password: 'polling' };

  /** The test's own, direct connection to a node: it follows no redirection. */
  admin(server: RedisServer): Redis {
    let admin = this.admins.get(server);
    if (!admin) {
      const options: RedisOptions = { retryStrategy: () => 20, maxRetriesPerRequest: null, enableReadyCheck: false };
      admin = new Redis({ ...options, port: server.port });
      admin.on('error', () => undefined);
      this.admins.set(server, admin);
    }
    return admin;
  }

  /** The node that serves a slot, by its own report. */
  async ownerOf(slot: number): Promise<RedisServer> {
    for (const server of this.servers) {
      if (!server.isRunning) continue;
      const own = String(await this.admin(server).cluster('NODES'))
        .split('\n')
        .find((line) => line.includes('myself,master'));
      const ranges = own?.split(' ').slice(8) ?? [];
      const serves = ranges.some((range) => {
        const [first, last = first] = range.split('-').map(Number);
        return slot >= first! && slot <= last!;
      });
      if (serves) return server;
    }
    throw new Error(`no node serves slot ${slot}`);
  }

  /** The replica of a master, when both report it. */
  async replicaOf(master: RedisServer): Promise<RedisServer> {
    const lines = (await this.admin(master).info('replication')).split('\r\n');
    const port = /port=(\d+)/.exec(lines.find((line) => line.startsWith('slave0:')) ?? '')?.[1];
    return this.servers.find((server) => server.port === Number(port))!;
  }

  /** Gives a slot with all its keys from one master to another; `inBetween` runs while they are on their way. */
  async move(slot: number, to: RedisServer, inBetween: () => Promise<void> = async () => {}): Promise<void> {
    const from = await this.ownerOf(slot);
    const [source, target] = [this.admin(from), this.admin(to)];
    await target.cluster('SETSLOT', slot, 'IMPORTING', await this.idOf(from));
    await source.cluster('SETSLOT', slot, 'MIGRATING', await this.idOf(to));
    const keys = await source.cluster('GETKEYSINSLOT', slot, 100);
    // One before, the others after: a lock is in both places.
    const send = (some: string[]): Promise<unknown> =>
      source.call('MIGRATE', to.host, to.port, '', 0, 5000, 'KEYS', ...some);
    if (keys.length > 0) await send(keys.slice(0, 1));
    await inBetween();
    const rest = await source.cluster('GETKEYSINSLOT', slot, 100);
    if (rest.length > 0) await send(rest);
    const id = await this.idOf(to);
    for (const server of [to, from]) await this.admin(server).cluster('SETSLOT', slot, 'NODE', id);
  }

  /** A replica takes the place of its master by force, as after an election. */
  async takeOver(replica: RedisServer): Promise<void> {
    await this.admin(replica).cluster('FAILOVER', 'TAKEOVER');
    await this.until(async () => (await this.admin(replica).info('replication')).includes('role:master'));
  }

  /** Restarts a killed server as a replica of its successor, and waits until it has all data. */
  async rejoin(server: RedisServer): Promise<void> {
    if (!server.isRunning) await server.restart();
    await this.until(async () =>
      /role:slave[^]*master_link_status:up/.test(await this.admin(server).info('replication')),
    );
  }

  idOf(server: RedisServer): Promise<string> {
    return this.admin(server).cluster('MYID');
  }

  /** Waits until every running node knows the owner of a slot. */
  async agreed(slot: number, owner: RedisServer): Promise<void> {
    const id = await this.idOf(owner);
    for (const server of this.servers) {
      if (!server.isRunning) continue;
      await this.until(async () => {
        const lines = String(await this.admin(server).cluster('NODES')).split('\n');
        const ranges =
          lines
            .find((line) => line.startsWith(id))
            ?.split(' ')
            .slice(8) ?? [];
        return ranges.some((range) => {
          const [first, last = first] = range.split('-').map(Number);
          return slot >= first! && slot <= last!;
        });
      });
    }
  }

  private async join(): Promise<void> {
    const { username, password } = this.pollingUser;
    for (const server of this.servers) {
      const rules = ['~*', '&*', '+@all', '-subscribe', '-ssubscribe'];
      await this.admin(server).acl('SETUSER', username, 'on', `>${password}`, ...rules);
    }
    const share = Math.ceil(slotCount / this.masters.length);
    await Promise.all(
      this.masters.map(async (master, index) => {
        const last = Math.min((index + 1) * share, slotCount) - 1;
        await this.admin(master).call('CLUSTER', 'ADDSLOTSRANGE', index * share, last);
        await this.admin(master).cluster('SET-CONFIG-EPOCH', index + 1);
      }),
    );
    // Every node gets the address of every other: gossip would take seconds.
    for (const server of this.servers) {
      for (const other of this.servers) {
        if (server.port < other.port) await this.admin(server).cluster('MEET', other.host, other.port);
      }
    }
    for (const server of this.servers) {
      await this.until(async () => {
        const nodes = String(await this.admin(server).cluster('NODES'))
          .trim()
          .split('\n');
        return nodes.length === 6 && !nodes.some((line) => line.includes('handshake'));
      });
    }
    for (const [index, replica] of this.replicas.entries()) {
      await this.admin(replica).cluster('REPLICATE', await this.idOf(this.masters[index]!));
    }
    for (const server of this.servers) {
      await this.until(async () => {
        const info = String(await this.admin(server).cluster('INFO'));
        return info.includes('cluster_state:ok') && info.includes(`cluster_slots_assigned:${slotCount}`);
      });
    }
    for (const replica of this.replicas) {
      await this.until(async () =>
        String(await this.admin(replica).info('replication')).includes('master_link_status:up'),
      );
    }
    for (const server of this.servers) {
      await this.until(async () => {
        const shards = (await this.admin(server).cluster('SLOTS')) as unknown[][];
        return shards.every((shard) => shard.length === 4);
      });
      await this.admin(server).config('SET', 'cluster-node-timeout', nodeTimeout.later);
    }
  }

  async until(condition: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + 20_000;
    while (!(await condition())) {
      if (performance.now() > end) throw new Error('the cluster did not get there');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async stop(): Promise<void> {
    for (const admin of this.admins.values()) admin.disconnect();
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
