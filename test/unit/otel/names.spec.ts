import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { DistributedLock, lockName, type RedisLockService } from 'nestjs-redis-lock';
import { LockTestBed } from 'nestjs-redis-lock/testing';
import { registerLockMetrics } from 'nestjs-redis-lock/prometheus';
import { labels } from '../../../examples/metrics.js';
import { liveConnections } from '../../../lib/diagnostics/live-connections.js';
import { Telemetry } from './telemetry.js';

afterEach(() => liveConnections.clear());

class Accounts {
  @DistributedLock('user:#{email}')
  async open(email: string) {
    return email;
  }
  @DistributedLock({ key: ['mailbox:#{email}', 'inbox:#{email}:#{folder}'] })
  async file(email: string, folder: string) {
    return [email, folder];
  }
  @DistributedLock({ key: (email: string) => lockName`person:${email}` })
  async greet(email: string) {
    return email;
  }
  @DistributedLock({ key: (email: string) => `plain:${email}` })
  async plain(email: string) {
    return email;
  }
  @DistributedLock('#{email}')
  async bare(email: string) {
    return email;
  }
}

/** All names, attributes and labels that leave the process. */
async function told(telemetry: Telemetry, registry: Registry) {
  const metrics = await telemetry.metrics();
  return {
    spans: telemetry.spans.map(({ name }) => name),
    attributes: telemetry.spans.map(({ attributes, events, status }) => [attributes, events, status]),
    names: new Set(
      metrics.flatMap(({ dataPoints }) => dataPoints.map(({ attributes }) => attributes['redis_lock.name'])),
    ),
    metrics: metrics.flatMap(({ dataPoints }) => dataPoints.map(({ attributes }) => attributes)),
    scrape: await registry.metrics(),
  };
}

/** The usual ways in which a lock gets its name. */
async function use(bed: LockTestBed, email: string): Promise<void> {
  const locks = bed.locks();
  await bed.connect(new Accounts()).open(email);
  await locks.using(lockName`customer:${email}:cart`, { label: email }, () => undefined);
  await locks.using(String(`raw:${email}`), { label: email }, () => undefined);
}

/** All others. */
async function useFurther(bed: LockTestBed, email: string): Promise<void> {
  const locks = bed.locks();
  const accounts = bed.connect(new Accounts());
  await accounts.file(email, 'sent');
  await accounts.greet(email);
  await accounts.plain(email);
  await accounts.bare(email);
  await locks.using([`raw:${email}`, lockName`customer:${email}:cart`, email], () => undefined);
  const shared = await locks.acquire(String(`page:${email}`), { shared: true });
  await expect(locks.acquire(String(`page:${email}`), { wait: 0, label: email })).rejects.toThrow('page');
  await locks.forceRelease(String(`page:${email}`), { actor: email, reason: email });
  await expect(shared.release()).resolves.toBeUndefined();
  await locks.adopt(await (await locks.acquire(String(`seat:${email}`))).export(), () => undefined);
  await expectRefused(locks, bed, email);
}

/** Waits behind another process, and gives up with an error that is named by a value. */
async function expectRefused(locks: RedisLockService, bed: LockTestBed, email: string): Promise<void> {
  const other = await bed.otherProcess().acquire(String(`taken:${email}`));
  const abort = new AbortController();
  const waiting = locks.acquire(String(`taken:${email}`), { signal: abort.signal });
  abort.abort(Object.assign(new Error('gone'), { name: email }));
  await expect(waiting).rejects.toThrow('gone');
  await other.release();
}

describe('what leaves the process by metrics and spans', () => {
  it('has none of 250 e-mail addresses in names of locks, by each way in which a lock gets its name', async () => {
    using telemetry = new Telemetry({ spans: 'all', blockedBy: true });
    const registry = new Registry();
    const end = registerLockMetrics({ registry, blockedBy: true });
    const bed = new LockTestBed();
    for (let index = 0; index < 250; index++) await use(bed, `person${index}@example.com`);
    for (let index = 0; index < 10; index++) await useFurther(bed, `person${index}@example.com`);
    // The last to come.
    await bed.locks().using(lockName`payments:settle`, () => undefined);
    const all = await told(telemetry, registry);
    end();
    expect(JSON.stringify([all.spans, all.attributes, all.metrics])).not.toMatch(/@|person\d/);
    expect(all.scrape).not.toMatch(/@|person\d/);
    // The counts: what is not there cannot hold an address.
    expect(all.spans.length).toBeGreaterThan(250 * 3 * 2);
    expect(
      [...all.names].filter((name) => name !== undefined).toSorted((one, other) => (one < other ? -1 : 1)),
    ).toEqual([
      '#{email}',
      '*',
      'customer:*:cart',
      'inbox:#{email}:#{folder}',
      'mailbox:#{email}',
      'payments:settle',
      'person:*',
      'user:#{email}',
    ]);
    expect(all.scrape).toContain('redis_lock_hold_time_seconds_count{redis_lock_name="payments:settle"');
  });

  it('has a name of the application for what has no template, where a function says so', async () => {
    using telemetry = new Telemetry(labels);
    const locks = new LockTestBed().locks();
    await locks.using('import:alice@example.com', () => undefined);
    await locks.using('alice@example.com', () => undefined);
    await locks.using(lockName`order:${17}`, () => undefined);
    const names = (await telemetry.points('redis_lock.hold_time')).map(([attributes]) => attributes['redis_lock.name']);
    expect(names).toEqual(['import:*', '*', 'order:*']);
  });
});

/** By the text of the code that fits a name best. */
const labelOf = async (name: string): Promise<unknown> => {
  using telemetry = new Telemetry();
  await new LockTestBed().locks().using(name, () => undefined);
  const [point] = await telemetry.points('redis_lock.hold_time');
  return point![0]['redis_lock.name'];
};

describe('the label of a lock', () => {
  it('is that of the template that makes its name, also where another process or an operator gives the name', async () => {
    class Shop {
      @DistributedLock('basket:#{id}')
      async fill(id: number) {
        return id;
      }
    }
    expect([Shop.name, await labelOf('basket:7'), await labelOf('basket:7:b'), await labelOf('basket')]).toEqual([
      'Shop',
      'basket:#{id}',
      '*',
      '*',
    ]);
    // One lock, one label.
    expect(await labelOf(lockName`basket:${7}`)).toBe('basket:#{id}');
  });

  it('is that of the text with the most characters of its own, where several fit', async () => {
    void [lockName`${'a'}:${'b'}:harbour`, lockName`ship:${'b'}:harbour`, lockName`ship:7:harbour`];
    expect([await labelOf('ship:7:harbour'), await labelOf('ship:8:harbour'), await labelOf('boat:8:harbour')]).toEqual(
      ['ship:7:harbour', 'ship:*:harbour', '*:*:harbour'],
    );
  });

  it('takes characters with a meaning in patterns as they are', async () => {
    expect(await labelOf(lockName`(a+)+$.:[${'x'}]|^\\d?/-`)).toBe(String.raw`(a+)+$.:[*]|^\d?/-`);
  });
});

describe('the label of an election', () => {
  const electionsOf = async (...names: string[]): Promise<unknown[]> => {
    using telemetry = new Telemetry();
    const bed = new LockTestBed();
    const locks = bed.locks();
    const campaigns = names.map((name) =>
      locks.election(name).campaign(async ({ signal }) => bed.sleep('1s').then(() => signal)),
    );
    await bed.advance(10);
    const points = await telemetry.points('redis_lock.leader');
    void campaigns;
    return points.map(([attributes, value]) => [attributes['redis_lock.name'], value]);
  };

  it('is its name, as the alerts of leaders need it', async () => {
    expect(await electionsOf('scheduler')).toEqual([['scheduler', 1]]);
  });

  it('has no values where lockName made the name', async () => {
    expect(await electionsOf(lockName`tenant:${'alice@example.com'}`, lockName`tenant:${'bob@example.com'}`)).toEqual([
      ['tenant:*', 2],
    ]);
  });
});

describe('the texts that are known', () => {
  it('are bounded, also for code that makes its own texts', async () => {
    for (let index = 0; index < 1100; index++) {
      const text = Object.assign([`made-${index}:`, ''], { raw: [`made-${index}:`, ''] });
      lockName(text, 'x');
    }
    expect([await labelOf('made-1:x'), await labelOf('made-1099:x')]).toEqual(['made-1:*', '*']);
  });
});
