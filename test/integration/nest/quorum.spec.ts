import 'reflect-metadata';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  currentLock,
  DistributedLock,
  QuorumNotReachedError,
  RedisLockModule,
  type RedisLockModuleOptions,
  type RedisLockQuorumOptions,
  RedisLockService,
} from 'nestjs-redis-lock';
import { KeptLog } from '../../../conformance/kept-log.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../engine/engine.js';
import { closing } from './fixtures.js';

let servers: RedisServer[];
let log: KeptLog;
beforeAll(async () => {
  servers = await Promise.all([1, 2, 3].map(() => startRedis()));
});
beforeEach(() => {
  log = new KeptLog();
});
afterAll(() => Promise.all(servers.map((server) => server.stop())));

const onQuorum = (
  quorum: Partial<RedisLockQuorumOptions> = {},
  options: RedisLockModuleOptions = {},
): RedisLockModuleOptions => ({ quorum: { nodes: servers.map(({ url }) => url), ...quorum }, ...options });

@Injectable()
class Report {
  readonly tokens: number[] = [];
  @DistributedLock({ key: 'report:#{day}', wait: '10s' })
  async write(day: string): Promise<string> {
    this.tokens.push(currentLock()!.fencingToken);
    await Promise.resolve();
    return day;
  }
}

const start = async (options: RedisLockModuleOptions) => {
  const module = Test.createTestingModule({ imports: [RedisLockModule.forRoot(options)], providers: [Report] });
  return closing(await (await module.setLogger(log).compile()).init());
};

@Injectable()
class Gateway {
  @DistributedLock({ key: 'gateway', limit: 10 })
  async call(): Promise<void> {}
}

describe('RedisLockModule.forRoot({ quorum })', () => {
  it('refuses to start with a method that needs permits, and names it', async () => {
    const module = Test.createTestingModule({ imports: [RedisLockModule.forRoot(onQuorum())], providers: [Gateway] });
    await expect((await module.setLogger(log).compile()).init()).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining('Gateway.call'),
    });
  });

  it('locks methods and calls of several applications over three servers', async () => {
    await using one = await start(onQuorum());
    await using other = await start(onQuorum());
    const reports = [one.get(Report), other.get(Report)];
    await Promise.all(reports.flatMap((report) => [1, 2, 3].map(() => report.write('monday'))));
    const tokens = reports.flatMap((report) => report.tokens);
    expect(new Set(tokens).size).toBe(6);
    await one.get(RedisLockService).using('a', async () => {
      expect(await other.get(RedisLockService).tryAcquire('a')).toBeNull();
    });
  });

  it('starts, locks and names the unavailable server while one of three is down; with two down the error names both', async () => {
    await using app = await start(onQuorum());
    const locks = app.get(RedisLockService);
    await servers[2]!.kill();
    try {
      await expect(locks.using('a', () => 'done')).resolves.toBe('done');
      await using late = await start(onQuorum({}, { strict: true }));
      await expect(late.get(Report).write('tuesday')).resolves.toBe('tuesday');
      expect(log.lines.filter((line) => line.includes('locks work while a majority is')).join('\n')).toContain(
        `127.0.0.1:${servers[2]!.port}, a node of the quorum`,
      );
      await servers[1]!.kill();
      const error = await locks.acquire('a', { wait: 0 }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(QuorumNotReachedError);
      expect((error as QuorumNotReachedError).votes.map(({ node, reply }) => [node, reply])).toEqual([
        [`127.0.0.1:${servers[0]!.port}`, 'granted'],
        [`127.0.0.1:${servers[1]!.port}`, 'unreachable'],
        [`127.0.0.1:${servers[2]!.port}`, 'unreachable'],
      ]);
      await expect(start(onQuorum({}, { strict: true }))).rejects.toThrow(/1 of 3 nodes of the quorum were reached/);
    } finally {
      await Promise.all(servers.slice(1).map((server) => server.isRunning || server.start()));
    }
  });

  it('makes the doctor check every server; with restartGuard it does not report that a restart forgets locks', async () => {
    const forgetful = () => log.lines.filter((line) => line.includes('LOCK_DOCTOR_PERSISTENCE'));
    await using _app = await start(onQuorum());
    expect(servers.map(({ port }) => forgetful().filter((line) => line.includes(`:${port}:`)).length)).toEqual([
      1, 1, 1,
    ]);
    log = new KeptLog();
    await using _guarded = await start(onQuorum({ restartGuard: '30s' }));
    expect(forgetful()).toEqual([]);
  });

  it('refuses a server that is given twice, under the same or another name', async () => {
    const [{ port }, second] = servers as [RedisServer, RedisServer];
    const nodes = [`redis://127.0.0.1:${port}`, second.url, { host: '127.0.0.1', port, db: 1 }];
    await expect(start(onQuorum({ nodes }))).rejects.toThrow(`quorum.nodes: 127.0.0.1:${port} is in the list twice`);
  });

  it('refuses a server that is given with two addresses', async () => {
    const [{ url, port }, second] = servers as [RedisServer, RedisServer];
    await using alias = await TcpProxy.to(port);
    await expect(start(onQuorum({ nodes: [url, second.url, alias.url] }))).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: `quorum.nodes: 127.0.0.1:${port} and 127.0.0.1:${alias.port} lead to the same server; a server that votes twice can elect two holders. Use different servers.`,
    });
  });

  it('gives no second vote to a server that appears at a second address later, and logs that', async () => {
    await using second = await startRedis();
    const [{ url, port }] = servers as [RedisServer];
    await using alias = await TcpProxy.to(port);
    await alias.refuse();
    await using app = await start(onQuorum({ nodes: [url, second.url, alias.url] }));
    const locks = app.get(RedisLockService);
    await (await locks.acquire('a')).release();
    await alias.heal();
    const line = `127.0.0.1:${port} and 127.0.0.1:${alias.port} lead to the same server`;
    await until(() => log.lines.some((text) => text.includes(line)));
    await (await locks.acquire('a')).release();
    await second.kill();
    await expect(locks.acquire('a', { wait: 0 })).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining(line),
    });
  });

  it('names the server that it cannot compare with the others', async () => {
    await using silent = await startRedis({ args: ['--user', 'locks', 'on', 'nopass', '~*', '&*', '+@all', '-info'] });
    const { host, port } = silent;
    const nodes = [...servers.slice(0, 2).map(({ url }) => url), { host, port, username: 'locks', password: 'any' }];
    await using app = await start(onQuorum({ nodes }));
    await (await app.get(RedisLockService).acquire('a')).release();
    const unknown = log.lines.filter((line) => line.includes('does not send its identity'));
    expect(unknown).toEqual([expect.stringContaining(`127.0.0.1:${port}`)]);
  });
});
