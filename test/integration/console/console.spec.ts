import 'reflect-metadata';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type INestApplication, Logger, VersioningType } from '@nestjs/common';
import { Redis } from 'ioredis';
import { LockConfigurationError, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { LockConsoleModule } from 'nestjs-redis-lock/console';
import { LockTestBed, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { Test } from '@nestjs/testing';
import helmet from 'helmet';
import { KeptLog } from '../../../conformance/kept-log.js';
import { startRedis } from '../../support/redis-server.js';
import { unique } from '../engine/engine.js';
import { adapters, httpApplication } from '../transports/http-servers.js';
import { bound, closing, Console, forceRelease, open, word } from './opened-console.js';

afterEach(() => {
  jest.restoreAllMocks();
});

const answers = ['/api/overview', '/api/lock?name=a', '/api/find?text=a', '/api/list?of=long'];
const routes = ['', '/live', '/app.js', '/app.css', ...answers];

describe('a console without guards', () => {
  it.each([
    [{}, 'guards'],
    [{ guards: [] }, 'guards'],
    [{ guards: 'anyone' }, 'guards'],
    [{ guards: [undefined] }, 'guards'],
    [{ guards: 'none', forceRelease: { actor: () => 'a' } }, 'forceRelease.guards'],
    [{ guards: 'none', forceRelease: { guards: 'none' } }, 'forceRelease.actor'],
    [{ guards: 'none', path: 5 }, 'path'],
    [{ guards: 'none', redact: 'x' }, 'redact'],
    [{ guards: 'none', connections: [] }, 'connections'],
    [{ guards: 'none', guard: [] }, 'options'],
  ])('is refused at once, as each wrong option is: %j', (options, name) => {
    expect(() => LockConsoleModule.forRoot(options as never)).toThrow(LockConfigurationError);
    expect(() => LockConsoleModule.forRoot(options as never)).toThrow(`LockConsoleModule.forRoot: ${name}`);
  });

  it("is open when 'none' is written out", async () => {
    const { get } = bound(await open(undefined, { guards: 'none' }));
    expect((await get('/live', {})).status).toBe(200);
  });

  it('is refused at start for a connection that does not exist', async () => {
    const console = LockConsoleModule.forRoot({ guards: 'none', connections: ['billing'] });
    const app = await httpApplication(adapters[0]![1], { imports: [console] });
    closing.push(() => app.close());
    await expect(app.init()).rejects.toThrow("there is no connection 'billing'");
  });
});

describe.each(adapters)('a console on %s', (server, adapter) => {
  it('answers no route when a guard refuses, not the page and not its files', async () => {
    const { get, release, console } = bound(await open(adapter, { forceRelease }));
    for (const route of routes) expect([route, (await get(route, {})).status]).toEqual([route, 403]);
    const name = unique();
    const lock = await console.locks.acquire(name);
    const fields = { name, typed: name, fencingToken: await console.token(name), reason: 'test' };
    expect((await release(fields, { headers: { 'x-word': undefined } })).status).toBe(403);
    expect((await release(fields, { headers: { 'x-boss': undefined } })).status).toBe(403);
    expect(lock.isHeld).toBe(true);
  });

  it('leads to its page by a relative address, also with a slash at the end', async () => {
    const { get } = bound(await open(adapter));
    const reply = await get('');
    expect([reply.status, reply.headers.get('location')]).toEqual([302, 'locks/live']);
    const slash = await get('/');
    // Fastify has a route for each form of an address only if the application wants it.
    expect([slash.status, slash.headers.get('location')]).toEqual(server === 'Fastify' ? [404, null] : [302, 'live']);
  });

  it('is behind the global prefix and the version of the application, and with a path of its own', async () => {
    const prepare = (app: INestApplication): string => {
      app.setGlobalPrefix('api');
      app.enableVersioning({ type: VersioningType.URI });
      return '/api/v2/ops/our-locks';
    };
    const { get } = bound(await open(adapter, { path: 'ops/our-locks', version: '2' }, prepare));
    for (const route of routes.slice(1)) expect([route, (await get(route)).status]).toEqual([route, 200]);
    expect((await get('')).headers.get('location')).toBe('our-locks/live');
  });

  it.each([
    ['a header', { type: VersioningType.HEADER, header: 'x-version' }],
    ['the media type', { type: VersioningType.MEDIA_TYPE, key: 'v=' }],
    ['the address', { type: VersioningType.URI, defaultVersion: '3' }],
  ] as const)('has one address where the application tells its versions by %s', async (_by, versioning) => {
    const { get } = bound(await open(adapter, {}, (app) => (app.enableVersioning(versioning), '/locks')));
    for (const route of routes.slice(1)) expect([route, (await get(route)).status]).toEqual([route, 200]);
  });

  it.each([
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://behind-a-proxy.example' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{}, 200],
  ])('shows nothing to a page of another origin: %j', async (headers, status) => {
    const { get } = bound(await open(adapter));
    for (const route of answers)
      expect([route, (await get(route, { ...word, ...headers })).status]).toEqual([route, status]);
    // A link in a chat leads from another site to the page.
    expect((await get('/live', { ...word, ...headers })).status).toBe(200);
  });

  it('lets no other origin read it, also where the application allows all of them', async () => {
    const prepare = (app: INestApplication): string => {
      app.enableCors({ origin: true, credentials: true, exposedHeaders: ['etag'] });
      return '/locks';
    };
    const { get } = bound(await open(adapter, {}, prepare));
    for (const route of routes) {
      const { headers } = await get(route, { ...word, origin: 'https://evil.example' });
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    }
  });

  it('sends each answer with a policy of its own, not to be kept, also behind helmet', async () => {
    const prepare = (app: INestApplication): string => {
      const secured = helmet();
      const use = (request: unknown, response: unknown, next: () => void) =>
        secured(request as never, response as never, next);
      if (adapter === adapters[0]![1]) app.use(use);
      return '/locks';
    };
    const { get } = bound(await open(adapter, {}, prepare));
    const types = ['text/plain', 'text/html', 'text/javascript', 'text/css', ...answers.map(() => 'application/json')];
    for (const [index, route] of routes.entries()) {
      const { headers } = await get(route);
      expect(headers.get('content-type')).toBe(`${types[index]}; charset=utf-8`);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      );
    }
  });

  it('shows what is held and waited for, with the lock of a name', async () => {
    const { get, console } = bound(await open(adapter));
    const name = `order:${unique()}`;
    await console.locks.acquire(name, { label: 'first' });
    const waiting = console.locks.acquire(name, { label: 'second' });
    waiting.catch(() => undefined);
    while ((await console.locks.inspect(name)).waiters.length === 0 && (await get('/api/overview')).status === 200) {
      const { contended } = (await get('/api/overview')).json as { contended: Array<{ key: string }> };
      if (contended.some(({ key }) => key === name)) break;
    }
    const lock = await get(`/api/lock?name=${encodeURIComponent(name)}`);
    expect(lock.json).toMatchObject({ key: name, kind: 'exclusive', holders: [{ label: 'first', pid: process.pid }] });
    expect((await get('/api/overview')).json).toMatchObject({
      connection: 'default',
      canRelease: false,
      connections: ['default'],
    });
  });

  it('releases a lock by force with its token, its typed name and a reason, and logs the person', async () => {
    const { release, console } = bound(await open(adapter, { forceRelease }));
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const name = unique();
    const lock = await console.locks.acquire(name);
    const next = console.locks.acquire(name);
    const reply = await release({ name, typed: name, fencingToken: await console.token(name), reason: ' it hangs ' });
    expect([reply.status, reply.json]).toEqual([200, { released: true }]);
    expect(lock.isHeld).toBe(false);
    expect((await next).isHeld).toBe(true);
    const line = warn.mock.calls.map(([text]) => String(text)).find((text) => text.includes(name))!;
    for (const part of ['ann@example.com', 'it hangs']) expect(line).toContain(part);
  });

  it('releases by the client of a holder without a token, from this client alone; without token and client nothing', async () => {
    const { release, console } = bound(await open(adapter, { forceRelease }));
    jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const name = unique();
    const lock = await console.locks.acquire(name);
    const { client } = (await console.locks.inspect(name)).holders[0]!;
    const fields = { name, typed: name, reason: 'x' };
    expect((await release(fields)).json).toEqual({ error: 'reason' });
    expect((await release({ ...fields, client: 'other' })).json).toEqual({ error: 'changed' });
    expect(lock.isHeld).toBe(true);
    expect((await release({ ...fields, client })).json).toEqual({ released: true });
    expect(lock.isHeld).toBe(false);
  });

  it('shows a lock of Java that never ends, and releases it by its client', async () => {
    const server = await startRedis();
    closing.push(() => server.stop());
    const redis = new Redis(server.url);
    closing.push(async () => redis.disconnect());
    const shared = { redis: server.url, redisson: true, keyPrefix: '' };
    const { get, release } = bound(await open(adapter, { forceRelease }, undefined, shared));
    jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const [name, client] = ['product:42', '8743c9c0-0795-4907-87fd-6c719a6b4586:47'];
    await redis.hset(name, client, 1);
    const { holders } = (await get(`/api/lock?name=${name}`)).json as { holders: object[] };
    expect(holders).toMatchObject([{ client, leaseLeft: null }]);
    const fields = { name, typed: name, reason: 'x' };
    expect((await release({ ...fields, client: client.replace(/7$/, '8') })).json).toEqual({ error: 'changed' });
    expect(await redis.exists(name)).toBe(1);
    expect((await release({ ...fields, client })).json).toEqual({ released: true });
    expect(await redis.exists(name)).toBe(0);
  });

  it('shows the lock as it is after the release, not as it was asked a moment before', async () => {
    const { get, release, console } = bound(await open(undefined, { forceRelease }));
    const name = unique();
    await console.locks.acquire(name);
    const look = async () => (await get(`/api/lock?name=${name}`)).json as { holders: object[] };
    expect((await look()).holders).toHaveLength(1);
    const fencingToken = await console.token(name);
    expect((await release({ name, typed: name, fencingToken, reason: 'x' })).status).toBe(200);
    expect((await look()).holders).toHaveLength(0);
  });

  it('takes nothing from a holder that was not seen, and says that it has changed', async () => {
    const { release, console } = bound(await open(adapter, { forceRelease }));
    const name = unique();
    await (await console.locks.acquire(name)).release();
    const lock = await console.locks.acquire(name);
    const reply = await release({ name, typed: name, fencingToken: (await console.token(name)) - 1, reason: 'x' });
    expect([reply.status, reply.json]).toEqual([409, { error: 'changed' }]);
    expect(lock.isHeld).toBe(true);
  });

  it.each([
    ['from another origin', { 'sec-fetch-site': 'cross-site' }],
    ['from another host of the site', { 'sec-fetch-site': 'same-site' }],
    ['from another origin, by an old browser', { 'sec-fetch-site': undefined, origin: 'https://evil.example' }],
    ['from a page without an origin', { 'sec-fetch-site': undefined, origin: 'null' }],
    ['that does not say where it is from', { 'sec-fetch-site': undefined }],
    ['without its header, as a form sends it', { 'x-lock-console': undefined }],
    ['of a media type that forms can send', { 'content-type': 'text/plain' }],
  ])('refuses to release for a request %s', async (_what, headers) => {
    const { release, console } = bound(await open(adapter, { forceRelease }));
    const name = unique();
    const lock = await console.locks.acquire(name);
    const fields = { name, typed: name, fencingToken: await console.token(name), reason: 'x' };
    expect((await release(fields, { headers })).status).toBe(403);
    expect(lock.isHeld).toBe(true);
  });

  it('accepts a browser without Sec-Fetch-Site whose origin is the host', async () => {
    const { release, console } = bound(await open(adapter, { forceRelease }));
    const name = unique();
    await console.locks.acquire(name);
    const fields = { name, typed: name, fencingToken: await console.token(name), reason: 'x' };
    const origin = await console.app.getUrl();
    expect((await release(fields, { headers: { 'sec-fetch-site': undefined, origin } })).status).toBe(200);
  });

  it.each([
    [{ typed: 'something else' }, 'typed'],
    [{ typed: undefined }, 'typed'],
    [{ reason: '' }, 'reason'],
    [{ reason: ' ' }, 'reason'],
    [{ reason: 'x'.repeat(201) }, 'reason'],
    [{ reason: 5 }, 'reason'],
    [{ fencingToken: undefined }, 'reason'],
    [{ fencingToken: '1' }, 'reason'],
  ])('refuses to release with %j', async (change, error) => {
    const { release, console } = bound(await open(adapter, { forceRelease }));
    const name = unique();
    const lock = await console.locks.acquire(name);
    const fields = { name, typed: name, fencingToken: await console.token(name), reason: 'x', ...change };
    const reply = await release(fields);
    expect([reply.status, reply.json]).toEqual([400, { error }]);
    expect(lock.isHeld).toBe(true);
  });

  it('refuses to release for a person without a name, and logs that', async () => {
    const { release, console } = bound(await open(adapter, { forceRelease }));
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const name = unique();
    const lock = await console.locks.acquire(name);
    const fields = { name, typed: name, fencingToken: await console.token(name), reason: 'x' };
    expect((await release(fields, { headers: { 'x-person': undefined } })).status).toBe(403);
    expect(lock.isHeld).toBe(true);
    expect(warn.mock.calls.flat().join()).toContain('forceRelease.actor');
  });

  it('is read-only by default: there is no route that releases', async () => {
    const { release } = bound(await open(adapter));
    expect((await release({})).status).toBe(404);
  });

  it.each(['', '%00'.repeat(2000), 'a'.repeat(1025)])('refuses a name that no lock can have', async (name) => {
    const { get } = bound(await open(adapter));
    expect((await get(`/api/lock?name=${name}`)).status).toBe(400);
    expect((await get('/api/lock?name[]=a&name[]=b')).status).toBe(400);
    expect((await get('/api/overview?connection=other')).status).toBe(404);
  });
});

describe('what the console sends', () => {
  it('has names with markup and control characters as JSON, which no browser reads as a page', async () => {
    const { get, console } = bound(await open());
    const name = `<script>alert(1)</script>\u202e\u0000"'&${unique()}`;
    await console.locks.acquire(name, { label: '<img src=x onerror=alert(1)>' });
    const reply = await get(`/api/lock?name=${encodeURIComponent(name)}`);
    expect(reply.json).toMatchObject({ key: name });
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('contains no claim, no ticket and no password', async () => {
    const server = await startRedis();
    closing.push(() => server.stop());
    const admin = new Redis(server.url);
    closing.push(async () => admin.disconnect());
    await admin.acl('SETUSER', 'locks', 'on', '>hidden-secret', '~*', '&*', '+@all');
    const redis = `redis://locks:hidden-secret@127.0.0.1:${server.port}`;
    const { get, console } = bound(await open(undefined, { forceRelease }, undefined, { redis }));
    const [name, sold] = [unique(), unique()];
    await console.locks.acquire(name);
    const ticket = await (await console.locks.acquire(sold)).export();
    const claim = (await admin.get(`lock:{${name}}`))!.split(' ')[0]!;
    const texts = await Promise.all(
      ['/api/overview', `/api/lock?name=${name}`, '/live', '/app.js'].map((path) => get(path)),
    );
    await server.stop();
    texts.push(await get('/api/overview'), await get(`/api/lock?name=${sold}`));
    const all = texts.map(({ text }) => text).join('\n');
    expect(all).toContain(name);
    for (const secret of ['hidden-secret', claim, claim.slice(0, 10), claim.split('.').at(-1)!, ticket])
      expect(all).not.toContain(secret);
    expect(texts.at(-1)!.json).toEqual({ error: 'unavailable' });
  });

  it('has names and labels as the application shows them, and finds the lock by both', async () => {
    const redact = (text: string, what: string) => (what === 'label' ? '…' : text.replace(/^user:.*@/, 'user:…@'));
    const { get, release, console } = bound(await open(undefined, { redact, forceRelease }));
    const name = `user:ann-${unique()}@example.com`;
    const shown = 'user:…@example.com';
    await console.locks.acquire(name, { label: 'secret label' });
    const overview = await get('/api/overview');
    expect(overview.json).toMatchObject({ own: { holds: { first: [{ key: shown, label: '…' }] } } });
    expect(overview.text).not.toContain('secret label');
    for (const asked of [shown, name]) {
      const reply = await get(`/api/lock?name=${encodeURIComponent(asked)}`);
      expect(reply.json).toMatchObject({ key: shown, holders: [{ label: '…' }] });
    }
    const fencingToken = await console.token(name);
    expect((await release({ name: shown, typed: shown, fencingToken, reason: 'x' })).status).toBe(200);
  });

  it('says when several locks are shown by one name', async () => {
    const { get, console } = bound(await open(undefined, { redact: () => 'hidden' }));
    for (const name of [unique(), unique()]) await console.locks.acquire(name);
    const reply = await get('/api/lock?name=hidden');
    expect([reply.status, reply.json]).toEqual([409, { error: 'ambiguous' }]);
  });
});

describe('the work of the console', () => {
  /** Commands that Redis has executed of this user's scripts. */
  async function counting(): Promise<{ console: Console; count: () => Promise<number> }> {
    const server = await startRedis();
    closing.push(() => server.stop());
    const admin = new Redis(server.url);
    closing.push(async () => admin.disconnect());
    const console = await open(undefined, {}, undefined, { redis: server.url });
    const count = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0);
    return { console, count };
  }

  it('costs Redis nothing for requests that a guard refuses', async () => {
    const { console, count } = await counting();
    const before = await count();
    await Promise.all(Array.from({ length: 200 }, (_, index) => console.get(routes[index % routes.length]!, {})));
    expect(await count()).toBe(before);
  });

  it('is one question to Redis for all who ask at a time', async () => {
    const { console, count } = await counting();
    const before = await count();
    await Promise.all(Array.from({ length: 100 }, () => console.get('/api/overview')));
    await Promise.all(Array.from({ length: 100 }, () => console.get('/api/lock?name=one')));
    // Of the requests at a time; a slow machine may take more than the second for which an answer counts.
    expect((await count()) - before).toBeLessThan(10);
  });

  it('and its answers are small for a process with very many names', async () => {
    const module = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot({ shutdownTimeout: 0 }), LockConsoleModule.forRoot({ guards: 'none' })],
    }).compile();
    const app = module.createNestApplication({ logger: false, forceCloseConnections: true });
    closing.push(() => app.close());
    await app.listen(0, '127.0.0.1');
    const locks = app.get(RedisLockService);
    expect(app.get(LockTestBed)).toBeDefined();
    for (let done = 0; done < 20_000; done += 1_000)
      await Promise.all(Array.from({ length: 1_000 }, (_, index) => locks.acquire(String(`name:${done + index}`))));
    const { text, json } = await new Console(app, `${await app.getUrl()}/locks`).get('/api/overview');
    expect(text.length).toBeLessThan(50_000);
    expect(json).toMatchObject({ own: { held: 20_000, holds: { more: 19_950 } } });
  });
});

describe('the view of a fleet', () => {
  it('goes on without the record of a process that wrote another form of it', async () => {
    const server = await startRedis();
    closing.push(() => server.stop());
    const admin = new Redis(server.url);
    closing.push(async () => admin.disconnect());
    const [seconds] = await admin.time();
    const none = { first: [], more: 0 };
    const [lists, wait] = [
      { leads: none, long: none, holds: none, hot: none, incidents: none, findings: none, further: [], problems: [] },
      { key: 'x', name: 'x' },
    ];
    const of = (client: string, entry: object): string => {
      const contended = { first: [{ ...wait, kind: 'exclusive', callers: 1, longest: 1, ...entry }], more: 0 };
      const written = JSON.stringify({ form: 2, client, held: 0, waiting: 1, contended, ...lists });
      return `${Number(seconds) * 1_000 + 60_000} ${seconds}000 1 ${written}`;
    };
    await admin.hset('lock:1:activity', {
      'wrong.h.1': of('wrong', { flows: 'x' }),
      'right.h.2': of('right', { flows: [] }),
    });
    const { get } = bound(await open(undefined, {}, undefined, { redis: server.url }));
    const { status, json } = await get('/api/overview');
    expect(status).toBe(200);
    expect(json).toMatchObject({ contended: [{ key: 'x', waiters: [{ client: 'right' }] }] });
  });

  it('has what each process tells, and goes on with the last answer while Redis is away', async () => {
    const server = await startRedis();
    closing.push(() => server.stop());
    const { get, console } = bound(await open(undefined, {}, undefined, { redis: server.url }));
    const other = await Test.createTestingModule({
      imports: [RedisLockModule.forRoot({ redis: server.url, shutdownTimeout: 0 })],
    })
      .setLogger(new KeptLog())
      .compile();
    closing.push(() => other.close());
    await other.init();
    const name = unique();
    await console.locks.acquire(name, { label: 'holder' });
    other
      .get(RedisLockService)
      .acquire(name, { wait: Number.POSITIVE_INFINITY, label: 'waiter' })
      .catch(() => undefined);
    const contended = async () =>
      (await get('/api/overview')).json as { contended: Array<{ key: string }>; problem?: string; age: number };
    while ((await contended()).contended.length === 0);
    expect(await contended()).toMatchObject({
      contended: [{ key: name, callers: 1, holder: { label: 'holder' }, waiters: [{ label: 'waiter' }] }],
    });
    await server.stop();
    while ((await contended()).problem === undefined);
    expect(await contended()).toMatchObject({ problem: 'unavailable', contended: [{ key: name }] });
  });
});
