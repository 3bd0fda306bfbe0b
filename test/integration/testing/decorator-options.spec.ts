import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { currentLock, DistributedLock, lockName, type LockNotAcquiredError } from 'nestjs-redis-lock';
import { LockTestBed, lockTestBedToken, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { Observable, lastValueFrom, of, toArray } from 'rxjs';

@Injectable()
class Reports {
  constructor(private readonly bed: LockTestBed) {}

  @DistributedLock({ key: 'r:#{id}', onLost: 'warn' })
  async tolerant(id: string): Promise<string> {
    await this.work(id);
    return 'done';
  }

  @DistributedLock({ key: 'r:#{id}', label: 'nightly #{id}' })
  async labelled(id: string, work: () => unknown = () => this.bed.inspect(`r:${id}`).holders): Promise<unknown> {
    return work();
  }

  @DistributedLock({ key: 'r:#{id}', onLost: 'throw' })
  async strict(id: string): Promise<string> {
    await this.work(id);
    return 'done';
  }

  @DistributedLock({ key: 'r:#{id}', wait: '2s', onContended: 'skip' })
  async skipping(id: string): Promise<string | undefined> {
    return `ran ${id}`;
  }

  @DistributedLock({
    key: 'r:#{id}',
    wait: 0,
    onContended: (error: LockNotAcquiredError, id: string) => `${id} in ${error.leaseLeft}`,
  })
  async falling(id: string): Promise<string> {
    return `ran ${id}`;
  }

  @DistributedLock({ key: 'r:#{id}', wait: 0, onContended: (_error, id: string) => of(`not ${id}`) })
  values(id: string): Observable<string> {
    return of(`ran ${id}`);
  }

  @DistributedLock({ key: 'r:#{id}', signal: (_id: string, signal?: AbortSignal) => signal })
  async abortable(id: string, _signal?: AbortSignal): Promise<string> {
    return `ran ${id}`;
  }

  @DistributedLock({ key: 'r:#{id}', connection: 'billing', wait: 0 })
  async billed(id: string): Promise<string> {
    return `ran ${id}`;
  }

  @DistributedLock({ key: 'file:#{path}', wait: 0 })
  async write(path: string): Promise<string | undefined> {
    return path && currentLock()?.key;
  }

  private async work(id: string): Promise<void> {
    this.bed.faults.lose(`r:${id}`);
    await this.bed.sleep('20s');
  }
}

describe('the options of @DistributedLock', () => {
  let app: TestingModule;
  let reports: Reports;
  let bed: LockTestBed;
  let logged: string[];

  beforeEach(async () => {
    app = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot(), RedisLockTestingModule.forRoot({ name: 'billing' })],
      providers: [Reports],
    }).compile();
    await app.init();
    reports = app.get(Reports);
    bed = app.get(LockTestBed);
    logged = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((message) => void logged.push(String(message)));
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await app.close();
  });

  it('label: shows what the work is, behind the method and as it is written', async () => {
    await expect(bed.until(reports.labelled('1'))).resolves.toMatchObject([
      { method: 'Reports.labelled', label: 'nightly #{id}' },
    ]);
    const refused = await bed.until(
      reports.labelled('1', () =>
        bed
          .otherProcess()
          .acquire('r:1', { wait: 0 })
          .catch((error: unknown) => error),
      ),
    );
    expect(refused).toMatchObject({
      holder: { method: 'Reports.labelled', label: 'nightly #{id}' },
      message: expect.stringContaining("held by Reports.labelled 'nightly #{id}' ("),
    });
  });

  it('onLost: work that succeeded after its lock was lost is an error, or only a line in the log', async () => {
    await expect(bed.until(reports.strict('1'))).rejects.toMatchObject({ code: 'LOCK_LOST' });
    await expect(bed.until(reports.tolerant('2'))).resolves.toBe('done');
    expect(logged).toEqual([expect.stringContaining("'r:1'"), expect.stringContaining("'r:2'")]);
  });

  it("onContended: 'skip' returns undefined when the lock was not free within wait", async () => {
    const lock = await bed.otherProcess().acquire('r:1');
    await expect(bed.until(reports.skipping('1'))).resolves.toBeUndefined();
    expect(bed.inspect('r:1').waiters).toEqual([]);
    await lock.release();
    await expect(reports.skipping('1')).resolves.toBe('ran 1');
  });

  it('onContended: a function gets the rest of the lease of the holder', async () => {
    await bed.otherProcess().acquire('r:1', { lease: '7s' });
    await expect(reports.falling('1')).resolves.toBe('1 in 7000');
    await expect(lastValueFrom(reports.values('1').pipe(toArray()))).resolves.toEqual(['not 1']);
    await expect(lastValueFrom(reports.values('2').pipe(toArray()))).resolves.toEqual(['ran 2']);
  });

  it('onContended: does not handle an outage', async () => {
    bed.faults.unavailable('5s');
    await expect(reports.falling('1')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });

  it('signal: ends the waiting of its call, which leaves the queue', async () => {
    await bed.otherProcess().acquire('r:1');
    const controller = new AbortController();
    const waiting = reports.abortable('1', controller.signal);
    await bed.advance('1s');
    expect(bed.inspect('r:1').waiters).toHaveLength(1);
    controller.abort(new Error('the client has gone'));
    await expect(waiting).rejects.toThrow('the client has gone');
    await bed.advance(0);
    expect(bed.inspect('r:1').waiters).toEqual([]);
  });

  it.each(['plain', 's3://bucket/x', '{a}', '100%', 'a:b{c}d%e'])(
    'key: lockName returns the name of the template, also for the value %s',
    async (path) => {
      const lock = await bed.otherProcess().acquire(lockName`file:${path}`);
      await expect(reports.write(path)).rejects.toMatchObject({ code: 'LOCK_CONTENDED', key: lock.key });
      await lock.release();
      await expect(reports.write(path)).resolves.toBe(lockName`file:${path}`);
    },
  );

  it('connection: the lock is taken on the named connection', async () => {
    await bed.otherProcess().acquire('r:1');
    await expect(reports.billed('1')).resolves.toBe('ran 1');
    await app.get<LockTestBed>(lockTestBedToken('billing')).otherProcess().acquire('r:1');
    await expect(reports.billed('1')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  });
});
