import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import type { LockConnectionOptions } from '../../../lib/connection/connection.options.js';
import { resolveConnection } from '../../../lib/connection/resolve-connection.js';
import { MemoryLockBackend } from '../../../lib/backends/memory/index.js';
import { cloneableOptions } from '../../../lib/worker/cloneable-options.js';
import { startRenewalWorker } from '../../../lib/worker/worker-thread.js';
import { KeptLog } from '../../../conformance/kept-log.js';

const copy = (options: LockConnectionOptions) => cloneableOptions(resolveConnection(options));
const secret = 'hunter2';

describe('the options of a connection for its worker', () => {
  it('are those of the application, as a copy that a thread can get', () => {
    const ca = Buffer.from('certificate');
    const redis = { host: 'h', port: 1, password: secret, sentinels: [{ host: 's' }], name: 'm', tls: { ca: [ca] } };
    const more = { replicas: { count: 1, timeout: 50 }, redisson: { tokens: 'fenced' } } as const;
    const copied = copy({ redis, keyPrefix: 'x:', commandTimeout: '2s', ...more });
    expect(structuredClone(copied)).toMatchObject({
      redis: { ...redis, tls: { ca: [new Uint8Array(ca)] } },
      keyPrefix: 'x:',
      commandTimeout: 2000,
      ...more,
    });
  });

  it.each([
    ['ioredis', Redis],
    ['ioredis 5', Redis5 as unknown as typeof Redis],
  ])('are those of a client of %s, without the functions that it has by default', (_, Client) => {
    const client = new Client(`redis://user:${secret}@h:7/3`, { lazyConnect: true, keyPrefix: 'p:' });
    const { redis } = structuredClone(copy({ redis: client }));
    expect(redis).toMatchObject({ host: 'h', port: 7, db: 3, username: 'user', password: secret, keyPrefix: 'p:' });
  });

  it('are those of a cluster, or of a client of one', () => {
    const natMap = { '10.0.0.1:7000': { host: 'h', port: 1 } };
    const nodes = [{ host: 'a', port: 7 }];
    const redisOptions = { password: secret };
    const options = { natMap, redisOptions, keyPrefix: '{p}:' };
    for (const given of [
      { cluster: { nodes, options } },
      { redis: new Cluster(nodes, { ...options, lazyConnect: true }) },
    ])
      expect(structuredClone(copy(given).cluster)).toMatchObject({ nodes, options });
  });

  it('leave out the functions that the library replaces in any case', () => {
    const { redis } = copy({ redis: { host: 'h', retryStrategy: () => 1, reconnectOnError: () => true } });
    expect(redis).toEqual({ host: 'h' });
  });

  it.each<[string, LockConnectionOptions]>([
    ['redis.natMap', { redis: { password: secret, sentinels: [{ host: 's' }], name: 'm', natMap: () => null } }],
    ['redis.tls.checkServerIdentity', { redis: { password: secret, tls: { checkServerIdentity: () => undefined } } }],
    ['redis.tls.ca', { redis: { password: secret, tls: { ca: new (class Authority {})() as never } } }],
    ['redis.sentinelRetryStrategy', { redis: new Redis({ lazyConnect: true, sentinelRetryStrategy: () => 7 }) }],
    [
      'cluster.options.redisOptions.Connector',
      {
        cluster: {
          nodes: [{ host: 'h' }],
          options: { redisOptions: { password: secret, Connector: class {} as never } },
        },
      },
    ],
    ['cluster.options.natMap', { cluster: { nodes: [{ host: 'h' }], options: { natMap: () => null } } }],
    ['redis.options.natMap', { redis: new Cluster([{ host: 'h' }], { lazyConnect: true, natMap: () => null }) }],
  ])('are refused with the path of %s, and without a password', (path, options) => {
    const refused = expect.objectContaining({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining(`renewFrom: 'worker': ${path} cannot be copied`),
    });
    expect(() => copy(options)).toThrow(refused);
    try {
      copy(options);
    } catch (error) {
      expect((error as Error).message).not.toContain(secret);
    }
  });

  it.each<[string, LockConnectionOptions]>([
    ['a quorum', { quorum: { nodes: ['redis://a', 'redis://b', 'redis://c'] } }],
    ['a backend of your own', { backend: new MemoryLockBackend() }],
  ])('are refused for %s', (what, options) => {
    expect(() => copy(options)).toThrow(
      expect.objectContaining({ code: 'LOCK_CONFIGURATION', message: expect.stringContaining(`not with ${what}`) }),
    );
  });
});

describe('a worker whose file is not there', () => {
  // As in a bundle: these tests run the sources.
  it('is refused with what to do', async () => {
    const started = startRenewalWorker(resolveConnection({}), new KeptLog(), { renewed: () => undefined });
    await expect(started).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringMatching(/found no file for its thread .*mark nestjs-redis-lock as external/),
    });
  });
});
