import 'reflect-metadata';
import { Agent, get as httpGet } from 'node:http';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { KeptLog } from '../../../conformance/kept-log.js';
import { Budget } from '../../../lib/console/budget.js';
import { ConsoleReader } from '../../../lib/console/console.reader.js';
import type { FindResponse, ListResponse, ProcessResponse } from '../../../lib/console/responses.js';
import { adapters } from '../transports/http-servers.js';
import { startRedis } from '../../support/redis-server.js';
import { unique } from '../engine/engine.js';
import { bound, closing, type Console, open, word } from './opened-console.js';

/** Another process of the fleet, as the console sees it. */
async function peer(redis: string, activity: boolean): Promise<RedisLockService> {
  const app = await Test.createTestingModule({
    imports: [RedisLockModule.forRoot({ redis, activity, shutdownTimeout: 0 })],
  })
    .setLogger(new KeptLog())
    .compile();
  closing.push(() => app.close());
  await app.init();
  return app.get(RedisLockService);
}

async function server(): Promise<string> {
  const started = await startRedis();
  closing.push(() => started.stop());
  return started.url;
}

const forEver = { wait: Number.POSITIVE_INFINITY };
const ignore = () => undefined;

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a search', () => {
  const find = async ({ get }: ReturnType<typeof bound>, text: string): Promise<FindResponse> =>
    (await get(`/api/find?text=${encodeURIComponent(text)}`)).json as unknown as FindResponse;

  it('has the locks that are held or waited for and whose names begin so', async () => {
    const opened = bound(await open(undefined, {}, undefined, { redis: await server() }));
    const { locks } = opened.console;
    for (const name of ['order:1', 'order:2', 'report:1']) await locks.acquire(name);
    locks.acquire('order:2', forEver).catch(ignore);
    expect(await find(opened, 'order:')).toEqual({
      text: 'order:',
      names: [
        { key: 'order:1', callers: 0 },
        { key: 'order:2', callers: 1 },
      ],
      isWhole: true,
      near: [],
    });
  });

  it('tells a name of which nothing is held or waited for, and shows those that look like it', async () => {
    const opened = bound(await open(undefined, {}, undefined, { redis: await server() }));
    const { locks } = opened.console;
    for (const name of ['order:1', 'Invoice:77', 'zebra']) await locks.acquire(name);
    const near = async (text: string) => {
      const { names, isWhole, near: found } = await find(opened, text);
      expect([names, isWhole]).toEqual([[], true]);
      return found.map(({ key }) => key);
    };
    expect(await near('oredr:1')).toEqual(['order:1']);
    expect(await near('order:12')).toEqual(['order:1']);
    expect(await near('invoice:77')).toEqual(['Invoice:77']);
    expect(await near('ORDER:1')).toEqual(['order:1']);
    expect(await near('completely-different')).toEqual([]);
  });

  it('says when it has not looked at all names', async () => {
    const opened = bound(await open(undefined, {}, undefined, { redis: await server() }));
    const names = Array.from({ length: 60 }, (_, index) => `order:${index}`);
    await Promise.all(names.map((name) => opened.console.locks.acquire(name)));
    const found = await find(opened, 'order:');
    expect([found.names.length, found.isWhole]).toEqual([50, false]);
  });

  it('goes by the names that are shown where they are redacted, so that none is guessed letter by letter', async () => {
    const redact = (name: string): string => name.replace(/:.*/, ':…');
    const opened = bound(await open(undefined, { redact }, undefined, { redis: await server() }));
    await opened.console.locks.acquire('user:ann');
    expect((await find(opened, 'user:')).names).toEqual([{ key: 'user:…', callers: 0 }]);
    const guessed = await find(opened, 'user:an');
    expect(guessed.names).toEqual([]);
    expect(JSON.stringify(guessed).replace('"text":"user:an"', '')).not.toContain('an');
  });
});

it('a search finds names by what is shown, where that begins in another way', async () => {
  const redact = (name: string): string => name.replace(/^.*:/, '…:');
  const redis = await server();
  const { get } = bound(await open(undefined, { redact }, undefined, { redis }));
  await (await peer(redis, false)).acquire('ann:7');
  const { json } = await get(`/api/find?text=${encodeURIComponent('…:')}`);
  expect(json).toMatchObject({ names: [{ key: '…:7' }], isWhole: true });
});

describe('a look at a process', () => {
  const look = async ({ get }: ReturnType<typeof bound>, id: string): Promise<ProcessResponse> =>
    (await get(`/api/process?id=${encodeURIComponent(id)}`)).json as unknown as ProcessResponse;

  it('has what this process holds, waits for and holds while it waits, and how many wait for it', async () => {
    const opened = bound(await open());
    const { locks } = opened.console;
    const [outer, inner, idle] = ['outer', 'inner', 'idle'].map((name) => `${name}:${unique()}`);
    await locks.acquire(idle!);
    await locks.acquire(inner!, { label: 'holder' });
    locks.using(outer!, () => locks.acquire(inner!, forEver)).catch(ignore);
    while ((await locks.inspect(outer!)).kind === undefined);
    const { client } = (await locks.inspect(inner!)).holders[0]!;
    const { processes } = await look(opened, client);
    expect(processes).toMatchObject([
      { client, pid: process.pid, isOwn: true, age: 0, held: 3, waiting: 1, problems: [], moreHolds: 0, moreWaits: 0 },
    ]);
    const { host, pid } = processes[0]!;
    for (const id of [host!, `${host}:${pid}`])
      expect((await look(opened, id)).processes.map((found) => found.client)).toContain(client);
    expect((await opened.get(`/api/process?id=${host}:0`)).status).toBe(404);
    const [{ holds, waits }] = processes as [ProcessResponse['processes'][number]];
    expect(holds[0]).toMatchObject({ key: inner, label: 'holder', callers: 1 });
    // Once each, although a caller tells of the one for which it waits.
    expect(holds).toHaveLength(3);
    expect(holds.slice(1).map(({ key }) => key)).toEqual(expect.arrayContaining([idle, outer]));
    expect(waits).toMatchObject([{ key: inner, callers: 1, holder: { label: 'holder' }, inside: [{ key: outer }] }]);
  });

  it('finds a process that tells nothing by those that wait for it', async () => {
    const redis = await server();
    const opened = bound(await open(undefined, {}, undefined, { redis }));
    const silent = await peer(redis, false);
    await silent.acquire('taken', { label: 'import' });
    opened.console.locks.acquire('taken', forEver).catch(ignore);
    while ((await opened.console.locks.inspect('taken')).waiters.length === 0);
    const { client } = (await silent.inspect('taken')).holders[0]!;
    const { processes } = await look(opened, client);
    expect(processes).toMatchObject([{ client, isOwn: false, holds: [{ key: 'taken', label: 'import', callers: 1 }] }]);
    expect(processes[0]).not.toHaveProperty('age');
    expect((await opened.get('/api/process?id=no-one')).json).toEqual({ error: 'process' });
  });
});

describe('a list', () => {
  const list = async ({ console }: { console: Console }, query: string): Promise<ListResponse> =>
    (await console.get(`/api/list?${query}`)).json as unknown as ListResponse;

  it('has the entries behind those that an overview shows, a hundred at a time', async () => {
    const opened = bound(await open());
    const { locks } = opened.console;
    const names = Array.from({ length: 105 }, () => unique());
    for (const name of names) {
      await locks.acquire(name);
      locks.acquire(name, forEver).catch(ignore);
    }
    const { client } = (await locks.inspect(names[0]!)).holders[0]!;
    const [first, rest] = [await list(opened, 'of=contended'), await list(opened, 'of=contended&from=100')];
    expect([first.items.length, rest.items.length, rest.total, rest.more]).toEqual([100, 5, 105, 0]);
    const shown = [...first.items, ...rest.items] as Array<{ key: string }>;
    expect(shown.map(({ key }) => key).sort()).toEqual([...names].sort());
    expect(await list(opened, `of=holds&id=${client}&from=100`)).toMatchObject({ total: 105, more: 0, from: 100 });
    const { processes } = (await opened.get(`/api/process?id=${client}`)).json as unknown as ProcessResponse;
    expect(processes.map(({ holds, moreHolds }) => [holds.length, moreHolds])).toEqual([[100, 5]]);
    expect(await list(opened, `of=waiters&name=${names[0]}`)).toMatchObject({
      items: [{ client, callers: 1 }],
      total: 1,
    });
  });

  it.each([
    ['of=nothing', 400],
    ['of=toString', 400],
    ['', 400],
    ['of=long&from=-1', 400],
    ['of=long&from=x', 400],
    ['of=waiters', 400],
    ['of=holds&id=no-one', 404],
    ['of=long&connection=other', 404],
  ])('is refused for %j', async (query, status) => {
    const { get } = bound(await open());
    expect((await get(`/api/list?${query}`)).status).toBe(status);
  });
});

describe.each(adapters)('what people may ask on %s', (_, adapter) => {
  const status = (agent: Agent, url: string): Promise<number> =>
    new Promise((resolve, reject) => {
      httpGet(url, { agent, headers: word }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode!));
      }).on('error', reject);
    });

  it('is counted for each connection of a browser, and refused with 429', async () => {
    const take = jest.spyOn(Budget.prototype, 'take');
    const { app } = await open(adapter);
    const url = `${await app.getUrl()}/locks/api/lock?name=`;
    const agents = [1, 2].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
    for (const agent of [...agents, ...agents]) expect(await status(agent, url + unique())).toBe(200);
    const [one, other, ...again] = take.mock.calls.map(([person]) => person);
    expect(one).toBeDefined();
    expect(one === other).toBe(false);
    expect([again[0] === one, again[1] === other]).toEqual([true, true]);
    take.mockReturnValue(false);
    expect(await status(agents[0]!, url + unique())).toBe(429);
    // Redis is not asked for it.
    const looked = jest.spyOn(ConsoleReader.prototype, 'hasLooked').mockReturnValue(true);
    expect(await status(agents[0]!, url + unique())).toBe(200);
    looked.mockRestore();
    expect(await status(agents[0]!, `${await app.getUrl()}/locks/api/find?text=a`)).toBe(429);
    for (const agent of agents) agent.destroy();
  });
});
