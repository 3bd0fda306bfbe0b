import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { KeptLog } from '../../conformance/kept-log.js';
import { startRedis } from '../support/redis-server.js';
import { until } from './support/observations.js';

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** The rules of a line of docs/how-to/redisson.md: what stands there is what is tested. */
function rulesOf(user: string): string[] {
  const page = readFileSync(new URL('../../docs/how-to/redisson.md', import.meta.url), 'utf8');
  const rules = new RegExp(`^ACL SETUSER ${user} on >secret resetkeys resetchannels (.+)$`, 'm').exec(page)?.[1];
  if (rules === undefined) throw new Error(`docs/how-to/redisson.md has no ACL SETUSER ${user}`);
  return rules.split(' ');
}

async function scene(rules: readonly string[]) {
  const server = await startRedis();
  closing.push(() => server.stop());
  const admin = new Redis(server.url);
  closing.push(() => admin.disconnect());
  await admin.acl('SETUSER', 'node', 'on', '>secret', 'resetkeys', 'resetchannels', ...rules);
  const log = new KeptLog();
  const client = (tokens: 'own' | 'fenced'): RedisLockClient => {
    const redis = { port: server.port, username: 'node', password: 'secret' };
    const made = createLockClient({ redis, redisson: { tokens }, log });
    closing.push(() => made.close());
    return made;
  };
  return { admin, log, client };
}

/** Everything that a lock of this mode does. */
async function everything({ admin, client }: Awaited<ReturnType<typeof scene>>): Promise<void> {
  const name = 'product:42';
  const channel = `redisson_lock__channel:{${name}}`;
  const listened = (): Promise<void> => until(async () => Number((await admin.pubsub('NUMSUB', channel))[1]) > 0);
  for (const tokens of ['own', 'fenced'] as const) {
    const [one, other] = [client(tokens), client(tokens)];
    await Promise.all([one.connect(), other.connect()]);
    const lock = await one.acquire(name);
    await expect(other.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lock.renew();
    const waiting = other.acquire(name);
    await listened();
    // Without the scripts in its cache the server needs EVAL.
    await admin.script('FLUSH');
    await lock.release();
    const ticket = await (await waiting).export();
    await one.adopt(ticket, async () => undefined);
    await (await one.acquire(name, { minHold: 1 })).release();
    const taken = await other.acquire(name);
    expect((await one.inspect(name)).holders).toHaveLength(1);
    expect(await one.forceRelease(name)).toBe(true);
    await taken.release();
    // A read lock that a dead service in Java has left.
    await admin.multi().hset(name, { mode: 'read', 'client:1': 1 }).pexpire(name, 30_000).exec();
    expect(await one.forceRelease(name)).toBe(true);
  }
}

describe('the smallest ACL of docs/how-to/redisson.md', () => {
  it('allows everything that a lock does, with own and with shared tokens', async () => {
    const place = await scene(rulesOf('node'));
    await everything(place);
    const refused = (await place.admin.acl('LOG')) as string[][];
    // ioredis sends its name to newer servers, and ignores a refusal.
    expect(refused.filter((entry) => !entry.includes('client|setinfo'))).toEqual([]);
    expect(place.log.lines.filter((line) => !line.includes('released by force'))).toEqual([]);
  });

  it('is the smallest: every permission in it is needed', async () => {
    const place = await scene(rulesOf('node'));
    await everything(place);
    const stats = await place.admin.info('commandstats');
    const called = [...stats.matchAll(/^cmdstat_([^:]+):calls=\d+/gm)].map((match) => match[1]!);
    const granted = rulesOf('node').filter((rule) => rule.startsWith('+'));
    // Sent by a waiter's second poll, and 2 s after the last waiter: this test does not wait for them.
    const later = ['+ping', '+unsubscribe'];
    expect(granted.filter((rule) => !called.includes(rule.slice(1)) && !later.includes(rule))).toEqual([]);
  });

  it('refuses names of other services, and the channels of other libraries', async () => {
    const { admin } = await scene(rulesOf('node'));
    for (const command of [
      ['GET', 'order:1'],
      ['PUBLISH', 'orders', '0'],
    ] as const)
      await expect(admin.call('ACL', 'DRYRUN', 'node', ...command)).resolves.toMatch(/no permissions/);
  });
});

it('leaves no key but the register, and with shared tokens the counter of each name', async () => {
  const place = await scene(rulesOf('node'));
  await everything(place);
  expect((await place.admin.keys('*')).toSorted()).toEqual([
    'nestjs-redis-lock:token-register',
    'redisson_lock_token:{product:42}',
  ]);
  expect(await place.admin.pttl('nestjs-redis-lock:token-register')).toBeGreaterThan(0);
});
