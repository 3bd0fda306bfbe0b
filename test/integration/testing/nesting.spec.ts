import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DistributedLock, InjectRedisLock, type LockFindingCode, lockName, RedisLockService } from 'nestjs-redis-lock';
import { LockTestBed, RedisLockTestingModule, type RedisLockTestingOptions } from 'nestjs-redis-lock/testing';
import { KeptLog } from '../../../conformance/kept-log.js';

@Injectable()
class Billing {
  @DistributedLock('invoice:#{id}')
  async charge(id: number, inside?: () => Promise<unknown>) {
    await inside?.();
  }
  @DistributedLock({ key: 'ledger', wait: '20s' })
  async book(inside?: () => Promise<unknown>) {
    await inside?.();
  }
  @DistributedLock({ key: ['year:#{year}', 'year:all'] })
  async close(year: number, inside: () => Promise<unknown>) {
    return [year, await inside()];
  }
  @DistributedLock('year:all')
  async closeAll() {}
}

@Injectable()
class Orders {
  constructor(
    readonly locks: RedisLockService,
    readonly billing: Billing,
    @InjectRedisLock('archive') readonly archive: RedisLockService,
  ) {}

  @DistributedLock('order:#{id}')
  async place(id: number) {
    await this.billing.charge(id);
  }
  @DistributedLock({ key: (id: number) => `order:${id}`, wait: 0 })
  async peek(_id: number) {}
  @DistributedLock({ key: 'parcel:#{id}', lease: '5s' })
  async send(id: number, inside: () => Promise<unknown>) {
    await inside();
    return id;
  }
  @DistributedLock({ key: 'crate:#{id}', lease: '5s', connection: 'archive' })
  async store(id: number, inside: () => Promise<unknown>) {
    return [id, await inside()];
  }
  async move(from: number, to: number) {
    await this.locks.using(lockName`account:${from}`, () => this.locks.using(lockName`account:${to}`, () => undefined));
  }
}

async function start(options: RedisLockTestingOptions = {}, archive = options) {
  const log = new KeptLog();
  const module = await Test.createTestingModule({
    imports: [
      RedisLockTestingModule.forRoot(options),
      RedisLockTestingModule.forRoot({ ...archive, name: 'archive', bed: new LockTestBed() }),
    ],
    providers: [Orders, Billing],
  })
    .setLogger(log)
    .compile();
  const app = Object.assign(await module.init(), { [Symbol.asyncDispose]: () => module.close() });
  const findings = (code: LockFindingCode) => log.lines.filter((line) => line.endsWith(`[${code}]`));
  return { app, orders: app.get(Orders), billing: app.get(Billing), findings, lines: log.lines };
}

describe('locks inside each other, in development', () => {
  it('are reported when two flows take them in different orders: once, with both call sites, before the second is requested', async () => {
    const { app, orders, billing, findings } = await start();
    await using _app = app;
    await orders.place(1);
    await orders.place(2);
    expect(findings('LOCK_DOCTOR_ORDER')).toEqual([]);
    let warnedBefore = 0;
    await billing.charge(3, async () => {
      const placing = orders.place(4);
      warnedBefore = findings('LOCK_DOCTOR_ORDER').length;
      await placing;
    });
    await billing.charge(5, () => orders.place(6));
    const [line, ...more] = findings('LOCK_DOCTOR_ORDER');
    expect([warnedBefore, more]).toEqual([1, []]);
    expect(line).toMatch(
      /'order:#\{id\}' \(Orders\.place\) inside 'invoice:#\{id\}' \(Billing\.charge\); 'invoice:#\{id\}' \(Billing\.charge\) inside 'order:#\{id\}' \(Orders\.place\)/,
    );
  });

  it('are reported as a circle of three, over templates, plain names and connections', async () => {
    const { app, orders, billing, findings } = await start();
    await using _app = app;
    await orders.place(1);
    await billing.charge(1, () => orders.archive.using('shelf:1', async () => undefined));
    expect(findings('LOCK_DOCTOR_ORDER')).toEqual([]);
    await orders.archive.using('shelf:2', () => orders.locks.using('order:17', async () => undefined));
    const [line, ...more] = findings('LOCK_DOCTOR_ORDER');
    expect(more).toEqual([]);
    expect(line).toMatch(
      /'order:\*' \(.*nesting\.spec.*\) inside 'shelf:\*' \(.*nesting\.spec.*:\d+.*\); 'invoice.*Orders\.place\); 'shelf:\*'.*inside 'invoice:#\{id\}' \(Billing/,
    );
  });

  it('are reported for two locks of one kind that are taken in both orders, with the line that took them', async () => {
    const { app, orders, findings } = await start();
    await using _app = app;
    await orders.move(1, 2);
    await orders.move(3, 4);
    expect(findings('LOCK_DOCTOR_ORDER')).toEqual([]);
    await orders.move(6, 5);
    expect(findings('LOCK_DOCTOR_ORDER')).toEqual([
      expect.stringMatching(
        /'account:5' \(.*nesting\.spec\.ts:\d+:\d+\) inside 'account:6' \(Orders\.move .*'account:2'.*inside 'account:1'/,
      ),
    ]);
  });

  it('are no inversion when they are taken together, but are one when a part of them is held before', async () => {
    const { app, orders, findings } = await start();
    await using _app = app;
    const nothing = async () => undefined;
    await orders.locks.using(['account:2', 'account:1', 'order:1'], () => orders.locks.using('account:2', nothing));
    await orders.locks.using(['order:2', 'account:3', 'account:3'], nothing);
    await (await orders.locks.acquire(['account:1', 'account:2'])).release();
    expect(findings('LOCK_DOCTOR_ORDER')).toEqual([]);
    await orders.locks.using('account:6', () => orders.locks.using(['account:6', 'account:5'], nothing));
    expect(findings('LOCK_DOCTOR_ORDER')).toEqual([
      expect.stringMatching(/'account:5' \(.*\) inside 'account:6' \(.*'account:2' \(.*\) inside 'account:1' \(/),
    ]);
  });

  it('are reported when the name of one template also fits another one of the method', async () => {
    const { app, orders, billing, findings } = await start();
    await using _app = app;
    await billing.close(2026, () => orders.place(1));
    await orders.locks.using('order:2', () => billing.closeAll());
    expect(findings('LOCK_DOCTOR_ORDER')).toEqual([
      expect.stringMatching(/'year:all' \(Billing\.closeAll\) inside 'order:\*'.*inside 'year:all' \(Billing\.close\)/),
    ]);
  });

  it('are reported when the inner one is taken by acquire, with the line that took it', async () => {
    const { app, orders, findings } = await start();
    await using _app = app;
    const { locks } = orders;
    await locks.using('bay', async () => (await locks.acquire('dock')).release());
    await locks.using('dock', async () => (await locks.tryAcquire('bay', { wait: '1s' }))?.release());
    expect(findings('LOCK_DOCTOR_ORDER')).toEqual([
      expect.stringMatching(
        /'bay' \(.*nesting\.spec.*:\d+.*\) inside 'dock'.*'dock' \(.*nesting\.spec.*:\d+.*\) inside 'bay'/,
      ),
    ]);
  });

  it('are reported for one name on two connections', async () => {
    const { app, orders, findings } = await start();
    await using _app = app;
    const { archive, locks } = orders;
    await archive.using('shelf', () => locks.using('shelf', async () => undefined));
    expect(findings('LOCK_DOCTOR_ORDER')).toEqual([]);
    await locks.using('shelf', () => archive.using('shelf', async () => undefined));
    expect(findings('LOCK_DOCTOR_ORDER')).toHaveLength(1);
  });

  it('are no inversion for a re-entry, a single try, or a request after the first lock was released', async () => {
    const { app, orders, billing, findings } = await start();
    await using _app = app;
    await billing.charge(1, async () => {
      await orders.locks.using('order:1', () => billing.charge(1));
      await orders.peek(2);
      await orders.locks.tryAcquire('order:3').then((lock) => lock?.release());
    });
    // Only this one waits inside an order: invoice → order was seen above, order → invoice is a re-entry there.
    await billing.book(() => orders.peek(5));
    await orders.peek(6);
    await billing.book();
    await orders.locks.using(['pin', 'pot'], { wait: 0 }, async () => undefined);
    await orders.locks.using('pot', () => orders.locks.using('pin', async () => undefined));
    expect(findings('LOCK_DOCTOR_ORDER')).toEqual([]);
  });

  it('are reported when the outer one has a fixed lease that ends before the wait of the inner one', async () => {
    const { app, orders, billing, findings } = await start();
    await using _app = app;
    for (const id of [1, 2]) await orders.send(id, () => billing.book());
    await orders.send(3, () => orders.locks.using('x', { wait: '1s' }, async () => undefined));
    await orders.locks.using('renewed', { lease: '5s', renew: true }, () => billing.book());
    expect(findings('LOCK_DOCTOR_LEASE')).toEqual([
      expect.stringMatching(/'parcel:#\{id\}' \(Orders\.send\).*5000 ms.*'ledger' \(Billing\.book\).*20000 ms/),
    ]);
  });

  it('are not reported for an outer one on a connection with checkNesting: false', async () => {
    const leases = async (archive: RedisLockTestingOptions) => {
      const { app, orders, billing, findings } = await start({}, archive);
      await using _app = app;
      await orders.store(1, () => billing.book());
      return findings('LOCK_DOCTOR_LEASE').length;
    };
    expect([await leases({}), await leases({ checkNesting: false })]).toEqual([1, 0]);
  });

  it('are reported once for each pair of call sites, under any names', async () => {
    const { app, orders, findings } = await start();
    await using _app = app;
    const slugs = Array.from({ length: 300 }, (_, index) => 'x'.repeat(index + 1));
    const nothing = async () => undefined;
    for (const slug of slugs)
      await orders.locks.using(String(`${slug}/outer`), { lease: '1s' }, () => orders.locks.using(slug, nothing));
    expect(findings('LOCK_DOCTOR_LEASE')).toEqual([expect.stringMatching(/'x\/outer' \(.*1000 ms.*'x' \(/)]);
  });

  it('are reported a hundred times at most, followed by a line that says so', async () => {
    const { app, orders, findings, lines } = await start();
    await using _app = app;
    const nothing = async () => undefined;
    for (let index = 1; index <= 150; index++) {
      const [one, other] = ['x'.repeat(index), 'y'.repeat(index)];
      await orders.locks.using(one, () => orders.locks.using(other, nothing));
      await orders.locks.using(other, () => orders.locks.using(one, nothing));
    }
    expect(findings('LOCK_DOCTOR_ORDER')).toHaveLength(100);
    expect(lines.filter((line) => line.includes('100 findings'))).toHaveLength(1);
  });

  it('are not checked with checkNesting: false or in production, and ignored findings are not reported', async () => {
    const invert = async ({ orders, billing }: Awaited<ReturnType<typeof start>>) => {
      await orders.place(1);
      await billing.charge(2, () => orders.place(3));
    };
    const environment = process.env['NODE_ENV'];
    const variants: [string | undefined, RedisLockTestingOptions, number][] = [
      [environment, { checkNesting: false }, 0],
      [environment, { ignoreFindings: ['LOCK_DOCTOR_ORDER'] }, 0],
      ['production', {}, 0],
      ['production', { checkNesting: true }, 1],
    ];
    for (const [variable, options, count] of variants) {
      process.env['NODE_ENV'] = variable;
      const scene = await start(options).finally(() => (process.env['NODE_ENV'] = environment));
      await using _app = scene.app;
      await invert(scene);
      expect([variable, options, scene.findings('LOCK_DOCTOR_ORDER').length]).toEqual([variable, options, count]);
    }
  });
});
