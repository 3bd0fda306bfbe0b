import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import { inspect } from 'node:util';
import {
  ClassSerializerInterceptor,
  Controller,
  type DynamicModule,
  Get,
  type INestApplication,
  Injectable,
  UseInterceptors,
} from '@nestjs/common';
import { ApplicationConfig, ModuleRef, ModulesContainer, NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Cluster, Redis } from 'ioredis';
import {
  currentLock,
  DistributedLock,
  type Lock,
  LockError,
  LockErrorFilter,
  LockInterceptor,
  RedisLockModule,
  type RedisLockModuleOptions,
  RedisLockService,
} from 'nestjs-redis-lock';
import { LockTestBed, MemoryLockBackend, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { ClusterGroup } from '../../support/cluster-group.js';
import { everythingIn } from '../../support/everything-in.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { SentinelGroup } from '../../support/sentinel-group.js';
import { closing, onSharedRedis } from './fixtures.js';

const password = 'pass-word-of-redis';
const sentinelPassword = 'pass-word-of-sentinels';
/** The form of a client id: `<22 random characters>.<host>.<pid>`. Claim ids begin with one. */
const clientId = new RegExp(`[\\w-]{22}\\.${hostname().replaceAll(/[^\w.$-]/g, '_')}\\.${process.pid}`);

/** The ways in which a secret is found in values. */
const secretsIn = (values: Iterable<[name: string, value: unknown]>): string[] =>
  [...values].flatMap(([name, value]) =>
    Object.entries(everythingIn(value))
      .filter(([, text]) => text.includes(password) || text.includes(sentinelPassword) || clientId.test(text))
      .map(([way]) => `${name}, by ${way}`),
  );

@Injectable()
class Shop {
  constructor(readonly locks: RedisLockService) {}

  @DistributedLock('product:#{id}')
  async buy(id: string, work: () => unknown) {
    return [id, work()];
  }
}

@Controller()
class Things {
  constructor(readonly locks: RedisLockService) {}

  @Get('lock')
  async lock() {
    return this.locks.acquire('answered', { lease: '300ms' });
  }

  @Get('locks')
  @UseInterceptors(ClassSerializerInterceptor)
  async several() {
    return { locks: [await this.locks.acquire(['one', 'other'], { lease: '300ms' })] };
  }
}

const start = async (locks: DynamicModule, log = new KeptLog()): Promise<INestApplication & AsyncDisposable> => {
  const module = Test.createTestingModule({
    imports: [locks],
    controllers: [Things],
    providers: [Shop, LockInterceptor, LockErrorFilter],
  });
  const app = closing(
    (await module.setLogger(log).compile()).createNestApplication({ logger: log, forceCloseConnections: true }),
  );
  await app.listen(0, '127.0.0.1');
  return app;
};

const channels = [
  ...['acquired', 'contended', 'renewed', 'released', 'lost', 'exported', 'adopted', 'force-released'],
  ...['acquire', 'hold'].flatMap((name) => ['start', 'error', 'asyncEnd'].map((event) => `${name}:${event}`)),
].map((name) => `${name.includes(':') ? 'tracing:' : ''}nestjs-redis-lock:${name}`);

/** Everything that an application can reach, by name.
 * @param others the locks of another process
 * @param isQuorum whether there are no permits and no tickets
 */
async function publicObjects(
  locks: DynamicModule,
  others: DynamicModule,
  isQuorum = false,
): Promise<Map<string, unknown>> {
  const log = new KeptLog();
  const found = new Map<string, unknown>([
    ['the dynamic module', locks],
    ['the log', log.lines],
  ]);
  const tell = (message: unknown, channel: string | symbol): void => void found.set(String(channel), message);
  for (const channel of channels) subscribe(channel, tell);
  try {
    await using app = await start(locks, log);
    await useEverything(app, found, isQuorum);
    await using other = await start(others);
    await beRefused(app.get(RedisLockService), other.get(RedisLockService), found, isQuorum);
    for (const { metatype, providers } of app.get(ModulesContainer).values()) {
      if (metatype !== locks.module) continue;
      for (const [token, { instance }] of providers) {
        const name = typeof token === 'function' ? token.name : String(token);
        // Nest's own: they reference everything that the application has.
        if (token !== ModuleRef && token !== ApplicationConfig) found.set(`provider ${name}`, instance);
      }
    }
    const service = app.get(RedisLockService);
    const closed = app.close();
    await keepError(found, 'LockUnavailableError', service.acquire('late'));
    await closed;
  } finally {
    for (const channel of channels) unsubscribe(channel, tell);
  }
  return found;
}

async function keepError(found: Map<string, unknown>, name: string, call: Promise<unknown>): Promise<void> {
  const error = await call.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(LockError);
  found.set(name, error);
  found.set(`cause of ${name}`, (error as LockError).cause);
}

async function useEverything(app: INestApplication, found: Map<string, unknown>, isQuorum: boolean): Promise<void> {
  const shop = app.get(Shop);
  const { locks } = shop;
  found.set('the service', locks);
  found.set('an object with a locked method', shop);
  found.set('LockInterceptor', app.get(LockInterceptor));
  found.set('LockErrorFilter', app.get(LockErrorFilter));
  const lock = await locks.acquire('held');
  found.set('a lock', lock);
  found.set('its signal', lock.signal);
  const several = await locks.acquire(['b', 'a']);
  found.set('a lock of several names', several);
  found.set('the signal of several', several.signal);
  await locks.using('entered', async () => {
    const inner = await locks.acquire('entered');
    found.set('a re-entered lock', inner);
    found.set('the current lock', locks.current());
    // Node keeps what AsyncLocalStorage holds as properties of promises and timers.
    found.set('a promise in a flow', Promise.resolve());
    const timer = setTimeout(() => undefined);
    found.set('a timer in a flow', timer);
    await inner.release();
  });
  await shop.buy('1', () => found.set('the lock of a method', currentLock()));

  const waiting = locks.acquire('held', { wait: '300ms' });
  found.set('a call that waits', waiting);
  found.set('the result of inspect', await locks.inspect('held'));
  const listed: string[] = [];
  for await (const name of locks.list()) listed.push(name);
  found.set('the result of list', listed);

  await keepError(found, 'LockWaitTimeoutError', waiting);
  await keepError(found, 'LockNotAcquiredError', locks.acquire('held', { wait: 0 }));
  await keepError(found, 'LockConfigurationError', locks.acquire(''));
  await locks.using('shared', { shared: true }, () => keepError(found, 'LockUpgradeError', locks.acquire('shared')));
  const limited = locks.acquire('held', { limit: 2, wait: 0 });
  await keepError(found, isQuorum ? 'LockConfigurationError of permits' : 'LockKindMismatchError', limited);

  const taken: Lock = await locks.acquire('taken');
  await locks.forceRelease('taken');
  await keepError(found, 'LockLostError', taken.renew());
  found.set('a lock that was lost', taken);
  found.set('the reason of its signal', taken.signal.reason);
  if (!isQuorum) {
    const ticket = await (await locks.acquire('exported')).export();
    const adopted = await locks.adopt(ticket);
    found.set('an adopted lock', adopted);
    await keepError(found, 'LockLostError of a ticket', locks.adopt(ticket));
    await adopted.release();
  }
  for (const path of ['lock', 'locks']) {
    found.set(`the answer of /${path}`, await (await fetch(`${await app.getUrl()}/${path}`)).text());
  }
  await several.release();
  await lock.release();
}

/** Another process holds what is requested here: the replies have the ids of its claims. */
async function beRefused(
  here: RedisLockService,
  there: RedisLockService,
  found: Map<string, unknown>,
  isQuorum: boolean,
): Promise<void> {
  const ways = { exclusive: {}, shared: { shared: true }, ...(!isQuorum && { permits: { limit: 1 } }) };
  for (const [way, options] of Object.entries(ways)) {
    const [key, again] = [`theirs, ${way}`, way === 'permits' ? options : {}];
    await using _held = await there.acquire(key, options);
    await keepError(found, `LockNotAcquiredError, ${way}`, here.acquire(key, { ...again, wait: 0 }));
    await keepError(found, `LockWaitTimeoutError, ${way}`, here.acquire(key, { ...again, wait: '100ms' }));
    for (const error of ['LockNotAcquiredError', 'LockWaitTimeoutError'])
      expect(found.get(`${error}, ${way}`)).toHaveProperty('holder.pid', process.pid);
  }
}

describe('no password, no claim id and no client id is found', () => {
  let servers: RedisServer[];
  let cluster: ClusterGroup;
  let sentinels: SentinelGroup;

  beforeAll(async () => {
    const args = ['--requirepass', password];
    const acl = `user default on nopass ~* &* +@all\nuser locks on >${password} ~* &* +@all`;
    [servers, cluster, sentinels] = await Promise.all([
      Promise.all([1, 2, 3].map(() => startRedis({ args }))),
      ClusterGroup.start({ acl }),
      SentinelGroup.start({ replicas: 0, sentinels: 1, passwords: { master: password, sentinels: sentinelPassword } }),
    ]);
  });
  afterAll(() => Promise.all([...servers.map((server) => server.stop()), cluster.stop(), sentinels.stop()]));

  const url = (server: RedisServer): string => `redis://:${password}@${server.host}:${server.port}`;
  const options = (server: RedisServer) => ({ host: server.host, port: server.port, password });
  const access = { redisOptions: { username: 'locks', password } };

  it.each<[string, () => RedisLockModuleOptions]>([
    ['a URL', () => ({ redis: url(servers[0]!) })],
    ['options', () => ({ redis: options(servers[0]!) })],
    ['a client', () => ({ redis: new Redis({ ...options(servers[0]!), lazyConnect: true }) })],
    ['Sentinel', () => ({ redis: { ...sentinels.connection } })],
    ['a cluster', () => ({ cluster: { nodes: cluster.connection.nodes, options: access } })],
    [
      'a client of a cluster',
      () => ({ redis: new Cluster(cluster.connection.nodes, { ...access, lazyConnect: true }) }),
    ],
    ['a quorum', () => ({ quorum: { nodes: [url(servers[0]!), options(servers[1]!), url(servers[2]!)] } })],
  ])('in anything that an application with %s can reach', async (what, given) => {
    const [locks, others] = [RedisLockModule.forRoot(given()), RedisLockModule.forRoot(given())];
    const found = await publicObjects(locks, others, what === 'a quorum');
    expect(found.size).toBeGreaterThan(40);
    expect(secretsIn(found)).toEqual([]);
  });

  it.each([
    ['a factory', () => ({ useFactory: async () => ({ redis: url(servers[0]!) }) })],
    [
      'a class',
      () => ({
        useClass: class {
          createRedisLockOptions = () => ({ redis: url(servers[0]!) });
        },
      }),
    ],
  ])('with forRootAsync by %s', async (_how, given) => {
    const [locks, others] = [given(), given()].map((options) => RedisLockModule.forRootAsync(options as never));
    expect(secretsIn(await publicObjects(locks!, others!))).toEqual([]);
  });

  it('with the backend in memory, and the bed of a test', async () => {
    const backend = new MemoryLockBackend();
    const others = new MemoryLockBackend({ server: backend.server });
    const found = await publicObjects(
      RedisLockModule.forRoot({ backend }),
      RedisLockModule.forRoot({ backend: others }),
    );
    const bed = new LockTestBed();
    const locks = RedisLockTestingModule.forRoot({ bed, redis: url(servers[0]!) });
    await using app = await start(locks);
    const held = await app.get(RedisLockService).acquire('a');
    const waiting = bed.otherProcess().acquire('a');
    await bed.advance(0);
    found.set('the backend', backend);
    found.set('its server', backend.server);
    found.set('a snapshot of its server', bed.inspect('a'));
    found.set('the bed', bed);
    found.set('its clock', bed.clock);
    found.set('its faults', bed.faults);
    found.set('the module for tests', locks);
    for (const [token, { instance }] of [...app.get(ModulesContainer).values()].flatMap((m) => [...m.providers])) {
      if (token === LockTestBed) found.set('the bed as a provider', instance);
    }
    await held.release();
    await (await waiting).release();
    expect(secretsIn(found)).toEqual([]);
  });

  it('while Redis refuses them: wrong password, no such user, a server that is down, one without the command', async () => {
    const found = new Map<string, unknown>();
    await using strange = await startRedis({
      args: ['--requirepass', 'another', '--rename-command', 'AUTH', '', '--rename-command', 'HELLO', ''],
    });
    await using locked = await startRedis({ args: ['--requirepass', 'another'] });
    const places: Array<[string, RedisLockModuleOptions]> = [
      ['wrong password', { redis: options(locked) }],
      ['no such user', { redis: { ...options(locked), username: 'unknown' } }],
      ['strange', { redis: options(strange) }],
      ['away', { redis: `redis://:${password}@127.0.0.1:1` }],
      ['no cluster', { cluster: { nodes: [options(servers[0]!)], options: access } }],
    ];
    for (const [name, place] of places) {
      const log = new KeptLog();
      const error = await start(RedisLockModule.forRoot({ ...place, strict: true }), log).catch(
        (reason: unknown) => reason,
      );
      expect([name, error instanceof LockError]).toEqual([name, true]);
      found.set(name, error);
      found.set(`log of ${name}`, log.lines);
    }
    expect(secretsIn(found)).toEqual([]);
  });
});

describe('the printed form of a lock', () => {
  const locksOf = async (): Promise<INestApplication & AsyncDisposable> =>
    start(RedisLockModule.forRoot(onSharedRedis()));

  it('has its name, its token, and the rest of its lease', async () => {
    await using app = await locksOf();
    const locks = app.get(RedisLockService);
    await using one = await locks.acquire('a', { lease: '30s' });
    await using several = await locks.acquire(['c', 'b'], { lease: '30s' });
    const { fencingToken } = one;
    expect(JSON.parse(JSON.stringify(one))).toEqual({
      ...{ key: 'a', fencingToken, isHeld: true },
      leaseLeft: expect.any(Number),
    });
    expect(JSON.parse(JSON.stringify({ several }))).toEqual({
      several: {
        ...{ keys: ['b', 'c'], fencingToken: several.fencingToken, isHeld: true },
        leaseLeft: expect.any(Number),
      },
    });
    const text = /^Lock \{\s+key: 'a',\s+fencingToken: \d{16},\s+isHeld: true,\s+leaseLeft: 29\d{3}\s+\}$/;
    expect(inspect(one)).toMatch(text);
    expect(inspect(one, { depth: null, showHidden: true })).toMatch(text);
    expect(inspect({ deep: { deep: { deep: { one } } } })).not.toContain('Hold');
    expect(inspect(several)).toMatch(/^Lock \{\s+keys: \[ 'b', 'c' \],/);
    await one.release();
    expect(JSON.parse(JSON.stringify(one))).toEqual({ key: 'a', fencingToken, isHeld: false, leaseLeft: 0 });
  });

  it('is short in a failed assertion of jest', async () => {
    await using app = await locksOf();
    const locks = app.get(RedisLockService);
    await using lock = await locks.acquire('a');
    const { toBe, toEqual } = everythingIn(lock);
    expect(toBe!.length).toBeLessThan(500);
    expect(toEqual!.length).toBeLessThan(500);
    expect(toEqual).toContain('"key": "a"');
    expect(() => expect(lock).toEqual(expect.objectContaining({ key: 'b' }))).toThrow(/"key": "a"/);
    expect(everythingIn(locks)['toEqual']!.length).toBeLessThan(500);
  });

  it('tells two locks apart in an assertion', async () => {
    await using app = await locksOf();
    const locks = app.get(RedisLockService);
    await using one = await locks.acquire('a');
    await using other = await locks.acquire('b');
    expect(one).not.toEqual(other);
  });

  it('is small in the answer of a controller, also through ClassSerializerInterceptor', async () => {
    await using app = await locksOf();
    const get = async (path: string): Promise<unknown> => (await fetch(`${await app.getUrl()}/${path}`)).json();
    expect(await get('lock')).toEqual({
      ...{ key: 'answered', isHeld: true },
      fencingToken: expect.any(Number),
      leaseLeft: expect.any(Number),
    });
    expect(JSON.stringify(await get('locks')).length).toBeLessThan(500);
  });
});

describe('the printed form of an error', () => {
  it('has everything in JSON: the message, and name and message of its cause', async () => {
    await using app = await start(RedisLockModule.forRoot(onSharedRedis()));
    const locks = app.get(RedisLockService);
    await using held = await locks.acquire('a', { lease: '10s' });
    const error = (await locks.acquire('a', { wait: 0 }).catch((reason: unknown) => reason)) as LockError;
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      ...{ name: 'LockNotAcquiredError', code: 'LOCK_CONTENDED', key: 'a' },
      message: error.message,
      leaseLeft: expect.any(Number),
      holder: {
        ...{ client: expect.stringMatching(/^.{5}$/), host: hostname(), pid: process.pid },
        ...{ fencingToken: held.fencingToken, heldFor: expect.any(Number) },
      },
    });
  });
});

describe('Nest', () => {
  it('may replace a provider by a Proxy', async () => {
    const locks = RedisLockModule.forRoot(onSharedRedis());
    class AppModule {}
    const instanceDecorator = (instance: unknown): unknown =>
      // The methods of a Map refuse a Proxy.
      typeof instance === 'object' && instance !== null && !(instance instanceof Map)
        ? new Proxy(instance, {})
        : instance;
    const app = await NestFactory.create(
      { module: AppModule, imports: [locks], providers: [Shop], controllers: [Things] },
      { logger: false, abortOnError: false, forceCloseConnections: true, instrument: { instanceDecorator } },
    );
    await app.listen(0, '127.0.0.1');
    await expect(app.get(Shop).buy('1', () => currentLock()?.key)).resolves.toEqual(['1', 'product:1']);
    expect((await fetch(`${await app.getUrl()}/lock`)).status).toBe(200);
    await app.close();
  });

  it('may distinguish modules by the text of their definitions', async () => {
    const [one, same, other] = ['a:', 'a:', 'b:'].map((keyPrefix) => RedisLockModule.forRoot({ keyPrefix }));
    const create = (...imports: DynamicModule[]) => {
      class AppModule {}
      const locks = { module: AppModule, imports };
      return NestFactory.createApplicationContext(locks, {
        ...{ logger: false, abortOnError: false, moduleIdGeneratorAlgorithm: 'deep-hash' },
      });
    };
    for (const second of [same!, other!]) await expect(create(one!, second)).rejects.toThrow(/exists twice/);
  });
});
