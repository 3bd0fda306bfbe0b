import { MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { QuorumBackend, type QuorumBackendOptions } from '../../../lib/backends/quorum/quorum-backend.js';
import { exclusive } from '../../../lib/core/lock-backend.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { Member } from '../../../conformance/member.js';
import { FaultyNode } from './faulty-node.js';

/** From now on the tokens of a server are ahead of its clock, as if a token of a server with a faster clock was stored here. */
export function runAhead({ table }: MemoryLockServer, by: number): void {
  const place = { name: 'other', id: 'x:0', lease: 1, reserve: 0 };
  const grant = table.acquire({ ...exclusive, ...place, patience: 0 });
  if (grant.status !== 'granted') throw new Error(grant.status);
  const { fencingToken } = grant;
  table.renew({ ...place, fencingToken, least: fencingToken + by });
}

/** N servers in virtual time, and clients that each have their own links to them. */
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

  /** One more client, started: it does not know the nodes that it cannot reach by then. */
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

  /** The claims with the votes of the name, one entry a node. */
  holders(name: string): Array<string | undefined> {
    return this.servers.map((server) => server.inspect(name).holders[0]?.client);
  }
}

export class QuorumClient extends Member<QuorumBackend> {
  constructor(
    readonly nodes: readonly FaultyNode[],
    options: Partial<QuorumBackendOptions>,
  ) {
    const log = new KeptLog();
    super(new QuorumBackend({ nodes, log, random: () => 0.5, ...options }), log);
  }

  /** All commands that reached the nodes. */
  get calls(): string[] {
    return this.nodes.flatMap(({ calls }) => calls);
  }
}
