import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import type { TestingModule } from '@nestjs/testing';
import { Test } from '@nestjs/testing';
import { RedisLockModule, type RedisLockModuleOptions, RedisLockService } from 'nestjs-redis-lock';
import { KeptLog } from '../../../conformance/kept-log.js';
import { freePort, type RedisServer, startRedis } from '../../support/redis-server.js';
import { closing } from './fixtures.js';

/** The lines that an application logs about its locks as it starts, and the result of the start. */
async function start(options: RedisLockModuleOptions) {
  const log = new KeptLog();
  const imports = [RedisLockModule.forRoot({ ignoreFindings: 'all', ...options })];
  const module = closing(await Test.createTestingModule({ imports }).setLogger(log).compile());
  const error = await module.init().then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  return { module, error, lines: () => log.lines.filter((line) => !line.includes('dependencies initialized')) };
}

const refusal = (module: TestingModule, wait = 0): Promise<unknown> =>
  module
    .get(RedisLockService)
    .acquire('a', { wait })
    .then(
      (lock) => lock.release().then(() => 'granted'),
      (thrown: unknown) => thrown,
    );

let secret: RedisServer;
let open: RedisServer;
beforeAll(async () => {
  [secret, open] = await Promise.all([startRedis({ args: ['--requirepass', 'right'] }), startRedis()]);
});
afterAll(async () => {
  await Promise.all([secret.stop(), open.stop()]);
});

describe('an application whose Redis', () => {
  it('does not run logs one line with the reason, starts, and logs one more when Redis runs', async () => {
    const port = await freePort();
    const { module, error, lines } = await start({ redis: `redis://127.0.0.1:${port}` });
    await using _module = module;
    const line = expect.stringMatching(
      new RegExp(
        `^error Lock connection 'default': Redis at 127.0.0.1:${port} cannot be reached \\(connect ECONNREFUSED.*\\)\\. .*keeps trying.*LOCK_UNAVAILABLE\\.$`,
      ),
    );
    expect([error, lines()]).toEqual([undefined, [line]]);
    expect(lines()[0]).not.toMatch(/event loop|commandTimeout/);
    const refused = await refusal(module);
    expect(refused).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
    expect((refused as Error).message).toMatch(/ECONNREFUSED/);
    await using _redis = await startRedis({ port });
    // When the lock is granted, Redis runs.
    while ((await refusal(module, 1000)) !== 'granted');
    expect(lines()).toEqual([line, expect.stringMatching(/^log Redis at .* answers again; locks are available\.$/)]);
  });

  it('does not run logs one line with strict, does not start, and announces no other try', async () => {
    const port = await freePort();
    const { error, lines } = await start({ redis: `redis://127.0.0.1:${port}`, strict: true });
    expect(lines()).toEqual([
      expect.stringMatching(/^error .*ECONNREFUSED.*The application does not start \(option strict\)\.$/),
    ]);
    expect(lines()[0]).not.toMatch(/again/);
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
  });

  it.each([
    ['a wrong password', { password: 'wrong' }, /refuses the password \(WRONGPASS\).*username and password/],
    ['no password', {}, /requires a password \(NOAUTH\)\. Set password.*redis:\/\/user:password@host/],
  ])('gets %s logs one line that says what to check, and does not start', async (_what, credentials, words) => {
    const { error, lines } = await start({ redis: { port: secret.port, ...credentials } });
    expect(lines()).toEqual([expect.stringMatching(/^error Lock connection 'default': Redis at .*does not start\.$/)]);
    expect(lines()[0]).toMatch(words);
    expect(lines()[0]).not.toMatch(/again|HELLO|ACL/);
    expect(error).toMatchObject({ code: 'LOCK_CONFIGURATION' });
    expect(error!.message).toMatch(words);
  });

  it.each<[string, RedisLockModuleOptions['redis'] & object, () => RedisServer]>([
    ['has fewer databases', { db: 99 }, () => open],
    ['does not let the user choose a database', { db: 1, username: 'narrow', password: 'p' }, () => open],
  ])(
    '%s logs one line that says so, and does not start: it never goes on in the database 0',
    async (_what, options, of) => {
      const admin = new Redis(of().url);
      await admin.acl('SETUSER', 'narrow', 'on', '>p', 'allkeys', 'allchannels', '+@all', '-select');
      admin.disconnect();
      const { db } = options as RedisOptions;
      for (const Client of [Redis, Redis5 as unknown as typeof Redis]) {
        const redis = new Client({
          host: of().host,
          port: of().port,
          ...(options as object),
          lazyConnect: true,
        });
        const { error, lines } = await start({ redis });
        expect(lines()).toEqual([
          expect.stringMatching(new RegExp(`^error .* refuses the database ${db}: .*\\. Set db, .*does not start\\.$`)),
        ]);
        expect(error).toMatchObject({ code: 'LOCK_CONFIGURATION' });
      }
    },
  );

  it('is a default because a variable is not set, says so: a warning when it answers, else in the error', async () => {
    const closed = await freePort();
    for (const host of [undefined, ''] as string[]) {
      const { module, lines } = await start({ redis: { host, port: open.port } });
      const why = `\\(the default host, as redis\\.host is ${host === '' ? 'empty' : 'undefined'}\\)`;
      expect(lines()).toEqual([
        expect.stringMatching(
          new RegExp(`^warn The locks live in Redis at \\S+:${open.port} ${why}\\. .*Name the server`),
        ),
      ]);
      expect(await refusal(module)).toBe('granted');
      await module.close();
      const away = await start({ redis: { host, port: closed } });
      expect(away.lines()).toEqual([expect.stringMatching(new RegExp(`^error .* ${why} cannot be reached`))]);
      expect(((await refusal(away.module)) as Error).message).toMatch(new RegExp(why));
      await away.module.close();
    }
  });

  it('has no TLS, but a client with TLS, logs the advice to leave TLS out', async () => {
    const { module, lines } = await start({ redis: `rediss://127.0.0.1:${open.port}` });
    await using _module = module;
    expect(lines()).toEqual([expect.stringMatching(/^error .*no connection within 2000 ms; .*TLS.*redis:\/\//)]);
    expect(((await refusal(module)) as Error).message).toMatch(/TLS/);
  });

  it('stops later logs one line with the reason', async () => {
    const redis = await startRedis();
    const { module, lines } = await start({ redis: redis.url });
    await using _module = module;
    expect(lines()).toEqual([]);
    await redis.stop();
    await expect(refusal(module, 2000)).resolves.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
    expect(lines()).toEqual([
      expect.stringMatching(
        /^warn Redis at .* is not reachable \((the connection was closed|read ECONNRESET)\); locks/,
      ),
    ]);
  });

  it('closes the connection under a command is reported as that, and not as a setting of ioredis', async () => {
    await using redis = await startRedis();
    const { module } = await start({ redis: redis.url });
    await using _module = module;
    redis.pause();
    const asked = refusal(module, 60_000);
    // It is sent in this turn.
    await new Promise(setImmediate);
    await redis.kill();
    const error = (await asked) as Error;
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    expect(error.message).not.toMatch(/max retries/i);
    expect((error.cause as Error).message).not.toMatch(/max retries/i);
  });
});
