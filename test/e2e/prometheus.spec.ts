import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { lockName, RedisLockService } from 'nestjs-redis-lock';
import { AppModule } from '../../sample/src/app.module.js';
import { readSettings } from '../../sample/src/settings.js';
import { alertQueries, dashboardQueries, variableQueries } from '../support/prometheus-rules.js';
import { hasPrometheus, PrometheusServer } from '../support/prometheus-server.js';
import { sharedRedisUrl } from '../support/redis-server.js';
import { SampleProcess } from '../support/sample-process.js';

const rules = fileURLToPath(new URL('../../ops/alerts.yml', import.meta.url));
if (!hasPrometheus) console.warn('SKIPPED: a Prometheus that scrapes the sample (Debian package prometheus)');

(hasPrometheus ? describe : describe.skip)('a Prometheus that scrapes two processes of the sample', () => {
  const gig = `gig-${randomUUID()}`;
  let directory: string;
  let here: INestApplication;
  let url: string;
  let there: SampleProcess;
  let prometheus: PrometheusServer;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'scraped-'));
    const env = {
      SALE_GUARD: 'lock',
      REDIS_URL: sharedRedisUrl(),
      DATABASE_FILE: join(directory, 'sale.sqlite'),
      PAYMENT_MS: '400',
      LEASE_MS: '600',
    };
    here = await NestFactory.create(AppModule.forRoot(readSettings(env)), {
      logger: false,
      forceCloseConnections: true,
    });
    await here.listen(0, '127.0.0.1');
    url = await here.getUrl();
    there = await SampleProcess.start(env);
    prometheus = await PrometheusServer.start(
      [url, there.url].map((address) => new URL(address).host),
      rules,
    );
    await there.request('PUT', `/events/${gig}`, { capacity: 100 });
  });

  afterAll(async () => {
    await prometheus[Symbol.asyncDispose]();
    await there[Symbol.asyncDispose]();
    await here.close();
    await rm(directory, { recursive: true, force: true });
  });

  const buyHere = (): Promise<unknown> => fetch(`${url}/events/${gig}/tickets`, { method: 'POST' });
  const buyThere = (): Promise<unknown> => there.request('POST', `/events/${gig}/tickets`);

  /** Buyers in both processes, a buyer that is refused, and one whose lock an operator takes away. */
  const sell = async (): Promise<void> => {
    const locks = here.get(RedisLockService);
    const buyers = [buyHere(), buyHere(), buyThere(), buyHere()];
    while ((await locks.inspect(lockName`event:${gig}`)).holders.length === 0);
    expect(await locks.tryAcquire(lockName`event:${gig}`)).toBeNull();
    while (!(await locks.forceRelease(lockName`event:${gig}`)));
    await Promise.all(buyers);
  };

  it('gets series for every panel and variable of the dashboard', async () => {
    const deadline = performance.now() + 15_000;
    const queries = [...dashboardQueries(), ...variableQueries()];
    // A second round, so that the counters grow between two scrapes.
    await sell();
    await sell();
    let empty: string[];
    do {
      const results = await Promise.all(queries.map(({ expr }) => prometheus.query(expr)));
      empty = queries.filter((_, index) => results[index]!.length === 0).map(({ where, expr }) => `${where}: ${expr}`);
      if (empty.length > 0) await sell();
    } while (empty.length > 0 && performance.now() < deadline);
    expect(empty).toEqual([]);
  });

  it('evaluates every alert, and fires the one of the lost lock', async () => {
    // On a busy machine those about short leases and late renewals may fire, and this one for a lease that has run out.
    const revoked = async () =>
      (await prometheus.rules())
        .find(({ name }) => name === 'LockLost')!
        .alerts.filter(({ state, labels }) => state === 'firing' && labels['redis_lock_reason'] === 'revoked')
        .map(({ labels }) => labels);
    while ((await revoked()).length === 0);
    const all = await prometheus.rules();
    expect(all.map(({ name }) => `alert ${name}`)).toEqual(alertQueries().map(({ where }) => where));
    expect(all.filter(({ health }) => health !== 'ok').map(({ name, lastError }) => [name, lastError])).toEqual([]);
    expect(await revoked()).toEqual([expect.objectContaining({ job: 'sale', redis_lock_name: 'event:#{eventId}' })]);
  });

  it('gets no e-mail address of 250 names, and a series of its own for a name without values that comes last', async () => {
    const locks = here.get(RedisLockService);
    for (let index = 0; index < 250; index++) {
      const email = `person${index}@example.com`;
      await locks.using(index % 2 === 0 ? lockName`customer:${email}` : `raw:${email}`, () => undefined);
    }
    await locks.using(lockName`payments:settle`, () => undefined);
    const holds = (name: string) => prometheus.query(`redis_lock_hold_time_seconds_count{redis_lock_name="${name}"}`);
    while ((await holds('payments:settle')).length === 0);
    for (const name of ['customer:*', '*'])
      expect(Number((await holds(name))[0]!.value[1])).toBeGreaterThanOrEqual(125);
    const all = await prometheus.query('{__name__=~"redis_lock_.+"}');
    expect(all.length).toBeGreaterThan(100);
    expect(all.filter(({ metric }) => /@|person/.test(JSON.stringify(metric)))).toEqual([]);
  });

  it('is given metrics in which promtool finds no mistake', async () => {
    const input = await (await fetch(`${url}/metrics`)).text();
    expect(input).toContain('redis_lock_wait_time_seconds_bucket{');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
  });

  it('reads of both processes that locks are available, and their health routes say so', async () => {
    const query = () => prometheus.query('redis_lock_available');
    let available = await query();
    // A scrape of a busy machine may have failed: the next one counts.
    for (const end = performance.now() + 15_000; available.length < 2 && performance.now() < end;)
      available = await query();
    expect(available.map(({ value }) => value[1])).toEqual(['1', '1']);
    for (const address of [url, there.url]) {
      const response = await fetch(`${address}/health`);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 200,
        // One of the two leads and the other is a candidate.
        body: { details: { locks: { held: expect.any(Number), waiting: expect.any(Number) } } },
      });
    }
  });
});
