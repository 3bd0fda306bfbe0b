import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import { createLockClient, type LockNotAcquiredError, type RedisLockClient } from 'nestjs-redis-lock/client';
import { withPoll } from '../../support/backends.js';
import { lateRows } from './late-rows.js';
import { until } from './observations.js';
import { Peer, type PeerProgram, sharingPeer, watchdog } from './peer.js';
import { listenersOf, oneRedis, type Site } from './sites.js';

/** Longer than any test waits: a waiter that is woken by its poll alone fails. */
const noPoll = 600_000;

/** This library and Redisson side by side. Each test both ways where that has a meaning. */
export function matrix(open: () => Promise<PeerProgram>, start: () => Promise<Site> = oneRedis): void {
  let site: Site;
  let redis: Redis | Cluster;
  let java: Peer;
  let program: PeerProgram;
  let client: RedisLockClient;
  const extra: AsyncDisposable[] = [];

  const newClient = async (options: object = {}, poll = noPoll): Promise<RedisLockClient> => {
    const log = { log: () => undefined, warn: () => undefined, error: () => undefined };
    const made = createLockClient(
      withPoll(poll, { ...site.connection, redisson: true, lease: watchdog, log, ...options }),
    );
    await made.connect();
    return made;
  };
  const startNode = async (options: object = {}): Promise<Peer> => {
    const node = await Peer.start(sharingPeer({ poll: noPoll, ...options }), site.address, site.mode);
    extra.push(node);
    return node;
  };
  const startJava = async (): Promise<Peer> => {
    const peer = await Peer.start(program, site.address, site.mode);
    extra.push(peer);
    return peer;
  };

  beforeAll(async () => {
    program = await open();
    site = await start();
    ({ redis } = site);
    [java, client] = [await Peer.start(program, site.address, site.mode), await newClient()];
  }, 300_000);
  afterEach(async () => {
    await Promise.all(extra.splice(0).map((peer) => peer[Symbol.asyncDispose]()));
  });
  afterAll(async () => {
    await client.close();
    await java.kill();
    await site.stop();
  });

  const unique = (): string => `product:${randomUUID()}`;
  const listened = (name: string): Promise<void> => until(async () => (await listenersOf(site, name)) > 0);
  const free = async (name: string): Promise<boolean> => (await redis.exists(name)) === 0;

  // Row 1
  describe('exclusion', () => {
    it('a lock that Java holds is contended here, with a rest within its lease', async () => {
      const name = unique();
      await java.run('a', 'lock', 'plain', name);
      const refusal = await client.acquire(name, { wait: 0 }).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: 'LOCK_CONTENDED' });
      const { leaseLeft } = refusal as { leaseLeft: number };
      expect(leaseLeft).toBeGreaterThan(0);
      expect(leaseLeft).toBeLessThanOrEqual(watchdog);
      await java.run('a', 'unlock', 'plain', name);
    });

    it.each(['plain', 'fenced', 'spin', 'multi', 'fair'])(
      'a lock that is held here is not free for a %s lock of Java',
      async (kind) => {
        const name = unique();
        const lock = await client.acquire(name);
        expect(await java.run('a', 'try', kind, name)).toBe('no');
        await lock.release();
        expect(await java.run('a', 'try', kind, name)).toBe('held');
        expect(await client.tryAcquire(name)).toBeNull();
        await java.run('a', 'unlock', kind, name);
      },
    );

    it('several names that are held here are one lock each for Java, and those of a multi lock of Java are so here', async () => {
      const names = [unique(), unique()];
      const locks = await client.acquire(names);
      for (const name of names) expect(await java.run('a', 'try', 'plain', name)).toBe('no');
      expect(await java.run('a', 'try', 'multi', names.join())).toBe('no');
      await locks.release();
      expect(await java.run('a', 'try', 'multi', names.join())).toBe('held');
      for (const name of names) expect(await client.tryAcquire(name)).toBeNull();
      expect(await client.tryAcquire(names)).toBeNull();
      await java.run('a', 'unlock', 'multi', names.join());
      await (await client.acquire(names, { wait: 0 })).release();
    });

    // Row 2
    it('four threads of Java and four callers of two processes here lose no update of a counter', async () => {
      const name = unique();
      const nodes = [await startNode(), await startNode()];
      const times = 60;
      const actors = ['a', 'b', 'c', 'd'];
      const done = [
        ...actors.map((actor) => java.run(actor, 'add', 'plain', name, times)),
        ...actors.map((actor, index) => nodes[index % 2]!.run(actor, 'add', 'plain', name, times)),
      ];
      expect(new Set(await Promise.all(done))).toEqual(new Set(['ok']));
      expect(await redis.get(`${name}:counter`)).toBe(String(8 * times));
    }, 120_000);

    // Row 8
    it('a lock that Java took three times is free here after its third unlock', async () => {
      const name = unique();
      for (let count = 0; count < 3; count++) await java.run('a', 'lock', 'plain', name);
      const waiting = client.acquire(name, { wait: '1m' });
      await listened(name);
      for (let count = 0; count < 2; count++) {
        await java.run('a', 'unlock', 'plain', name);
        expect(await redis.hvals(name)).toEqual([String(2 - count)]);
      }
      await java.run('a', 'unlock', 'plain', name);
      await (await waiting).release();
    });

    it('a lock that a flow here took three times is free for Java after the outermost release, and counts 1 throughout', async () => {
      const name = unique();
      const waiting = await client.using(name, () =>
        client.using(name, () =>
          client.using(name, async () => {
            expect(await redis.hvals(name)).toEqual(['1']);
            const asked = java.run('a', 'lock', 'plain', name);
            await listened(name);
            return { asked };
          }),
        ),
      );
      expect(await waiting.asked).toBe('held');
      await java.run('a', 'unlock', 'plain', name);
    });

    it('a caller that did not get a lock of Java learns its field and the rest of its lease, and no token or time', async () => {
      const name = unique();
      await java.run('a', 'lock', 'plain', name);
      const field = await java.run('a', 'field', 'plain', name);
      expect(field.startsWith(`${java.id}:`)).toBe(true);
      const refused = { holder: { client: field, host: undefined, fencingToken: undefined, heldFor: undefined } };
      for (const [wait, code] of [
        [0, 'LOCK_CONTENDED'],
        [150, 'LOCK_WAIT_TIMEOUT'],
      ] as const) {
        const error = (await client.acquire(name, { wait }).catch((reason: unknown) => reason)) as LockNotAcquiredError;
        expect(error).toMatchObject({ code, ...refused });
        expect(error.leaseLeft).toBeGreaterThan(0);
        expect(error.leaseLeft).toBeLessThanOrEqual(watchdog);
        expect(error.message).toContain(`held by client ${field}, whose lease ends in ${error.leaseLeft} ms`);
      }
      const { kind, holders } = await client.inspect(name);
      expect({ kind, holders }).toEqual({
        kind: 'exclusive',
        holders: [
          expect.objectContaining({ client: field, fencingToken: undefined, heldFor: undefined, state: 'held' }),
        ],
      });
      await java.run('a', 'unlock', 'plain', name);
    });

    // Row 17
    it.each(['read', 'write'])('a name that Java uses as a %s lock is refused', async (kind) => {
      const name = unique();
      await java.run('a', 'lock', kind, name);
      await expect(client.acquire(name, { wait: '1m' })).rejects.toMatchObject({
        code: 'LOCK_KIND_MISMATCH',
        message: expect.stringContaining('read or write lock'),
      });
      await java.run('a', 'unlock', kind, name);
    });

    it.each(['read', 'write'])('a %s lock of Java takes no notice of a holder here', async (kind) => {
      const name = unique();
      const lock = await client.acquire(name);
      expect(await java.run('a', 'lock', kind, name)).toBe('held');
      await lock.renew();
      expect(lock.isHeld).toBe(true);
      await redis.del(name);
    });

    it('a name for which threads of Java wait as a fair lock is refused, held or free, until the last has left', async () => {
      const name = unique();
      await java.run('a', 'lock', 'fair', name);
      const [waiting, times] = [java.run('b', 'lock', 'fair', name), `redisson_lock_timeout:{${name}}`];
      await until(async () => (await redis.zcard(times)) === 1);
      const refused = { code: 'LOCK_KIND_MISMATCH', message: expect.stringContaining('fair lock') };
      await expect(client.acquire(name, { wait: '1m' })).rejects.toMatchObject(refused);
      // What is left when the one that holds it has died.
      const crashed = unique();
      await redis.zadd(`redisson_lock_timeout:{${crashed}}`, Date.now() + 60_000, 'b');
      await expect(client.acquire(crashed)).rejects.toMatchObject(refused);
      await java.run('a', 'unlock', 'fair', name);
      expect(await waiting).toBe('held');
      await expect(client.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await java.run('b', 'unlock', 'fair', name);
      await (await client.acquire(name)).release();
    });

    it('a waiter of a fair lock that counts as gone in Java does not keep the lock from callers here', async () => {
      const name = unique();
      await redis.zadd(`redisson_lock_timeout:{${name}}`, Date.now() - 60_000, 'b');
      await (await client.acquire(name, { wait: 0 })).release();
    });

    it.each([{ shared: true }, { limit: 2 }])('%p is refused with the reason', async (options) => {
      await expect(client.acquire(unique(), options)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    });
  });

  // Row 3
  describe('messages, without any poll', () => {
    it('an unlock of Java wakes a waiter here', async () => {
      const name = unique();
      await java.run('a', 'lock', 'plain', name, 3_600_000);
      const waiting = client.acquire(name, { wait: '1m' });
      await listened(name);
      await java.run('a', 'unlock', 'plain', name);
      await (await waiting).release();
    });

    it('an unlock of Java wakes a waiter here that has waited for long, and after it nothing is subscribed', async () => {
      const name = unique();
      await java.run('a', 'lock', 'plain', name, 3_600_000);
      const waiting = client.acquire(name, { wait: '1m' });
      await listened(name);
      // Longer than a subscription without a waiter lasts.
      const end = performance.now() + 4_500;
      await until(async () => performance.now() > end);
      await java.run('a', 'unlock', 'plain', name);
      await (await waiting).release();
      await until(async () => (await listenersOf(site, name)) === 0);
    });

    it('a release here wakes a waiter of Java', async () => {
      const name = unique();
      const lock = await client.acquire(name, { lease: '1h', renew: false });
      const waiting = java.run('a', 'lock', 'plain', name);
      await listened(name);
      await lock.release();
      expect(await waiting).toBe('held');
      await java.run('a', 'unlock', 'plain', name);
    });

    // Row 13
    it('minHold: a waiter of Java has the lock when it ends, although its last reply named the whole lease', async () => {
      const name = unique();
      const lock = await client.acquire(name, { lease: '1h', renew: false, minHold: 500 });
      const waiting = java.run('a', 'lock', 'plain', name);
      await listened(name);
      await lock.release();
      expect(await waiting).toBe('held');
      await java.run('a', 'unlock', 'plain', name);
    });

    // Row 4
    it('a waiter here whose subscription was lost finds the lock by its poll', async () => {
      const name = unique();
      const polling = await newClient({}, 300);
      await java.run('a', 'lock', 'plain', name, 3_600_000);
      const waiting = polling.acquire(name, { wait: '1m' });
      await listened(name);
      const server = await site.serverOf(name);
      await server.multi().call('CLIENT', 'KILL', 'TYPE', 'pubsub').del(name).exec();
      await (await waiting).release();
      await polling.close();
    });

    it('a waiter of Java whose message was lost has the lock when the lease ends that it knew', async () => {
      const name = unique();
      await client.acquire(name, { lease: watchdog, renew: false });
      const waiting = java.run('a', 'lock', 'plain', name);
      await listened(name);
      const server = await site.serverOf(name);
      await server.multi().call('CLIENT', 'KILL', 'TYPE', 'pubsub').del(name).exec();
      expect(await waiting).toBe('held');
      await java.run('a', 'unlock', 'plain', name);
    }, 40_000);

    // Row 9
    it('a forced unlock by Java takes a lock from its holder here, and wakes the next', async () => {
      const name = unique();
      const node = await startNode();
      await node.run('a', 'lock', 'plain', name);
      const waiting = client.acquire(name, { wait: '1m' });
      await listened(name);
      expect(await java.run('a', 'force', 'plain', name)).toBe('true');
      const lock = await waiting;
      expect(await node.run('a', 'lost', 'plain', name)).toBe('revoked');
      await lock.release();
    });

    it('a forced release here takes a lock from its holder in Java, and wakes the next', async () => {
      const name = unique();
      await java.run('a', 'lock', 'plain', name);
      const holder = await java.run('a', 'field', 'plain', name);
      const waiting = java.run('b', 'lock', 'plain', name);
      await listened(name);
      expect(await client.forceRelease(name, { client: `${java.id}:0` })).toBe(false);
      expect(await client.forceRelease(name, { client: holder, reason: 'a ghost' })).toBe(true);
      expect(await waiting).toBe('held');
      expect(await java.run('a', 'unlock', 'plain', name)).toBe('!IllegalMonitorStateException');
      await java.run('b', 'unlock', 'plain', name);
    });

    it.each([
      ['read', 'write'],
      ['write', 'read'],
      ['write', 'write'],
    ])(
      'a forced release here takes a %s lock of Java, and wakes a thread that waits for a %s lock',
      async (held, next) => {
        const name = unique();
        await java.run('a', 'lock', held, name, 3_600_000);
        const waiting = java.run('b', 'lock', next, name);
        await until(async () => (await listenersOf(site, name, 'redisson_rwlock')) > 0);
        await java.run('c', 'parks', 'plain', 'b');
        expect(await client.forceRelease(name)).toBe(true);
        expect(await waiting).toBe('held');
        await java.run('b', 'unlock', next, name);
        expect(await free(name)).toBe(true);
      },
    );
  });

  describe('leases', () => {
    // Row 5
    it('a holder in Java that renews keeps a waiter here out for several leases, and the other way round', async () => {
      const [javas, ours] = [unique(), unique()];
      await java.run('a', 'lock', 'plain', javas);
      const lock = await client.acquire(ours);
      const [end, order]: [number, string[]] = [performance.now() + 2.5 * watchdog, []];
      const waiting = [
        client.acquire(javas, { wait: '1m' }).then((next) => {
          order.push('node');
          return next.release();
        }),
        java.run('b', 'lock', 'plain', ours).then(() => {
          order.push('java');
          return java.run('b', 'unlock', 'plain', ours);
        }),
      ];
      await until(async () => performance.now() > end);
      expect(order).toEqual([]);
      await Promise.all([java.run('a', 'unlock', 'plain', javas), lock.release()]);
      await Promise.all(waiting);
    }, 40_000);

    it("renewFrom: 'worker' keeps a lock from Java while the event loop of its holder is blocked beyond the lease", async () => {
      const name = unique();
      const node = await startNode({ renewFrom: 'worker' });
      await node.run('a', 'lock', 'plain', name);
      const waiting = java.ask('a', 'lock', 'plain', name);
      await listened(name);
      expect(await node.run('b', 'block', 'plain', name, 1.7 * watchdog)).toBe('ok');
      const released = process.hrtime.bigint();
      expect(await node.run('a', 'unlock', 'plain', name)).toBe('ok');
      expect((await waiting).at).toBeGreaterThan(released);
      await java.run('a', 'unlock', 'plain', name);
    }, 40_000);

    // Row 6
    it('a lock whose holder in Java is killed is free here at the end of its lease', async () => {
      const name = unique();
      const dying = await startJava();
      await dying.run('a', 'lock', 'plain', name);
      const waiting = client.acquire(name, { wait: '1m' });
      await listened(name);
      await dying.kill();
      await (await waiting).release();
    }, 40_000);

    it('a lock whose holder here is killed is free for Java at the end of its lease', async () => {
      const name = unique();
      const dying = await startNode();
      await dying.run('a', 'lock', 'plain', name);
      const waiting = java.run('a', 'lock', 'plain', name);
      await listened(name);
      await dying.kill();
      expect(await waiting).toBe('held');
      await java.run('a', 'unlock', 'plain', name);
    }, 40_000);

    // Row 7
    it('a holder here that was paused beyond its lease knows that it lost the lock to Java', async () => {
      const name = unique();
      const paused = await startNode();
      await paused.run('a', 'lock', 'plain', name);
      paused.pause();
      expect(await java.run('a', 'lock', 'plain', name)).toBe('held');
      paused.resume();
      expect(await paused.run('a', 'lost', 'plain', name)).toMatch(/./);
      expect(await paused.run('a', 'unlock', 'plain', name)).toBe('!lost');
      expect(await redis.hlen(name)).toBe(1);
      await java.run('a', 'unlock', 'plain', name);
    }, 40_000);

    it('an unlock of a holder in Java that was paused beyond its lease is refused, and takes nothing from the holder here', async () => {
      const name = unique();
      const paused = await startJava();
      await paused.run('a', 'lock', 'plain', name, 700);
      paused.pause();
      const lock = await client.acquire(name, { wait: '1m' });
      paused.resume();
      expect(await paused.run('a', 'unlock', 'plain', name)).toBe('!IllegalMonitorStateException');
      await lock.renew();
      expect(lock.isHeld).toBe(true);
      await lock.release();
    }, 40_000);

    // Row 20
    it('fixed leases end on both sides', async () => {
      const name = unique();
      await java.run('a', 'lock', 'plain', name, 500);
      await client.acquire(name, { wait: '1m', lease: 500, renew: false });
      expect(await java.run('a', 'lock', 'plain', name)).toBe('held');
      await java.run('a', 'unlock', 'plain', name);
    });

    // Row 16
    it.each(['spin', 'fair'])(
      'a %s lock of Java is found free here at the end of its lease at the latest',
      async (kind) => {
        const name = unique();
        await java.run('a', 'lock', kind, name, 700);
        await (await client.acquire(name, { wait: '1m' })).release();
        expect(await free(name)).toBe(true);
      },
    );
  });

  lateRows(
    () => site,
    () => java,
  );

  // Row 14
  it('a lock that is handed over from process to process is never free for Java in between', async () => {
    const name = unique();
    const other = await newClient();
    const lock = await client.acquire(name);
    const waiting = java.ask('a', 'lock', 'plain', name);
    await listened(name);
    const ticket = await lock.export();
    let ended = 0n;
    await other.adopt(ticket, async () => {
      expect(await redis.hlen(name)).toBe(1);
      ended = process.hrtime.bigint();
    });
    expect((await waiting).at).toBeGreaterThan(ended);
    await java.run('a', 'unlock', 'plain', name);
    await other.close();
  });

  // Row 15
  it('with shared tokens, those of Java and of this library increase over both', async () => {
    const name = unique();
    const fenced = await newClient({ redisson: { tokens: 'fenced' } });
    const tokens: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      tokens.push(Number(await java.run('a', 'token', 'fenced', name)));
      await java.run('a', 'unlock', 'fenced', name);
      const lock = await fenced.acquire(name);
      tokens.push(lock.fencingToken);
      await lock.release();
    }
    expect(tokens).toEqual([...new Set(tokens)].toSorted((one, other) => one - other));
    await fenced.close();
  });

  // Row 19
  describe('an endless backlog', () => {
    /** The turns of this library at a lock since now: each writes a field. Callers of one process pass the lock on inside a turn. */
    const turnsAt = async (name: string): Promise<() => number> => {
      const server = await site.serverOf(name);
      await server.config('SET', 'notify-keyspace-events', 'Kh');
      const events = server.duplicate();
      extra.push({ [Symbol.asyncDispose]: async () => events.disconnect() });
      let turns = 0;
      events.on('message', (_, event) => void (turns += event === 'hset' ? 1 : 0));
      await events.subscribe(`__keyspace@0__:${name}`);
      return () => turns;
    };
    const forEver = process.hrtime.bigint() + 3_600_000_000_000n;

    /** The turns here while a thread of Java has the lock so often. @param inside ms for which a caller here has it */
    const turnsBeside = async (grants: number, nodes: readonly Peer[], inside: number): Promise<number> => {
      const name = unique();
      const turns = await turnsAt(name);
      for (const node of nodes)
        for (const actor of ['a', 'b', 'c', 'd'])
          void node.run(actor, 'beat', 'plain', name, forEver, inside).catch(() => undefined);
      await until(async () => turns() > 0);
      const before = turns();
      expect(await java.run('a', 'add', 'plain', name, grants)).toBe('ok');
      const beside = turns() - before;
      // They were there all the time.
      await until(async () => turns() > before + beside);
      return beside;
    };

    it('here leaves the lock to a thread of Java that waits: in a hundred grants of it this process has a thousand turns at most', async () => {
      expect(await turnsBeside(100, [await startNode()], 0)).toBeLessThan(1000);
    }, 60_000);

    it('in four processes here leaves it the lock, too: in thirty grants of it they have ninety turns at most', async () => {
      const nodes = await Promise.all([startNode(), startNode(), startNode(), startNode()]);
      expect(await turnsBeside(30, nodes, 12)).toBeLessThan(90);
    }, 60_000);

    it('in Java does not keep a caller here out: it has the lock a hundred times', async () => {
      const name = unique();
      const crowd = await startJava();
      const node = await startNode();
      for (const actor of ['a', 'b', 'c', 'd'])
        void crowd.run(actor, 'beat', 'plain', name, forEver).catch(() => undefined);
      await until(async () => (await redis.exists(name)) === 1);
      expect(await node.run('a', 'add', 'plain', name, 100)).toBe('ok');
    }, 60_000);
  });
}
