import { expect } from '@jest/globals';
import { Redis } from 'ioredis';
import { keySpace, scripts } from '../../support/backends.js';
import { type MonitoredCommand, MonitorLink } from '../../support/monitor-link.js';
import type { RedisServer } from '../../support/redis-server.js';
import { until } from './conditions.js';

/** The library's keys with its default prefix. */
export const keys = keySpace('lock:');

export interface Holder {
  readonly claim: string;
  readonly token: number;
  /** Server time in ms. */
  readonly expiry: number;
  readonly state: string;
}

/** A test's own, direct connection to its server. The library does not use it. */
export class ServerView {
  readonly redis: Redis;

  private constructor(readonly server: Pick<RedisServer, 'port'>) {
    this.redis = new Redis({ port: server.port, retryStrategy: () => 20, maxRetriesPerRequest: null });
    this.redis.on('error', () => undefined);
  }

  static async of(server: Pick<RedisServer, 'port'>): Promise<ServerView> {
    const view = new ServerView(server);
    await view.redis.ping();
    return view;
  }

  /** Who holds a lock, as the server sees it. */
  async holder(name: string): Promise<Holder | undefined> {
    const record = await this.redis.get(keys.forLock(name)[0]);
    if (record === null) return undefined;
    const [claim, token, expiry, state] = record.split(' ') as [string, string, string, string];
    return { claim, token: Number(token), expiry: Number(expiry), state };
  }

  /** Claims in the queue of a lock, oldest first. */
  async queue(name: string): Promise<string[]> {
    return this.redis.zrange(keys.forLock(name)[1], 0, '-1');
  }

  /** Waits until that many claims are in the queue and each of their clients is subscribed. */
  async queued(name: string, count: number): Promise<string[]> {
    return until(`${count} waiters of ${name}`, async () => {
      const claims = await this.queue(name);
      if (claims.length !== count) return undefined;
      for (const claim of claims) if ((await this.listeners(claim)) === 0) return undefined;
      for (const claim of claims) if ((await this.standing(name, claim)) !== 'listening') return undefined;
      return claims;
    });
  }

  /** What the server last knew of a waiter: listening, polling or unreachable. */
  async standing(name: string, claim: string): Promise<string | undefined> {
    const [, queue, waiters] = keys.forLock(name);
    if (Number(await this.redis.zscore(queue, claim)) < 0) return 'unreachable';
    return (await this.redis.hget(waiters, claim))?.split(' ')[5];
  }

  /** Returns whether the queue of a lock will expire, and if so removes it now, so that no test waits for it. */
  async expireQueue(name: string): Promise<boolean> {
    const [, ...queue] = keys.forLock(name);
    const rests = await Promise.all(queue.map((key) => this.redis.pttl(key)));
    await this.redis.del(...queue);
    return rests.every((rest) => rest > 0 || rest === -2);
  }

  /** How many connections of this server listen for grants to the client of a claim. */
  async listeners(claim: string): Promise<number> {
    const [, count] = (await this.redis.pubsub('NUMSUB', keys.channels + claim.split(':')[0]!)) as [string, number];
    return count;
  }

  /** Calls of one command since the server started: INFO commandstats. */
  async calls(command: string): Promise<number> {
    const stats = await this.redis.info('commandstats');
    return Number(new RegExp(`^cmdstat_${command.replace('|', '\\|')}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  }

  /** Connections that the server has accepted so far. */
  async connections(): Promise<number> {
    return Number(/^total_connections_received:(\d+)/m.exec(await this.redis.info('stats'))![1]);
  }

  async now(): Promise<number> {
    const [seconds, micros] = (await this.redis.time()) as unknown as [string, string];
    return Number(seconds) * 1e6 + Number(micros);
  }

  /** G9 and I4 at the server: no connection but ours, and no key but the register, which expires within the guard window. */
  async expectNothingLeft(guard = 60_000): Promise<void> {
    const own = await this.redis.client('ID');
    await until('every connection of the library is closed', async () => {
      const list = (await this.redis.client('LIST')) as string;
      const others = list.split('\n').filter((line) => line !== '' && !line.startsWith(`id=${own} `));
      // Monitors (O), replicas (S) and sentinels are the test's.
      return others.every((line) => / cmd=monitor | flags=[OS] | name=sentinel-/.test(line));
    });
    const left = (await this.redis.keys('*')).filter((key) => key !== keys.register && !key.startsWith('filler:'));
    // The next test must not fail because of this one.
    if (left.length > 0) await this.redis.del(left);
    expect(left).toEqual([]);
    const rest = await this.redis.pttl(keys.register);
    expect(rest === -2 || (rest > 0 && rest <= guard)).toBe(true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.redis.disconnect();
  }
}

interface ScriptRun {
  /** Server time in ms. */
  readonly at: number;
  readonly script: string;
  readonly claim: string;
}

/** A claim's id: its client (128 random bits, host, process), then a counter with a secret, and perhaps a method. */
const CLAIM = /^[\w-]{22}\.[\w.$-]+\.\d+:[\da-z]+\.[\w-]{11}(:\S+)?$/;

/** Every claim that a script of the library is run for from now on, in the server's order, and everything that scripts publish: MONITOR. */
export class Monitor {
  readonly runs: ScriptRun[] = [];
  /** Claims that were granted by a message, in order. */
  readonly published: string[] = [];
  #marks = 0;
  #seen = 0;
  #link!: MonitorLink;
  readonly #names = new Map<string, string>(Object.entries(scripts).map(([name, { sha1 }]) => [sha1, name]));

  private constructor(private readonly view: ServerView) {}

  static async of(view: ServerView): Promise<Monitor> {
    const monitor = new Monitor(view);
    monitor.#link = await MonitorLink.open(view.server.port, (command) => monitor.#see(command));
    return monitor;
  }

  #see({ time, words: [command, ...rest] }: MonitoredCommand): void {
    if (/^eval(sha)?$/i.test(command!)) {
      // One command may carry several claims.
      const script = this.#names.get(rest[0]!) ?? command!;
      for (const claim of rest.flatMap((arg) => arg.split(' ')).filter((word) => CLAIM.test(word)))
        this.runs.push({ at: time * 1000, script, claim });
    } else if (command === 'PUBLISH') {
      this.published.push(rest[1]!.split(' ')[0]!);
    } else if (command === 'echo' && rest[0] === 'mark') {
      this.#seen += 1;
    }
  }

  /** Waits until everything that the server has run up to now is in `runs`. */
  async sync(): Promise<void> {
    this.#marks += 1;
    await this.view.redis.echo('mark');
    await until('the monitor has read everything', () => this.#seen >= this.#marks);
  }

  /** The scripts that ran since `from`, as 'acquire', 'release', … */
  since(from: number): string[] {
    return this.runs.slice(from).map(({ script }) => script);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#link[Symbol.dispose]();
  }
}
