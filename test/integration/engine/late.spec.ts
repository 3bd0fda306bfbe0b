import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { setImmediate as turn } from 'node:timers/promises';
import { exclusive, type LockDemand } from 'nestjs-redis-lock/backend';
import { RedisBackend } from '../../support/backends.js';
import { answerInTime } from '../../../lib/backends/redis/redis-connection.js';
import { certainUntil } from '../../../lib/core/clock.js';
import { Party } from '../../../conformance/party.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { deferred } from '../../support/scripted-backend.js';
import type { RedisServer } from '../../support/redis-server.js';
import { keysOf, unique, until } from './engine.js';
import { serverOfDescribe } from './server-of-describe.js';

const lease = 20_000;
const shared: LockDemand = { kind: 'shared', permits: 1, limit: 0 };
const demands = [exclusive, shared, { kind: 'permits', permits: 1, limit: 2 }] as const;

describe('a command, reply or message that arrives late', () => {
  let server: RedisServer;
  let admin: Redis;
  let keyPrefix: string;

  serverOfDescribe((started) => ({ server, admin } = started));
  beforeEach(() => {
    keyPrefix = `${unique()}:`;
  });

  const join = async (commandTimeout = 5_000): Promise<{ backend: RedisBackend; party: Party }> => {
    const backend = new RedisBackend({ redis: server.url, keyPrefix, commandTimeout, log: new KeptLog() });
    return { backend, party: await new Party(backend).start() };
  };

  describe('a command that is executed after its sender gave up', () => {
    it.each(demands)('takes nothing ($kind)', async (demand) => {
      const { backend, party } = await join();
      await using _ = party;
      backend.connection.latestUseful = () => 1;
      const once = { demand, isWanted: () => false };
      await expect(party.take('x', once)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect((await keysOf(admin, keyPrefix)).filter((key) => key.includes('{x}'))).toEqual([]);
    });

    it.each(demands)('moves nothing to another process ($kind)', async (demand) => {
      const { backend, party } = await join(50);
      await using _ = party;
      const held = await party.take('x', { demand });
      const { latestUseful } = backend.connection;
      backend.connection.latestUseful = () => 1;
      await expect(party.adopt(party.claim('x'), held)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      backend.connection.latestUseful = latestUseful;
      expect(await party.renew(held)).toEqual(expect.any(Number));
    });
  });

  it('because the estimate of the server clock was wrong is sent again, with the right estimate', async () => {
    const { backend, party } = await join();
    await using _ = party;
    const { connection } = backend;
    const { latestUseful } = connection;
    const wrong = (): void => {
      connection.latestUseful = (now) => {
        connection.latestUseful = latestUseful;
        return Math.min(1, now);
      };
    };
    wrong();
    const held = await party.take('x');
    wrong();
    expect(await party.adopt(party.claim('x'), held)).toEqual(expect.any(Number));
  });

  describe('a reply', () => {
    const calls: ReadonlyArray<[string, (party: Party, name: string) => Promise<() => Promise<number | string>>]> = [
      ...demands.map((demand): (typeof calls)[number] => [
        `to a question (${demand.kind})`,
        async (party, name) => async () => (await party.take(name, { lease, demand })).validUntil,
      ]),
      [
        'to a repeated acquire of the holder',
        async (party, name) => {
          const held = await party.take(name, { lease });
          return async () => {
            const reply = await party.ask(held, { lease });
            return reply.status === 'granted' ? reply.validUntil : reply.status;
          };
        },
      ],
      [
        'to a renewal',
        async (party, name) => {
          const held = await party.take(name, { lease: 10_000 });
          return () => party.renew(held, lease);
        },
      ],
      [
        'to an adoption',
        async (party, name) => {
          const held = await party.take(name, { lease: 10_000 });
          return () => party.adopt(party.claim(name), held, lease);
        },
      ],
    ];

    it.each(calls)('%s has a lease that counts from before the sending (G2)', async (_, prepare) => {
      const { party } = await join();
      await using _party = party;
      const ask = await prepare(party, 'x');
      const asked = ask();
      // All requests of this turn are sent; no reply is read before the loop continues.
      await new Promise((sent) => process.nextTick(sent));
      const sent = performance.now();
      while (performance.now() < sent + 5);
      expect(await asked).toBeLessThanOrEqual(certainUntil(sent, lease));
    });
  });

  it('a reply that was in the socket while the event loop was blocked breaks no connection; a missing reply does', async () => {
    let broken = 0;
    const redis = { stream: { destroy: () => broken++ } } as unknown as Redis;
    const answer = deferred<void>();
    const asked = answerInTime(redis, answer.promise, 1);
    setTimeout(answer.resolve, 1);
    const stalled = performance.now();
    while (performance.now() < stalled + 10);
    await asked;
    await turn();
    expect(broken).toBe(0);
    void answerInTime(redis, new Promise(() => undefined), 1);
    await until(() => broken > 0);
  });

  describe('a grant that is pushed', () => {
    const length = 60_000;

    /** What a client concludes from the message of a grant: its `validUntil`, or undefined if it has to confirm it. */
    const heard = async (
      message: (serverNow: number) => number,
      before: (backend: RedisBackend, serverNow: number) => void = () => undefined,
    ): Promise<number | undefined> => {
      const { backend, party } = await join();
      await using _ = await party.reachable();
      const [seconds, micros] = await admin.time();
      const now = Number(seconds) * 1e6 + Number(micros);
      const { name, id: claim } = party.claim('x');
      before(backend, now);
      const words = [claim, 5, 5, Math.round(message(now)), length, `${keyPrefix}{${name}}`];
      await admin.publish(`${keyPrefix}1:client:${party.id}`, words.join(' '));
      return (await party.pushed({ name, id: claim })).validUntil;
    };

    it('is used for the rest of its lease, counted by the clock of its server', async () => {
      expect(await heard((now) => now)).toEqual(expect.any(Number));
    });

    it('is not used when it is half over: the message was in the socket of a stopped process', async () => {
      expect(await heard((now) => now - (length / 2 + 1) * 1_000)).toBeUndefined();
    });

    it('is not used when it is in the future: it is from a server with another clock', async () => {
      expect(await heard((now) => now + 60_000_000)).toBeUndefined();
    });

    it('is not used when the last reply of the server is old: its clock may have been set', async () => {
      const old = (backend: RedisBackend, now: number): void =>
        backend.connection.serverClock.observe(now - 6_000_000, performance.now() - 6_000);
      expect(await heard((now) => now, old)).toBeUndefined();
    });
  });

  it('the clock of a server is forgotten with its connection: another server may reply next', async () => {
    const { backend, party } = await join();
    await using _ = party;
    const { connection } = backend;
    expect(connection.latestUseful(performance.now())).toBeGreaterThan(0);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await until(() => !connection.usable);
    expect(connection.latestUseful(performance.now())).toBe(0);
  });
});
