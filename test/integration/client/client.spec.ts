import 'reflect-metadata';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import {
  createLockClient,
  currentLock,
  LockConfigurationError,
  type LockClientOptions,
} from 'nestjs-redis-lock/client';
import { MemoryLockBackend } from 'nestjs-redis-lock/testing';
import { KeptLog } from '../../../conformance/kept-log.js';
import { ClusterGroup } from '../../support/cluster-group.js';
import { everythingIn } from '../../support/everything-in.js';
import { freePort, sharedRedisUrl, startRedis } from '../../support/redis-server.js';
import { closing, deferred } from '../nest/fixtures.js';

/** As it is published. */
const built = new URL('../../../dist/cjs/client.js', import.meta.url);

const ends: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const shared = (options: LockClientOptions = {}): LockClientOptions => ({
  redis: sharedRedisUrl(),
  keyPrefix: `test:${randomUUID()}:`,
  ...options,
});

const client = (options: LockClientOptions) => {
  const locks = createLockClient(options);
  ends.push(() => locks.close());
  return locks;
};

describe('createLockClient', () => {
  it('shares its locks and their queue with a Nest application on the same Redis and prefix', async () => {
    const options = shared();
    const locks = client(options);
    const module = await Test.createTestingModule({ imports: [RedisLockModule.forRoot(options)] }).compile();
    await using app = closing(await module.init());
    const service = app.get(RedisLockService);

    const held = await service.acquire('report');
    expect(await locks.tryAcquire('report')).toBeNull();
    const next = locks.acquire('report');
    while ((await locks.inspect('report')).waiters.length === 0);
    await held.release();
    const lock = await next;
    expect(lock.fencingToken).toBeGreaterThan(held.fencingToken);
    await expect(service.acquire('report', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });

    const ticket = await lock.export();
    await service.adopt(ticket, async (adopted) => {
      expect(adopted.fencingToken).toBe(lock.fencingToken);
      const names: string[] = [];
      for await (const name of locks.list()) names.push(name);
      expect(names).toEqual(['report']);
    });
    await using _free = await locks.acquire('report', { wait: 0 });
  });

  it('has the flow of `using`: the same key re-enters, and currentLock() is the lock', async () => {
    const locks = client(shared());
    await locks.using(['a', 'b'], async (lock) => {
      expect(currentLock()?.keys).toEqual(lock.keys);
      expect(locks.current('b')?.key).toBe('b');
      await using again = await locks.acquire('a', { wait: 0 });
      expect(again.depth).toBe(2);
    });
    expect(currentLock()).toBeUndefined();
    await using outside = await locks.acquire('a', { wait: 0 });
    expect(outside.depth).toBe(1);
  });

  it('connects with the first call, not before, and with connect()', async () => {
    const server = await startRedis();
    ends.push(() => server.stop());
    const admin = new Redis(server.url);
    ends.push(() => admin.quit());
    const connections = async (): Promise<number> =>
      String(await admin.client('LIST'))
        .trim()
        .split('\n').length;
    const [called, connected] = [client({ redis: server.url }), client({ redis: server.url })];
    expect(await connections()).toBe(1);
    await (await called.acquire('a')).release();
    expect(await connections()).toBe(2);
    await connected.connect();
    expect(await connections()).toBe(3);
  });

  it('rejects connect() with the reason while Redis is away, goes on trying, and has locks when Redis is back', async () => {
    const port = await freePort();
    const locks = client({ redis: { port, host: '127.0.0.1' }, commandTimeout: 200, wait: '15s' });
    await expect(locks.connect()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    const server = await startRedis({ port });
    ends.push(() => server.stop());
    let lock;
    while (!lock) lock = await locks.acquire('a').catch(() => undefined);
    await lock.release();
  });

  it('says with the first call why Redis refuses its database, and has locks when Redis allows it', async () => {
    const server = await startRedis();
    ends.push(() => server.stop());
    const admin = new Redis(server.url);
    ends.push(() => admin.quit());
    await admin.acl('SETUSER', 'narrow', 'on', '>p', 'allkeys', 'allchannels', '+@all', '-select');
    const { host, port } = server;
    const locks = client({ redis: { host, port, username: 'narrow', password: 'p', db: 1 } });
    const first = await locks.acquire('a', { wait: 0 }).catch((error: Error) => error);
    expect(first).toMatchObject({ message: expect.stringContaining('refuses the database 1: NOPERM') });
    await expect(locks.connect()).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    await admin.acl('SETUSER', 'narrow', '+select');
    // Its next connection asks again.
    await admin.client('KILL', 'USER', 'narrow');
    let lock;
    while (!lock) lock = await locks.acquire('a').catch(() => undefined);
    await lock.release();
  });

  it('rejects connect() again while Redis is away, and resolves it when Redis is back', async () => {
    const port = await freePort();
    const locks = client({ redis: { port, host: '127.0.0.1' }, commandTimeout: 200 });
    for (let call = 0; call < 2; call++)
      await expect(locks.connect()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    const server = await startRedis({ port });
    ends.push(() => server.stop());
    const connected = (): Promise<boolean> =>
      locks.connect().then(
        () => true,
        () => false,
      );
    while (!(await connected())) await new Promise((resolve) => setImmediate(resolve));
    await (await locks.acquire('a')).release();
  });

  it('writes losses and forced releases to its log, and messages with its own names', async () => {
    const log = new KeptLog();
    const locks = client(shared({ log }));
    const lock = await locks.acquire('a', { label: 'import 7' });
    expect(await locks.forceRelease('a', { fencingToken: lock.fencingToken, reason: 'hangs' })).toBe(true);
    expect(log.lines).toEqual([
      expect.stringMatching(/^error 'import 7': Lock 'a' was lost/),
      expect.stringMatching(/^warn Lock 'a' was released by force.* Reason: 'hangs'\.$/),
    ]);
    await expect(locks.acquire('')).rejects.toThrow(/^RedisLockClient\.acquire: key: /);
    await expect(locks.using('a', 7 as never)).rejects.toThrow(/^RedisLockClient\.using: 7 given/);
    expect(() => locks.list({ startWith: 'a' } as object)).toThrow(/^RedisLockClient\.list: /);
  });

  it.each(['whole', 'closed'])(
    'writes its log to standard error, and goes on when that is closed (now: %s)',
    async (state) => {
      const script = `
        import { createLockClient } from ${JSON.stringify(built.href)};
        const locks = createLockClient({ redis: process.argv[1] });
        const lock = await locks.acquire(process.argv[2]);
        console.log('ready');
        process.stdin.once('data', async () => {
          await locks.forceRelease(process.argv[2]);
          await locks.close();
          console.log('done');
          process.exitCode = 7;
          process.stdin.destroy();
        });`;
      const args = ['--input-type=module', '-e', script, sharedRedisUrl(), randomUUID()];
      const child = spawn(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: '' } });
      let [output, errors] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
      await once(child.stdout, 'data');
      if (state === 'closed') child.stderr.destroy();
      child.stdin.write('go\n');
      const [code] = (await once(child, 'close')) as [number];
      expect([code, output]).toEqual([7, 'ready\ndone\n']);
      if (state === 'whole') expect(errors).toMatch(/^nestjs-redis-lock: .*was released by force/m);
    },
  );

  it("a release that is 'sent' is written before the call goes on: a process that exits right behind it leaves no lock", async () => {
    const script = `
      import { createLockClient } from ${JSON.stringify(built.href)};
      const [, place, ...names] = process.argv;
      const locks = createLockClient({ ...JSON.parse(place), release: 'sent' });
      await locks.using(names[0], () => locks.using(names.slice(1), () => undefined));
      process.exit(7);`;
    const servers = await Promise.all([1, 2, 3].map(() => startRedis()));
    ends.push(() => Promise.all(servers.map((server) => server.stop())));
    for (const place of [{ redis: sharedRedisUrl() }, { quorum: { nodes: servers.map(({ url }) => url) } }]) {
      const locks = client(place);
      const names = [randomUUID(), randomUUID(), randomUUID()];
      const child = spawn(process.execPath, ['--input-type=module', '-e', script, JSON.stringify(place), ...names], {
        env: { ...process.env, NODE_OPTIONS: '' },
        stdio: 'inherit',
      });
      expect(await once(child, 'close')).toEqual([7, null]);
      // The leases would last for 30 s.
      await (await locks.acquire(names, { wait: '10s' })).release();
    }
  });

  it('shows no password', () => {
    const [user, password] = ['someone', 'pass-word'];
    const locks = client({ redis: `redis://${user}:${password}@127.0.0.1:1/0` });
    expect(Object.values(everythingIn(locks)).filter((text) => text.includes(password))).toEqual([]);
  });

  it('takes its locks from a cluster, a quorum or a backend of its own, also with the longest durations', async () => {
    const cluster = await ClusterGroup.start();
    ends.push(() => cluster.stop());
    const servers = await Promise.all([1, 2, 3].map(() => startRedis()));
    ends.push(() => Promise.all(servers.map((server) => server.stop())));
    const nodes = servers.map(({ url }) => url);
    const longest = 2 ** 31 - 1;
    const durations = { lease: longest, wait: longest, shutdownTimeout: longest, stallLimit: longest };
    const places: LockClientOptions[] = [
      { cluster: cluster.connection },
      { quorum: { nodes } },
      { backend: new MemoryLockBackend() },
      // Nothing overflows: neither a duration, nor the double of one, nor a sum.
      { redis: nodes[0]!, commandTimeout: longest, ...durations },
      { cluster: cluster.connection, commandTimeout: longest, ...durations },
      { quorum: { nodes, nodeTimeout: longest }, ...durations },
    ];
    const warnings: Error[] = [];
    const warned = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', warned);
    ends.push(async () => process.off('warning', warned));
    for (const place of places) {
      await using locks = createLockClient(place);
      await using lock = await locks.acquire(['a', 'b']);
      expect(lock.isHeld).toBe(true);
      expect(await locks.tryAcquire('a', { fairness: 'strict' })).toBeNull();
    }
    expect(warnings).toEqual([]);
  });
});

describe('the end of a client', () => {
  it('waits for running work up to shutdownTimeout, and rejects waiters and later calls', async () => {
    const options = shared();
    const [locks, other] = [createLockClient(options), client(options)];
    const [inside, leave] = [deferred(), deferred()];
    const work = locks.using('a', async () => {
      inside.resolve();
      await leave.promise;
      return 'done';
    });
    await inside.promise;
    const waiting = expect(locks.acquire('a', { fairness: 'strict' })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
    const closed = locks.close();
    await waiting;
    await expect(locks.connect()).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringContaining('closed'),
    });
    await expect(locks.acquire('b')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await other.tryAcquire('a')).toBeNull();
    leave.resolve();
    await expect(work).resolves.toBe('done');
    await closed;
    await using _free = await other.acquire('a', { wait: 0 });
  });

  it('releases what is still held after shutdownTimeout, with the reason in the signal', async () => {
    const options = shared();
    const other = client(options);
    const locks = createLockClient({ ...options, shutdownTimeout: 0, log: new KeptLog() });
    const lock = await locks.acquire('a');
    const aborted = once(lock.signal, 'abort');
    await locks.close();
    await aborted;
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
    await using _free = await other.acquire('a', { wait: 0 });
  });
});

describe('options of a client', () => {
  it.each([
    [null, 'options: '],
    ['redis://:secret@h', 'options: a string given'],
    [{ redis: 'localhost' }, 'redis: '],
    [{ redis: { url: 'redis://h' } }, "redis: ioredis has no option 'url'"],
    [{ quorum: { nodes: ['redis://a'] } }, 'quorum'],
    [{ redis: 'redis://a', quorum: { nodes: [] } }, 'redis: cannot be combined'],
    [{ keyPrefx: 'a' }, "options: there is no option 'keyPrefx'. Did you mean 'keyPrefix'?"],
    [{ isGlobal: true }, "options: there is no option 'isGlobal'"],
    [{ httpErrors: false }, "options: there is no option 'httpErrors'"],
    [{ lease: 'soon' }, 'lease: '],
    [{ maxWaiters: 0 }, 'maxWaiters: '],
    [{ name: '' }, 'name: '],
    [{ log: () => undefined }, 'log: '],
  ])('%j are refused at once, as by forRoot', (options, problem) => {
    expect(() => createLockClient(options as LockClientOptions)).toThrow(LockConfigurationError);
    expect(() => createLockClient(options as LockClientOptions)).toThrow(`createLockClient: ${problem}`);
  });
});
