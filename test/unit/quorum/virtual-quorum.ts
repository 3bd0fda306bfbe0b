import { MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { QuorumBackend, type QuorumBackendOptions } from '../../../lib/backends/quorum/index.js';
import { LockClient } from '../../../lib/core/lock-client.js';
import type { LockHandle } from '../../../lib/core/lock-handle.js';
import { type LockOptions, lockDefaults, resolveOptions } from '../../../lib/core/options.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';
import { KeptLog } from '../../support/kept-log.js';
import { FaultyNode } from './faulty-node.js';

/** N servers in virtual time, and clients that each see them over lines of their own. */
export class VirtualQuorum {
  readonly clock = new VirtualClock();
  readonly servers: MemoryLockServer[];
  readonly clients: QuorumClient[] = [];

  constructor(
    size: number,
    private readonly options: Partial<QuorumBackendOptions> = {},
  ) {
    this.servers = Array.from({ length: size }, () => new MemoryLockServer({ clock: this.clock }));
  }

  /** One more client, started: what it cannot reach by then it does not know. */
  async join(options: Partial<QuorumBackendOptions> = {}): Promise<QuorumClient> {
    const client = this.client(options);
    await client.client.start();
    return client;
  }

  client(options: Partial<QuorumBackendOptions> = {}): QuorumClient {
    const nodes = this.servers.map((server, position) => new FaultyNode(server, `node-${position + 1}`));
    const client = new QuorumClient(nodes, { ...this.options, ...options });
    this.clients.push(client);
    return client;
  }

  /** Who holds the votes of the name, one entry a node. */
  holders(name: string): Array<string | undefined> {
    return this.servers.map((server) => server.inspect(name).holder?.client);
  }
}

export class QuorumClient {
  readonly log = new KeptLog();
  readonly backend: QuorumBackend;
  readonly client: LockClient;

  constructor(
    readonly nodes: readonly FaultyNode[],
    options: Partial<QuorumBackendOptions>,
  ) {
    this.backend = new QuorumBackend({ nodes, log: this.log, random: () => 0.5, ...options });
    const settings = { defaults: lockDefaults, maxWaiters: 1000, maxLocalHandoffs: 16 };
    this.client = new LockClient(this.backend, settings, this.log);
  }

  acquire(name: string, options: LockOptions = {}): Promise<LockHandle> {
    return this.client.acquire(name, resolveOptions(options, lockDefaults));
  }

  /** Everything that reached a node, over all nodes. */
  get calls(): string[] {
    return this.nodes.flatMap(({ calls }) => calls);
  }
}
