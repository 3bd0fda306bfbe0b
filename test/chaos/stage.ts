import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { keySpace } from '../../lib/backends/redis/keys.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { Contender, type ContenderOptions, monotonic, poll } from './contender.js';
import type { Happening } from './history.js';
import { names } from './programme.js';
import { Resources } from './resources.js';

export interface StageOptions {
  readonly seed: number;
  readonly processes: number;
  /** Callers in each of them. */
  readonly flows: number;
  /** The directory of the records of all processes; emptied first. */
  readonly directory: string;
  /** Takes a protection away, so that the run can be seen to notice. */
  readonly broken?: ContenderOptions['broken'];
}

/** A place for one process after another, with a link of its own to Redis. */
export interface Slot {
  readonly number: number;
  readonly proxy: TcpProxy;
  contender: Contender;
  starts: number;
}

const keys = keySpace('lock:');

/** A Redis, processes that contend for its locks, the resources that they touch, and the record of what happens. */
export class Stage {
  readonly slots: Slot[] = [];
  /** Who wants to know who begins to work under the first lock. */
  #lookouts: Array<(holder: Slot) => void> = [];
  readonly #resources = new Resources();
  /** What happened here; the processes keep their own books. */
  readonly #history: Happening[] = [];

  private constructor(
    readonly server: RedisServer,
    /** Not through a proxy, and never without a server for long. */
    readonly admin: Redis,
    readonly options: StageOptions,
  ) {}

  static async set(options: StageOptions): Promise<Stage> {
    rmSync(options.directory, { recursive: true, force: true });
    mkdirSync(options.directory, { recursive: true });
    // What was written is there after a crash of Redis (not of the machine): only `restart-empty` loses it.
    const server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'no'] });
    const admin = new Redis({
      ...{ port: server.port, retryStrategy: () => 20, maxRetriesPerRequest: null },
      // No fault lasts as long.
      commandTimeout: 20_000,
    });
    admin.on('error', () => undefined);
    const stage = new Stage(server, admin, options);
    for (let number = 0; number < options.processes; number++) {
      const proxy = await TcpProxy.to(server.port);
      const contender = stage.#contender(number, 1, proxy);
      stage.slots.push({ number, proxy, contender, starts: 1 });
    }
    await Promise.all(stage.slots.map(({ contender }) => contender.working));
    return stage;
  }

  readonly record = (happening: Happening): void => void this.#history.push(happening);

  /** Where the next holder of the first lock runs, at the moment at which its work begins; undefined when none comes within so many ms. */
  async nextHolder(within: number): Promise<Slot | undefined> {
    let stop: NodeJS.Timeout | undefined;
    const nobody = new Promise<undefined>((resolve) => (stop = setTimeout(() => resolve(undefined), within)));
    const somebody = new Promise<Slot>((resolve) => this.#lookouts.push(resolve));
    const holder = await Promise.race([somebody, nobody]);
    clearTimeout(stop);
    return holder;
  }

  /** Another process takes the place of one that has ended. */
  start(slot: Slot): void {
    slot.starts += 1;
    slot.contender = this.#contender(slot.number, slot.starts, slot.proxy);
  }

  /** Redis forgets a lock, or everything, in the course of `wipe`. */
  async wiped(wipe: () => Promise<unknown>, name?: string): Promise<void> {
    const from = monotonic();
    await wipe();
    // The same machine, so the same clock; to the next millisecond.
    this.record({ event: 'wiped', name, from, serverTime: (Date.now() + 1) * 1000 });
  }

  recordKey(name: string): string {
    return keys.forLock(name)[0];
  }

  /** After all faults: every flow takes every lock once, and leaves. Then nothing may be left. */
  async end(wait: number): Promise<void> {
    const contenders = this.slots.map(({ contender }) => contender);
    await Promise.all(contenders.map((contender) => contender.finish(wait)));
    await Promise.all(contenders.map((contender) => contender.leave()));
    await this.#lookWhatIsLeft();
  }

  /** Everything that happened, here and in the processes. */
  history(): Happening[] {
    const { directory } = this.options;
    const stage = `${this.#history.map((one) => JSON.stringify(one)).join('\n')}\n`;
    writeFileSync(join(directory, 'stage.ndjson'), stage);
    return readdirSync(directory)
      .filter((name) => name.endsWith('.ndjson'))
      .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1))
      .map((line) => JSON.parse(line) as Happening);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.slots.map(({ contender }) => contender.worker.kill()));
    await Promise.all(this.slots.map(({ proxy }) => proxy.close()));
    this.admin.disconnect();
    await this.server.stop();
  }

  #contender(number: number, starts: number, proxy: TcpProxy): Contender {
    const { seed, flows, directory, broken } = this.options;
    const label = `${number}.${starts}`;
    return new Contender(label, {
      ...{ seed, flows, broken, redis: proxy.url, log: join(directory, `${label}.ndjson`), record: this.record },
      touch: (touch) => {
        const touched = this.#resources.touch(touch, monotonic());
        if (touch.name === names[0] && touch.kind === 'read') {
          for (const tell of this.#lookouts.splice(0)) tell(this.slots[number]!);
        }
        this.record(touched);
        return touched;
      },
    });
  }

  async #lookWhatIsLeft(): Promise<void> {
    const own = await this.admin.client('ID');
    let connections = 0;
    // A connection that was broken is closed by the server when it has read so.
    for (let tries = 0; tries < 200; tries++) {
      const list = ((await this.admin.client('LIST')) as string).trim().split('\n');
      connections = list.filter((line) => !line.startsWith(`id=${own} `)).length;
      if (connections === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const left: string[] = [];
    for (const key of await this.admin.keys('*')) {
      const rest = await this.admin.pttl(key);
      // -2: it is gone already. Nothing lives longer than the register, or than a waiter that died.
      if (rest === -1 || rest > Math.max(60_000, 3 * poll)) left.push(`${key} (${rest} ms)`);
    }
    this.record({ event: 'left', keys: left, connections });
  }
}
