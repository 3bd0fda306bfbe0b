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
import { KeptLog } from '../../support/kept-log.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
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
  it('refuses to start with a method that wants permits, and names it', async () => {
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

  it('starts, locks and says which server is away while one of the three is; the answer of two away names both', async () => {
    await using app = await start(onQuorum());
    const locks = app.get(RedisLockService);
    await servers[2]!.kill();
    try {
      await expect(locks.using('a', () => 'done')).resolves.toBe('done');
      await using late = await start(onQuorum({}, { strict: true, ignoreFindings: ['LOCK_DOCTOR_PERSISTENCE'] }));
      await expect(late.get(Report).write('tuesday')).resolves.toBe('tuesday');
      expect(log.lines.filter((line) => line.includes('locks go on while a majority is')).join('\n')).toContain(
        `127.0.0.1:${servers[2]!.port}, a node of the quorum`,
      );
      await servers[1]!.kill();
      const error = await locks.acquire('a', { wait: 0 }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(QuorumNotReachedError);
      expect((error as QuorumNotReachedError).votes.map(({ node, answer }) => [node, answer])).toEqual([
        [`127.0.0.1:${servers[0]!.port}`, 'granted'],
        [`127.0.0.1:${servers[1]!.port}`, 'unreachable'],
        [`127.0.0.1:${servers[2]!.port}`, 'unreachable'],
      ]);
      await expect(start(onQuorum({}, { strict: true }))).rejects.toThrow(/1 of 3 nodes of the quorum were reached/);
    } finally {
      await Promise.all(servers.slice(1).map((server) => server.isRunning || server.start()));
    }
  });

  it('has the doctor look at every server; what a restart forgets is of no interest with restartGuard', async () => {
    const forgetful = () => log.lines.filter((line) => line.includes('LOCK_DOCTOR_PERSISTENCE'));
    await using _app = await start(onQuorum());
    expect(servers.map(({ port }) => forgetful().filter((line) => line.includes(`:${port}:`)).length)).toEqual([
      1, 1, 1,
    ]);
    log = new KeptLog();
    await using _guarded = await start(onQuorum({ restartGuard: '30s' }));
    expect(forgetful()).toEqual([]);
  });

  it('refuses a server that is there twice, under whichever name', async () => {
    const [{ port }, second] = servers as [RedisServer, RedisServer];
    const nodes = [`redis://127.0.0.1:${port}`, second.url, { host: '127.0.0.1', port, db: 1 }];
    await expect(start(onQuorum({ nodes }))).rejects.toThrow(`quorum.nodes: 127.0.0.1:${port} is there twice`);
  });
});
