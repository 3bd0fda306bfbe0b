import 'reflect-metadata';
import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { currentLock } from 'nestjs-redis-lock';
import { LockTestBed, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { modules, Table } from '../../../examples/table.js';
import { closing } from '../nest/fixtures.js';
import { KeptLogger } from '../transports/kept-logger.js';

describe('docs/start/what-to-write.md, in examples/table.ts', () => {
  const start = async (bed: LockTestBed) => {
    const imports = [RedisLockTestingModule.forRoot({ bed })];
    const testing = Test.createTestingModule({ imports, providers: [Table] });
    const module = await testing.setLogger(new KeptLogger()).compile();
    return closing(await module.init());
  };

  it('has decorators that lock the names that it shows', async () => {
    await using app = await start(new LockTestBed());
    const table = app.get(Table);
    expect(await table.one('42')).toEqual(['42', ['product:42']]);
    expect(await table.twoValues({ id: 'gala' }, 7)).toEqual(['gala', 7, ['seat:gala:7']]);
    expect(await table.twoNames({ id: '9' }, { id: '7' })).toEqual(['9', '7', ['account:7', 'account:9']]);
    expect(await table.computed('x')).toEqual(['x', [`page:${createHash('sha256').update('x').digest('hex')}`]]);
    expect(await table.read('r')).toEqual(['r', ['report:r']]);
    expect(await table.tenAtOnce()).toEqual(['gateway']);
    expect(await table.fiveASecond()).toEqual(['gateway']);
    expect(await table.partOfMethod('4:2', async () => currentLock()?.key)).toBe('product:4%3A2');
  });

  it('has decorators that refuse, skip, and run once a minute, while another process holds the lock', async () => {
    const bed = new LockTestBed();
    await using app = await start(bed);
    const table = app.get(Table);
    expect(await table.refused()).toEqual(['import']);
    expect(await table.skipped()).toEqual(['cache:warm']);
    for (const key of ['import', 'cache:warm']) await bed.otherProcess().acquire(key);
    await expect(table.refused()).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(await table.skipped()).toBeUndefined();
    expect(await table.oncePerMinute()).toEqual(['report']);
    expect(await table.oncePerMinute()).toBeUndefined();
    await bed.advance('60s');
    expect(await table.oncePerMinute()).toEqual(['report']);
  });

  it('has a hold that ends after five minutes: its signal aborts', async () => {
    const bed = new LockTestBed();
    await using app = await start(bed);
    const aborted = app
      .get(Table)
      .bounded(
        (signal) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      );
    await expect(bed.until(aborted)).rejects.toMatchObject({ reason: 'max-hold' });
    expect(bed.clock.now()).toBe(300_000);
  });

  it('has options that the module accepts', () => {
    const urls = ['redis://one', 'redis://two', 'redis://three'] as const;
    expect(modules('127.0.0.1', 7000, urls)).toHaveLength(6);
  });
});
