import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { Controller, Get, type INestApplication, type ModuleMetadata } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { RedisLockModule, type RedisLockModuleOptions, RedisLockService } from 'nestjs-redis-lock';
import { LockHealthIndicator } from 'nestjs-redis-lock/terminus';
import { LockTestBed, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { KeptLog } from '../../../conformance/kept-log.js';
import { HealthModule } from '../../../sample/src/health.module.js';
import { documentedRules } from '../../support/documented-acl.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { connectTo, keysOf, until } from '../engine/engine.js';
import { closing, deferred, onSharedRedis } from '../nest/fixtures.js';

@Controller('health/billing')
class BillingController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([() => this.locks.check('locks', { connection: 'billing' })]);
  }
}

/** The entry that docs/operate/observability.md shows, with any numbers. */
const shown = JSON.parse(
  readFileSync(new URL('../../../examples/output/health.json', import.meta.url), 'utf8'),
  (_, value: unknown) => (typeof value === 'number' ? (expect.any(Number) as unknown) : value),
) as Pick<Health, 'locks'>;

interface Health {
  readonly code: number;
  readonly overall: string;
  readonly locks: Record<string, unknown>;
  readonly text: string;
}

const log = new KeptLog();
const servers: RedisServer[] = [];
afterEach(async () => {
  log.lines.splice(0);
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function newServer(options?: Parameters<typeof startRedis>[0]): Promise<RedisServer> {
  const server = await startRedis(options);
  servers.push(server);
  return server;
}

async function serve(imports: ModuleMetadata['imports']): Promise<INestApplication & AsyncDisposable> {
  const module = await Test.createTestingModule({
    imports: [HealthModule, TerminusModule, ...imports!],
    controllers: [BillingController],
    providers: [LockHealthIndicator],
  })
    .setLogger(log)
    .compile();
  const app = module.createNestApplication({ forceCloseConnections: true });
  await app.listen(0, '127.0.0.1');
  return closing(app);
}

/** The doctor knows nothing of it that is worth a word, and a busy machine is no reason for LOCK_UNAVAILABLE. */
const quiet = (options: RedisLockModuleOptions): RedisLockModuleOptions => ({
  commandTimeout: '10s',
  ignoreFindings: ['LOCK_DOCTOR_PERSISTENCE'],
  ...options,
});
/** For servers that are away. No test may need a reply within this time. */
const impatient: RedisLockModuleOptions = { commandTimeout: 300 };
const onServer = (server: RedisServer, options: RedisLockModuleOptions = {}) =>
  serve([RedisLockModule.forRoot(quiet({ redis: server.url, ...options }))]);

async function healthOf(app: INestApplication, path = '/health'): Promise<Health> {
  const response = await fetch(`${await app.getUrl()}${path}`);
  const text = await response.text();
  const { status, details } = JSON.parse(text) as { status: string; details?: Record<string, Health['locks']> };
  return { code: response.status, overall: status, locks: details?.['locks'] ?? {}, text };
}

/** The first answer for which it is true. */
async function untilHealth(app: INestApplication, isSo: (health: Health) => boolean, path?: string): Promise<Health> {
  for (;;) {
    const health = await healthOf(app, path);
    if (isSo(health)) return health;
  }
}

describe('LockHealthIndicator', () => {
  it('is up, and shows counts and times without the name of a lock', async () => {
    await using app = await serve([RedisLockModule.forRoot(quiet(onSharedRedis()))]);
    const locks = app.get(RedisLockService);
    await using _held = await locks.acquire('secret:42');
    const giveUp = new AbortController();
    const waiting = locks.acquire('secret:42', { signal: giveUp.signal });
    const { code, overall, locks: entry, text } = await healthOf(app);
    expect({ code, overall }).toEqual({ code: 200, overall: 'ok' });
    expect(entry).toEqual({
      status: 'up',
      reasons: [],
      held: 1,
      waiting: 1,
      oldestHold: expect.any(Number),
      lastReply: expect.any(Number),
      findings: [],
    });
    expect([entry['oldestHold'], entry['lastReply']].every(Number.isInteger)).toBe(true);
    expect(text).not.toContain('secret');
    giveUp.abort();
    await expect(waiting).rejects.toThrow();
  });

  it('takes and releases one lock of its own for several checks, and leaves no key but the register', async () => {
    const options = onSharedRedis();
    await using app = await serve([RedisLockModule.forRoot(quiet(options))]);
    await using redis = connectTo(options.redis as string);
    await healthOf(app);
    const register = await redis.get(`${options.keyPrefix}token-register`);
    expect(Number(register)).toBeGreaterThan(0);
    await healthOf(app);
    await healthOf(app);
    expect(await redis.get(`${options.keyPrefix}token-register`)).toBe(register);
    expect(await keysOf(redis, options.keyPrefix!)).toEqual([`${options.keyPrefix}token-register`]);
  });

  it('stays up with contended locks, full queues and permits that are used up', async () => {
    await using app = await serve([RedisLockModule.forRoot(quiet(onSharedRedis({ maxWaiters: 1 })))]);
    const locks = app.get(RedisLockService);
    await using _one = await locks.acquire('a');
    await using _permit = await locks.acquire('b', { limit: 1 });
    const waiting = locks.acquire('a', { wait: '30s' });
    await expect(locks.acquire('a')).rejects.toMatchObject({ code: 'LOCK_QUEUE_FULL' });
    await expect(locks.acquire('b', { limit: 1, wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(await healthOf(app)).toMatchObject({ code: 200, locks: { status: 'up', held: 2, waiting: 1 } });
    await _one.release();
    await (await waiting).release();
  });

  it('is down while Redis is away, names no server to the public, and is up when Redis is back', async () => {
    const server = await newServer();
    await using app = await onServer(server, impatient);
    await untilHealth(app, ({ code }) => code === 200);
    await server.kill();
    const down = await untilHealth(app, ({ code }) => code === 503);
    expect(down).toMatchObject({ overall: 'error', locks: { status: 'down', reasons: ['unavailable'] } });
    expect(down.text).not.toContain(String(server.port));
    expect(down.text).not.toContain('health-check:');
    await server.start();
    const { locks } = await untilHealth(app, ({ code }) => code === 200);
    expect(locks).toMatchObject({ status: 'up', reasons: [] });
  });

  it('is down on a server that became a replica, which answers PING', async () => {
    const server = await newServer();
    const master = await newServer();
    // READONLY is asked again until then.
    await using app = await onServer(server, { commandTimeout: '3s' });
    await using admin = connectTo(server.url);
    await admin.replicaof('127.0.0.1', master.port);
    expect(await admin.ping()).toBe('PONG');
    expect(await healthOf(app)).toMatchObject({ code: 503, locks: { status: 'down', reasons: ['unavailable'] } });
    const told = log.lines.filter((line) => line.includes('the health check gets no lock'));
    expect(told).toEqual([expect.stringMatching(/^warn Lock connection 'default': .*READONLY/)]);
  });

  it('is down on a server that is full, and writes that to the log once each time', async () => {
    const server = await newServer();
    await using app = await onServer(server);
    await using admin = connectTo(server.url);
    await admin.config('SET', 'maxmemory', '1');
    expect(await healthOf(app)).toMatchObject({ code: 503, locks: { status: 'down', reasons: ['unavailable'] } });
    expect(log.lines.filter((line) => line.includes('OOM'))).toHaveLength(1);
    await admin.config('SET', 'maxmemory', '0');
    expect(await healthOf(app)).toMatchObject({ code: 200, locks: { status: 'up' } });
    await admin.config('SET', 'maxmemory', '1');
    await expect(app.get(RedisLockService).acquire('a', { wait: 0 })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
    for (let times = 0; times < 2; times++) expect((await healthOf(app)).code).toBe(503);
    expect(log.lines.filter((line) => line.includes('the health check gets no lock'))).toHaveLength(2);
  });

  it('is down for a user who lost a permission that locks need, and writes the reason once to the log', async () => {
    const server = await newServer();
    await using admin = connectTo(server.url);
    await admin.acl('SETUSER', 'locks', 'on', '>secret', 'resetkeys', 'resetchannels', ...documentedRules());
    const redis = { port: server.port, username: 'locks', password: 'secret' };
    await using app = await serve([RedisLockModule.forRoot(quiet({ redis }))]);
    await admin.acl('SETUSER', 'locks', '-set');
    const refused = { code: 503, locks: { status: 'down', reasons: ['refused'] } };
    expect(await healthOf(app)).toMatchObject(refused);
    const down = await healthOf(app);
    expect(down).toMatchObject(refused);
    expect(down.text).not.toContain('ACL');
    expect(log.lines.filter((line) => line.includes('the health check gets no lock'))).toHaveLength(1);
  });

  it('is degraded with one server of a quorum away, and down without a majority', async () => {
    const nodes = await Promise.all([newServer(), newServer(), newServer()]);
    const quorum = { nodes: nodes.map(({ url }) => url), nodeTimeout: 2_000 };
    await using app = await serve([RedisLockModule.forRoot({ quorum })]);
    await using _held = await app.get(RedisLockService).acquire('a');
    expect(await healthOf(app)).toMatchObject({ code: 200, overall: 'ok', locks: { status: 'up', reasons: [] } });
    await nodes[2].kill();
    const { code, locks } = await untilHealth(app, ({ overall }) => overall === 'degraded');
    expect({ code, locks }).toEqual({ code: 200, ...shown });
    await nodes[1].kill();
    const down = await untilHealth(app, (health) => health.code === 503);
    expect(down.locks).toMatchObject({ status: 'down', reasons: ['unavailable'] });
  });

  it.each([
    ['is degraded by', [], 'degraded', ['findings'], ['LOCK_DOCTOR_EVICTION', 'LOCK_DOCTOR_PERSISTENCE']],
    ['does not show what the application ignores of', 'all' as const, 'up', [], []],
  ])('%s the findings of the doctor about the server', async (_, ignoreFindings, status, reasons, findings) => {
    const server = await newServer({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] });
    await using app = await onServer(server, { ignoreFindings });
    expect(await healthOf(app)).toMatchObject({ code: 200, locks: { status, reasons, findings } });
  });

  it('shows a remark of the doctor and stays up', async () => {
    const server = await newServer();
    await using app = await onServer(server, { ignoreFindings: [] });
    expect((await healthOf(app)).locks).toMatchObject({ status: 'up', findings: ['LOCK_DOCTOR_PERSISTENCE'] });
  });

  it('is degraded while a waiter cannot subscribe, and up once it can', async () => {
    const server = await newServer();
    await using admin = connectTo(server.url);
    await admin.acl('SETUSER', 'locks', 'on', '>secret', 'resetkeys', 'resetchannels', ...documentedRules());
    const redis = { port: server.port, username: 'locks', password: 'secret' };
    await using app = await serve([RedisLockModule.forRoot(quiet({ redis, wait: '60s', commandTimeout: '3s' }))]);
    await using other = await serve([RedisLockModule.forRoot(quiet({ redis }))]);
    await admin.acl('SETUSER', 'locks', '-subscribe');
    const held = await other.get(RedisLockService).acquire('a');
    const waiting = app.get(RedisLockService).acquire('a');
    const { locks } = await untilHealth(app, ({ overall }) => overall === 'degraded');
    expect(locks['reasons']).toEqual(['no_messages']);
    await admin.acl('SETUSER', 'locks', '+subscribe');
    await admin.client('KILL', 'USER', 'locks');
    await untilHealth(app, ({ overall }) => overall === 'ok');
    await held.release();
    await (await waiting).release();
  });

  it('is degraded for a minute after a lock was lost, and down while the locks of a test are away', async () => {
    await using app = await serve([RedisLockTestingModule.forRoot()]);
    const bed = app.get(LockTestBed);
    const lock = await app.get(RedisLockService).acquire('a', { lease: '3s', renew: true });
    expect((await healthOf(app)).locks).toMatchObject({ status: 'up', held: 1 });
    bed.faults.lose('a');
    await bed.advance('1s');
    expect(lock.isHeld).toBe(false);
    expect((await healthOf(app)).locks).toMatchObject({ status: 'degraded', reasons: ['lock_lost'], held: 0 });
    await bed.advance('60s');
    expect((await healthOf(app)).locks).toMatchObject({ status: 'up', reasons: [] });
    bed.faults.unavailable('1h');
    expect((await healthOf(app)).locks).toMatchObject({ status: 'down', reasons: ['unavailable'] });
  });

  it('is down from the first moment of the shutdown, while running work still holds its locks', async () => {
    const app = await serve([RedisLockModule.forRoot(quiet(onSharedRedis()))]);
    const [started, end] = [deferred(), deferred()];
    const work = app.get(RedisLockService).using('a', async () => {
      started.resolve();
      await end.promise;
    });
    await started.promise;
    const indicator = app.get(LockHealthIndicator);
    expect(await indicator.check('locks')).toMatchObject({ locks: { status: 'up' } });
    const closed = app.close();
    await until(async () => (await indicator.check('locks')).locks.status !== 'up');
    expect(await indicator.check('locks')).toMatchObject({ locks: { status: 'down', reasons: ['unavailable'] } });
    end.resolve();
    await Promise.all([work, closed]);
    expect(log.lines.filter((line) => line.includes('the health check gets no lock'))).toEqual([]);
  });

  it('checks the named connection', async () => {
    const server = await newServer();
    const billing = quiet({ redis: server.url, name: 'billing', ...impatient });
    await using app = await serve([RedisLockModule.forRoot(quiet(onSharedRedis())), RedisLockModule.forRoot(billing)]);
    await server.kill();
    await untilHealth(app, ({ code }) => code === 503, '/health/billing');
    expect((await healthOf(app)).code).toBe(200);
  });

  it('refuses a connection that does not exist and an unknown option: the route responds 500', async () => {
    await using app = await serve([RedisLockModule.forRoot(quiet(onSharedRedis()))]);
    expect((await healthOf(app, '/health/billing')).code).toBe(500);
    const indicator = app.get(LockHealthIndicator);
    await expect(indicator.check('locks', { connection: 'billing' })).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining("forRoot({ name: 'billing' })"),
    });
    await expect(indicator.check('locks', { conection: 'billing' } as object)).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining('conection'),
    });
  });

  it('is down before Redis can be reached for the first time, and the application starts without it', async () => {
    const server = await newServer();
    await server.kill();
    await using app = await onServer(server, impatient);
    const { code, locks } = await healthOf(app);
    expect({ code, locks }).toMatchObject({ code: 503, locks: { status: 'down', reasons: ['unavailable'] } });
    expect(locks).not.toHaveProperty('lastReply');
  });
});
