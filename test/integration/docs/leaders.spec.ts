import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { RedisLockService } from 'nestjs-redis-lock';
import { LockTestBed, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { Cleanup, Indexer, Reports, Scheduler } from '../../../examples/leaders.js';
import { closing } from '../nest/fixtures.js';
import { KeptLogger } from '../transports/kept-logger.js';

const start = async (bed: LockTestBed) => {
  const imports = [RedisLockTestingModule.forRoot({ bed })];
  const testing = Test.createTestingModule({ imports, providers: [Reports, Scheduler, Cleanup, Indexer] });
  return closing(await (await testing.setLogger(new KeptLogger()).compile()).init());
};

describe('the examples of docs/how-to/leaders.md', () => {
  it('write reports on the leader, with its epoch, and pass on to the other application', async () => {
    const bed = new LockTestBed();
    await using first = await start(bed);
    await bed.advance(1);
    await using second = await start(bed);
    await bed.advance(1);
    const [reports, later] = [first.get(Reports), second.get(Reports)];
    const { epoch } = reports.written[0]!;
    await Promise.all([first, second].map((app) => app.get(Cleanup).everyHour()));
    expect(reports.written).toEqual([
      { epoch, report: expect.stringContaining('report of') },
      { epoch, report: 'removed old reports' },
    ]);
    expect(later.written).toEqual([]);
    await first.close();
    await bed.advance(10);
    expect(later.written[0]!.epoch).toBeGreaterThan(epoch);
    expect(await later.write(epoch, 'late')).toBe(false);
  });

  it('stand by hand, watch the leaders, and stay out while they drain', async () => {
    const bed = new LockTestBed();
    await using app = await start(bed);
    await bed.advance(1);
    const [indexer, election] = [app.get(Indexer), app.get(RedisLockService).election('indexer')];
    expect(election.isLeader).toBe(true);
    expect(indexer.leaders.at(-1)).toMatch(/epoch \d+/);
    indexer.isDraining = true;
    await bed.advance(1_010);
    expect(election.isLeader).toBe(false);
    expect(indexer.leaders.at(-1)).toBe('no leader');
  });
});
