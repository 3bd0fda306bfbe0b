import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../sample/src/database.js';
import { Event } from '../../sample/src/events/event.entity.js';
import { sharedRedisUrl } from '../support/redis-server.js';
import { SampleProcess } from '../support/sample-process.js';

describe('a process of the sale that is paused past its lease, while it takes a payment', () => {
  let directory: string;
  let database: DataSource;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'paused-process-'));
    const options = databaseOptions({ databaseUrl: undefined, databaseFile: join(directory, 'sale.sqlite') });
    database = await new DataSource(options).initialize();
  });

  afterAll(async () => {
    await database.destroy();
    await rm(directory, { recursive: true, force: true });
  });

  /** Until the purchase is under way: it has raised the fence, and has a payment of some seconds before it. */
  const underWay = async (id: string) => {
    while ((await database.getRepository(Event).findOneByOrFail({ id })).fencingToken === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };

  it('cannot write its stale stock when it wakes up: no ticket is sold twice', async () => {
    const gig = `gig-${process.pid}-${Date.now()}`;
    const env = { REDIS_URL: sharedRedisUrl(), DATABASE_FILE: join(directory, 'sale.sqlite'), LEASE_MS: '1000' };
    await using slow = await SampleProcess.start({ ...env, PAYMENT_MS: '3000' });
    await using quick = await SampleProcess.start({ ...env, PAYMENT_MS: '0' });
    await quick.request('PUT', `/events/${gig}`, { capacity: 10 });

    const stale = slow.request('POST', `/events/${gig}/tickets`, { buyer: 'Sleeper' });
    await underWay(gig);
    slow.pause();
    const next = await quick.request('POST', `/events/${gig}/tickets`, { buyer: 'Next' });
    slow.resume();

    expect(next).toMatchObject({ status: 201, body: { buyer: 'Next' } });
    expect(await stale).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('in other hands by now') },
    });
    expect((await quick.request('GET', `/events/${gig}`)).body).toMatchObject({ left: 9, orders: 1 });
  }, 60_000);
});
