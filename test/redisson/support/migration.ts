import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient } from 'nestjs-redis-lock/client';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { forkWorker, type Worker } from '../../support/worker.js';
import { until } from './observations.js';
import { Peer, type PeerProgram, watchdog } from './peer.js';

type Version = 'before' | 'both' | 'after' | 'backwards';

interface Seen {
  readonly turns: number;
  readonly lost: number;
  /** Tokens that were no larger than that of the holder before. */
  readonly stale: number;
  readonly refused: number;
}

/** A process of the fleet (test/support/workers/migrating.ts). It works from its start on. */
class Instance {
  seen: Seen = { turns: 0, lost: 0, stale: 0, refused: 0 };
  private readonly worker: Worker;
  private readonly listeners = new Set<() => void>();

  constructor(env: Record<string, string>) {
    const onMessage = (message: unknown): void => {
      this.seen = message as Seen;
      for (const listener of this.listeners) listener();
    };
    this.worker = forkWorker('migrating', { env, onMessage });
    void this.worker.exited.then(() => this.listeners.forEach((listener) => listener()));
  }

  /** @throws Error when it ends before */
  async reaches(holds: (seen: Seen) => boolean): Promise<void> {
    while (!holds(this.seen)) {
      if (this.worker.process.exitCode !== null) throw new Error(this.worker.output);
      await new Promise<void>((resolve) => {
        const listener = (): void => {
          this.listeners.delete(listener);
          resolve();
        };
        this.listeners.add(listener);
      });
    }
  }

  /** As a deployment ends it: after the present turn. */
  async stop(): Promise<void> {
    this.worker.send('stop');
    const { code } = await this.worker.exited;
    if (code !== 0) throw new Error(this.worker.output);
  }

  kill(): Promise<void> {
    return this.worker.kill();
  }
}

/** docs/migration/redisson.md: from Redisson's format to the native one, while the fleet works. */
export function migration(open: () => Promise<PeerProgram>): void {
  let server: RedisServer;
  let redis: Redis;
  let java: Peer;
  const started: Instance[] = [];

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
    java = await Peer.start(await open(), server.url);
  }, 300_000);
  afterEach(async () => {
    await Promise.all(started.splice(0).map((instance) => instance.kill()));
  });
  afterAll(async () => {
    await java.kill();
    redis.disconnect();
    await server.stop();
  });

  /** A fleet that works on one account. */
  const fleetOf = (account: string, tokens: 'own' | 'fenced' = 'own') => {
    const name = `account:${account}`;
    const all: Instance[] = [];
    const running = new Set<Instance>();
    let javas = 0;
    let stopJava: (() => Promise<void>) | undefined;

    const deploy = (version: Version): Instance => {
      const instance = new Instance({
        REDIS: server.url,
        ACCOUNT: account,
        VERSION: version,
        LEASE: String(watchdog),
        TOKENS: tokens,
      });
      started.push(instance);
      all.push(instance);
      running.add(instance);
      return instance;
    };
    /** Each running process, and Java where it runs, has had more turns. */
    const works = async (turns = 10): Promise<void> => {
      const [last, lastOfJava] = [new Map([...running].map((instance) => [instance, instance.seen.turns])), javas];
      for (const [instance, before] of last) await instance.reaches((seen) => seen.turns >= before + turns);
      if (stopJava) await until(async () => javas >= lastOfJava + turns);
    };
    return {
      name,
      deploy,
      works,
      /** A new version comes, and when it works the old process ends. */
      async replace(old: Instance, version: Version): Promise<Instance> {
        const next = deploy(version);
        await works();
        running.delete(old);
        await old.stop();
        return next;
      },
      startJava(): void {
        let stopped = false;
        const work = (async () => {
          while (!stopped) {
            expect(await java.run('a', 'add', 'plain', name, 5)).toBe('ok');
            javas += 5;
          }
        })();
        stopJava = () => {
          stopped = true;
          stopJava = undefined;
          return work;
        };
      },
      stopJava: async (): Promise<void> => stopJava?.(),
      /** Ends all; what was added, and what the counter says. */
      async end(): Promise<Omit<Seen, 'turns'> & { added: number; counted: number }> {
        await stopJava?.();
        await Promise.all([...running].map((instance) => instance.stop()));
        const sum = (of: keyof Seen): number => all.reduce((total, { seen }) => total + seen[of], 0);
        const counted = Number(await redis.get(`${name}:counter`));
        const added = sum('turns') + javas;
        return { added, counted, lost: sum('lost'), stale: sum('stale'), refused: sum('refused') };
      },
    };
  };

  describe('from Redisson to the native format, while all work', () => {
    it.each(['own', 'fenced'] as const)(
      'no update is lost in the three steps, process by process, nor on the way back; %s tokens rise throughout',
      async (tokens) => {
        const fleet = fleetOf(randomUUID(), tokens);
        fleet.startJava();
        let instances = [fleet.deploy('before'), fleet.deploy('before')];
        await fleet.works();
        const roll = async (version: Version): Promise<void> => {
          const [one, other] = instances as [Instance, Instance];
          instances = [await fleet.replace(one, version), await fleet.replace(other, version)];
          await fleet.works();
        };
        await roll('both');
        await fleet.stopJava();
        await roll('after');

        await roll('both');
        fleet.startJava();
        await roll('before');
        const { added, ...rest } = await fleet.end();
        expect(rest).toEqual({ counted: added, lost: 0, stale: 0, refused: 0 });
      },
      120_000,
    );

    it.each<[step: string, present: Version | 'java', next: Version]>([
      ['the first (both locks)', 'before', 'after'],
      ['the second (Java ends)', 'java', 'after'],
    ])(
      'without %s updates are lost',
      async (_step, present, next) => {
        const fleet = fleetOf(randomUUID());
        const counter = `${fleet.name}:counter`;
        if (present === 'java') fleet.startJava();
        const old = present === 'java' ? undefined : fleet.deploy(present);
        const instance = fleet.deploy(next);
        const lost = instance.reaches((seen) => seen.lost > 0);
        await (old ? Promise.race([lost, old.reaches((seen) => seen.lost > 0)]) : lost);
        expect((await fleet.end()).added).toBeGreaterThan(Number(await redis.get(counter)));
      },
      60_000,
    );
  });

  describe('both locks', () => {
    it('a process that is killed between the two delays the others by a lease, and no longer', async () => {
      const fleet = fleetOf(randomUUID());
      await using client = createLockClient({ redis: server.url });
      const inner = await client.acquire(fleet.name);
      const dying = fleet.deploy('both');
      await until(async () => (await redis.exists(fleet.name)) === 1);
      await dying.kill();
      expect(await java.run('a', 'lock', 'plain', fleet.name)).toBe('held');
      await java.run('a', 'unlock', 'plain', fleet.name);
      await inner.release();
    }, 40_000);

    it('taken in the other order at one place, calls wait for each other until their wait is over; no update is lost', async () => {
      const fleet = fleetOf(randomUUID());
      fleet.deploy('both');
      await fleet.deploy('backwards').reaches((seen) => seen.refused > 0);
      const { added, counted, lost } = await fleet.end();
      expect({ counted, lost }).toEqual({ counted: added, lost: 0 });
    }, 60_000);
  });
}
