import { Redis, type RedisOptions } from 'ioredis';
import { type RedisServer, startRedis } from './redis-server.js';

/** The name of the master, as sentinels and clients call it. */
const masterName = 'locks';

/**
 * Shorter pauses between what sentinels do by themselves, and no TILT when the machine stands still for a while. During a failover they
 * check servers once a second, with any of these settings: they use no replica that they have not checked for three of these periods, and
 * undo a promotion that was not published within four. So there is a limit to haste.
 */
const pace = {
  'info-period': 500,
  'ask-period': 50,
  'publish-period': 500,
  'tilt-trigger': 60_000,
  'min-link-reconnect-period': 50,
};

/** Long enough (ms) that no sentinel takes a busy machine for a dead master; a test that needs a failover sets less. */
const never = 600_000;

interface SentinelGroupOptions {
  /** @default 2 */
  replicas?: number;
  /** @default 3 */
  sentinels?: number;
  /** Of the master, and of its sentinels: two different ones. @default none */
  passwords?: { readonly master: string; readonly sentinels: string };
}

/** One master, its replicas and sentinels on free ports. */
export class SentinelGroup {
  private constructor(
    readonly servers: readonly RedisServer[],
    readonly sentinels: readonly RedisServer[],
    private readonly passwords: SentinelGroupOptions['passwords'],
  ) {}

  static async start({ replicas = 2, sentinels = 3, passwords }: SentinelGroupOptions = {}): Promise<SentinelGroup> {
    const args = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
    if (passwords) args.push('--requirepass', passwords.master);
    const config = passwords && `requirepass ${passwords.sentinels}`;
    const master = await startRedis({ args });
    const follow = ['--replicaof', master.host, String(master.port), ...args];
    const group = new SentinelGroup(
      [master, ...(await Promise.all(Array.from({ length: replicas }, () => startRedis({ args: follow }))))],
      await Promise.all(Array.from({ length: sentinels }, () => startRedis({ sentinel: true, config }))),
      passwords,
    );
    for (const sentinel of group.sentinels) {
      await group.ask(sentinel, 'SENTINEL', 'DEBUG', ...Object.entries(pace).flat());
      await group.ask(sentinel, 'SENTINEL', 'MONITOR', masterName, master.host, master.port, Math.min(2, sentinels));
      if (passwords) await group.ask(sentinel, ...group.set('auth-pass', passwords.master));
      await group.ask(sentinel, ...group.set('failover-timeout', 3000));
      await group.ask(sentinel, ...group.set('down-after-milliseconds', never));
    }
    await group.settled();
    return group;
  }

  /** How clients reach the master. */
  get connection(): RedisOptions {
    return {
      sentinels: this.sentinels.map(({ host, port }) => ({ host, port })),
      name: masterName,
      password: this.passwords?.master,
      sentinelPassword: this.passwords?.sentinels,
    };
  }

  /** The master, as the sentinels see it. */
  async master(): Promise<RedisServer> {
    const [, port] = (await this.ask(
      this.sentinels[0]!,
      'SENTINEL',
      'GET-MASTER-ADDR-BY-NAME',
      masterName,
    )) as string[];
    return this.servers.find((server) => server.port === Number(port))!;
  }

  /** Waits until all servers know each other, and every running server but the master follows it. */
  async settled(): Promise<void> {
    const alive = this.servers.filter(({ isRunning }) => isRunning).length;
    for (const sentinel of this.sentinels) {
      await this.until(async () => {
        const state = pairs(await this.ask(sentinel, 'SENTINEL', 'MASTER', masterName));
        return (
          Number(state['num-slaves']) >= alive - 1 && Number(state['num-other-sentinels']) === this.sentinels.length - 1
        );
      });
    }
    const master = await this.master();
    await this.until(async () => {
      const info = String(await this.ask(master, 'INFO', 'replication'));
      return info.includes('role:master') && info.split('state=online').length === alive;
    });
  }

  /** A sentinel detects by itself that the master does not respond. Resolves when all agree on another one. */
  async masterLost(): Promise<RedisServer> {
    for (const sentinel of this.sentinels) sentinel.resume();
    const before = await this.master();
    // One of them asks for the votes: three that do so at once may split them, and try again much later.
    const [first] = this.sentinels;
    await this.ask(first!, ...this.set('quorum', 1));
    await this.ask(first!, ...this.set('down-after-milliseconds', 300));
    const after = await this.promoted(before);
    await this.ask(first!, ...this.set('down-after-milliseconds', never));
    return after;
  }

  /** A failover by an administrator: the old master runs, and goes on for a while. */
  async failover(): Promise<RedisServer> {
    const before = await this.master();
    await this.ask(this.sentinels[0]!, 'SENTINEL', 'FAILOVER', masterName);
    return this.promoted(before);
  }

  /**
   * From now on the sentinels leave a master alone that they have replaced and that lives: it goes on as one. (They look whether
   * it still says so four publishing periods later, and one of these is now a minute.)
   */
  async leaveOldMaster(): Promise<void> {
    for (const sentinel of this.sentinels) await this.ask(sentinel, 'SENTINEL', 'DEBUG', 'publish-period', 60_000);
  }

  /** What is written from now on is on no replica, and gone when the master is. The sentinels stand still until `masterLost`. */
  async cutReplicas(): Promise<void> {
    const master = await this.master();
    for (const sentinel of this.sentinels) sentinel.pause();
    for (const server of this.servers) if (server !== master) await this.ask(server, 'REPLICAOF', 'NO', 'ONE');
  }

  /** This replica is not promoted. */
  async exclude(replica: RedisServer): Promise<void> {
    await this.ask(replica, 'CONFIG', 'SET', 'replica-priority', 0);
    for (const sentinel of this.sentinels) {
      await this.until(async () => {
        const replicas = (await this.ask(sentinel, 'SENTINEL', 'REPLICAS', masterName)) as unknown[];
        return replicas
          .map(pairs)
          .some((state) => state['port'] === String(replica.port) && state['slave-priority'] === '0');
      });
    }
  }

  /** Ends the cut of one replica: it has all that the master has when this resolves. */
  async follow(replica: RedisServer, master: RedisServer): Promise<void> {
    await this.ask(replica, 'REPLICAOF', master.host, master.port);
    await this.until(async () =>
      String(await this.ask(replica, 'INFO', 'replication')).includes('master_link_status:up'),
    );
  }

  private async promoted(before: RedisServer): Promise<RedisServer> {
    for (const sentinel of this.sentinels) {
      await this.until(async () => {
        const [, port] = (await this.ask(sentinel, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName)) as string[];
        return Number(port) !== before.port;
      });
    }
    return this.master();
  }

  private set(option: string, value: number | string): [string, ...string[]] {
    return ['SENTINEL', 'SET', masterName, option, String(value)];
  }

  /** One command on a connection of its own. */
  private async ask(server: RedisServer, command: string, ...args: Array<string | number>): Promise<unknown> {
    const password = this.passwords?.[this.sentinels.includes(server) ? 'sentinels' : 'master'];
    const redis = new Redis({ port: server.port, password, enableReadyCheck: false });
    try {
      return await redis.call(command, ...args);
    } finally {
      redis.disconnect();
    }
  }

  private async until(condition: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + 15_000;
    while (!(await condition())) {
      if (performance.now() > end) throw new Error('the sentinels did not get there');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server.stop()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function pairs(reply: unknown): Record<string, string> {
  const state: Record<string, string> = {};
  const words = reply as string[];
  for (let index = 0; index < words.length; index += 2) state[words[index]!] = words[index + 1]!;
  return state;
}
