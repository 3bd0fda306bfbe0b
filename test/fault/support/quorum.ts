import { KeptLog } from '../../../conformance/kept-log.js';
import { Member } from '../../../conformance/member.js';
import {
  LockHandle,
  QuorumBackend,
  type QuorumBackendOptions,
  quorumClaimId,
  RedisBackend,
} from '../../support/backends.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { type Holder, ServerView } from './server-view.js';

type QuorumLockerOptions = Partial<Omit<QuorumBackendOptions, 'log' | 'nodes'>> & {
  nodeTimeout?: number;
  poll?: number;
};

/** Independent real Redis servers, and the test's own connection to each of them. */
export class Quorum {
  private readonly lockers: QuorumLocker[] = [];

  private constructor(
    readonly servers: readonly RedisServer[],
    readonly views: readonly ServerView[],
  ) {}

  static async of(size: number): Promise<Quorum> {
    const servers = await Promise.all(Array.from({ length: size }, () => startRedis()));
    return new Quorum(servers, await Promise.all(servers.map((server) => ServerView.of(server))));
  }

  get urls(): string[] {
    return this.servers.map(({ url }) => url);
  }

  /** A lock client on these servers, or on other addresses of them. */
  async join(options: QuorumLockerOptions = {}, urls: readonly string[] = this.urls): Promise<QuorumLocker> {
    const locker = new QuorumLocker(urls, options);
    this.lockers.push(locker);
    return locker.start();
  }

  /** The claim that has the vote of each running server. */
  async votes(name: string): Promise<Array<Holder | undefined>> {
    return Promise.all(
      this.views.map((view, position) => (this.servers[position]!.isRunning ? view.holder(name) : undefined)),
    );
  }

  /** How many of the servers have voted for this claim, under any of its ids. */
  async votesFor(name: string, lock: LockHandle): Promise<number> {
    const { id: claim } = LockHandle.holdOf(lock).claim;
    const votes = await this.votes(name);
    return votes.filter((vote) => vote && quorumClaimId(vote.claim) === claim).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.lockers.map((locker) => locker.close()));
    await Promise.all(this.views.map((view) => view[Symbol.asyncDispose]()));
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}

/** One lock client in the test's own process. */
export class QuorumLocker extends Member<QuorumBackend> {
  constructor(urls: readonly string[], { nodeTimeout = 2_000, poll = 60_000, ...tuning }: QuorumLockerOptions) {
    const log = new KeptLog();
    const node = { uptime: tuning.restartGuard !== undefined };
    const nodes = urls.map((redis) => new RedisBackend({ redis, commandTimeout: nodeTimeout, poll, node, log }));
    super(new QuorumBackend({ ...tuning, nodes, log }), log);
  }
}
