import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { documentedRules } from '../support/documented-acl.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { rejection, until } from './support/conditions.js';
import { expectNoLeftovers } from './support/leftovers.js';
import { Locker } from './support/locker.js';
import { ServerView } from './support/server-view.js';

describe('a Redis with users', () => {
  let redis: RedisServer;

  beforeEach(async () => {
    redis = await startRedis({
      acl: [
        'user default on nopass ~* &* +@all',
        `user full on >secret ${documentedRules().join(' ')}`,
        'user elsewhere on >secret ~other:* &lock:* +@all',
        'user deaf on >secret ~lock:* resetchannels +@all',
        'user reader on >secret ~lock:* &lock:* -@all +@read +info +ping +client +time',
      ].join('\n'),
    });
  });
  afterEach(async () => {
    await redis.stop();
  });
  expectNoLeftovers();

  const as = (user: string, password = 'secret'): string => `redis://${user}:${password}@127.0.0.1:${redis.port}`;

  // Fault 33: I3, I5 configuration
  it('refuses a wrong password at start, without showing it', async () => {
    await using locker = new Locker(as('full', 'not-it'), { commandTimeout: 500 });
    const error = await rejection(locker.client.start());
    expect(error).toMatchObject({ code: 'LOCK_CONFIGURATION' });
    expect(error.message).toContain('WRONGPASS');
    expect(error.message + locker.log.lines.join('\n')).not.toContain('not-it');
  });

  // Fault 33: I3, I5 configuration
  it.each([
    ['scripts', 'reader', /NOPERM.*script\|load/],
    ['the keys of the prefix', 'elsewhere', /NOPERM.*key/],
    ['the channels of the clients', 'deaf', /(can't publish to|ACL failure in script).*channel/],
  ])(
    'refuses at start, at once, a user that may not use %s, and names the missing permission',
    async (_, user, message) => {
      await using view = await ServerView.of(redis);
      await using locker = new Locker(as(user), { commandTimeout: 500 });
      const error = await rejection(locker.client.start());
      expect(error).toMatchObject({ code: 'LOCK_CONFIGURATION' });
      expect(error.message).toMatch(message);
      // Its attempts have ended.
      for (const key of await view.redis.keys('*')) expect(await view.redis.pttl(key)).not.toBe(-1);
    },
  );

  it('needs no more than a short list of commands on its own keys and channels', async () => {
    await using locker = await Locker.to(as('full'));
    await using other = await Locker.to(as('full'));
    const lock = await locker.acquire('permitted', { lease: 900, renew: true });
    const next = other.acquire('permitted', { wait: '15s' });
    await using view = await ServerView.of(redis);
    await view.queued('permitted', 1);
    const { expiry } = (await view.holder('permitted'))!;
    await until('a renewal', async () => (await view.holder('permitted'))!.expiry > expiry);
    await lock.release();
    await (await next).release();
    expect([...locker.log.lines, ...other.log.lines]).toEqual([]);
  });
});
