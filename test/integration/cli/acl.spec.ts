import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, type LockClientOptions } from 'nestjs-redis-lock/client';
import { ClusterGroup } from '../../support/cluster-group.js';
import { cli } from '../../support/cli-process.js';
import { readerRules } from '../../support/documented-acl.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { SentinelGroup } from '../../support/sentinel-group.js';

const user = { username: 'watcher', password: 'secret' };
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'lock-acl-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** @param access of the administrator */
async function permit(servers: readonly RedisServer[], rules: readonly string[], access: object = {}): Promise<void> {
  for (const { port } of servers) {
    const admin = new Redis({ port, ...access });
    await admin.acl('SETUSER', user.username, 'on', `>${user.password}`, 'resetkeys', 'resetchannels', ...rules);
    await admin.quit();
  }
}

/** What the user with the documented permissions sees of a lock that an application holds. */
async function expectToSee(application: LockClientOptions, watcher: object): Promise<void> {
  const log = { log() {}, warn() {}, error() {} };
  await using locks = createLockClient({ ...application, shutdownTimeout: 0, log });
  await locks.acquire('seen');
  const config = join(directory, 'options.json');
  writeFileSync(config, JSON.stringify(watcher));
  for (const args of [['ls'], ['inspect', 'seen'], ['tree']])
    expect([args, await cli([...args, '--config', config])]).toEqual([
      args,
      {
        code: 0,
        errors: '',
        output: expect.stringMatching(args[0] === 'tree' ? /No process waits for a lock/ : /seen/),
      },
    ]);
  const { code } = await cli(['run', 'other', '--config', config, '--', 'true']);
  expect(code).toBe(78);
}

it('the read-only user of docs/reference/cli.md is enough in a cluster, with what a cluster also needs', async () => {
  await using group = await ClusterGroup.start();
  await permit(group.servers, [...readerRules(), '+cluster|slots']);
  const { nodes } = group.connection;
  await expectToSee({ cluster: group.connection }, { cluster: { nodes, options: { redisOptions: user } } });
});

it('is enough behind sentinels with a password of their own, in an options file', async () => {
  const passwords = { master: 'of-the-master', sentinels: 'of-the-sentinels' };
  await using group = await SentinelGroup.start({ replicas: 0, sentinels: 1, passwords });
  await permit(group.servers, readerRules(), { password: passwords.master });
  await expectToSee({ redis: group.connection }, { redis: { ...group.connection, ...user } });
});

it('is enough on each server of a quorum', async () => {
  const servers = await Promise.all([1, 2, 3].map(() => startRedis()));
  try {
    await permit(servers, readerRules());
    const nodes = servers.map(({ port }) => ({ port }));
    await expectToSee({ quorum: { nodes } }, { quorum: { nodes: nodes.map((node) => ({ ...node, ...user })) } });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
});
