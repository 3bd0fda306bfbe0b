import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../../sample/src/app.module.js';
import { guards, type Guard, readSettings } from '../../sample/src/settings.js';
import { freePort, sharedRedisUrl } from '../support/redis-server.js';

/** The sample in this process, behind real HTTP. */
class Sample implements AsyncDisposable {
  private constructor(
    private readonly app: INestApplication,
    private readonly directory: string,
    private readonly url: string,
  ) {}

  static async start(guard: Guard, redisUrl = sharedRedisUrl()): Promise<Sample> {
    const directory = await mkdtemp(join(tmpdir(), 'sample-http-'));
    const env = {
      SALE_GUARD: guard,
      REDIS_URL: redisUrl,
      DATABASE_FILE: join(directory, 'sale.sqlite'),
      PAYMENT_MS: '1',
    };
    const app = await NestFactory.create(AppModule.forRoot(readSettings(env)), { logger: false });
    await app.listen(0, '127.0.0.1');
    return new Sample(app, directory, await app.getUrl());
  }

  request(method: string, path: string, body?: object): Promise<Response> {
    const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return fetch(this.url + path, { method, ...json });
  }

  async json(method: string, path: string, body?: object): Promise<unknown> {
    return (await this.request(method, path, body)).json();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}

describe.each(guards)('the sample over HTTP, guarded by %s', (guard) => {
  let sample: Sample;
  const gig = `/events/gig-${process.pid}-${guard}`;

  beforeAll(async () => {
    sample = await Sample.start(guard);
  });

  afterAll(() => sample[Symbol.asyncDispose]());

  it('sells one ticket after the other until none is left, and then responds 410', async () => {
    await sample.request('PUT', gig, { capacity: 2 });
    expect(await sample.json('POST', `${gig}/tickets`, { buyer: 'Ann' })).toMatchObject({ buyer: 'Ann' });
    expect(await sample.json('POST', `${gig}/tickets`)).toMatchObject({ buyer: 'anonymous' });
    expect((await sample.request('POST', `${gig}/tickets`)).status).toBe(410);
    expect(await sample.json('GET', gig)).toMatchObject({ capacity: 2, left: 0, sold: 2, orders: 2 });
  });

  it('puts an event on sale again, with a full stock and no orders', async () => {
    await sample.request('PUT', gig, { capacity: 1 });
    await sample.request('POST', `${gig}/tickets`);
    expect(await sample.json('PUT', gig, { capacity: 5 })).toMatchObject({ capacity: 5, left: 5, sold: 0, orders: 0 });
    expect((await sample.request('POST', `${gig}/tickets`)).status).toBe(201);
  });

  it('responds 404 for an unknown event', async () => {
    expect((await sample.request('GET', '/events/nowhere')).status).toBe(404);
    expect((await sample.request('POST', '/events/nowhere/tickets')).status).toBe(404);
  });

  it.each([{ capacity: 0 }, { capacity: 1.5 }, { capacity: '5' }, {}, { capacity: 5, price: 1 }])(
    'responds 400 for the stock %j',
    async (body) => {
      expect((await sample.request('PUT', gig, body)).status).toBe(400);
    },
  );

  it.each([{ buyer: '' }, { buyer: 5 }, { buyer: 'x'.repeat(101) }, { seat: 'A1' }])(
    'responds 400 for the buyer %j',
    async (body) => {
      expect((await sample.request('POST', `${gig}/tickets`, body)).status).toBe(400);
    },
  );
});

describe('the sample, guarded by lock', () => {
  it('sells every ticket once to buyers who come at once', async () => {
    await using sample = await Sample.start('lock');
    const gig = `/events/rush-${process.pid}`;
    await sample.request('PUT', gig, { capacity: 10 });
    const answers = await Promise.all(Array.from({ length: 25 }, () => sample.request('POST', `${gig}/tickets`)));
    expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(10);
    expect(answers.map(({ status }) => status).filter((status) => status === 410)).toHaveLength(15);
    expect(await sample.json('GET', gig)).toMatchObject({ left: 0, sold: 10, orders: 10 });
  });

  it('responds 503 with Retry-After and sells nothing while Redis is unreachable', async () => {
    await using sample = await Sample.start('lock', `redis://127.0.0.1:${await freePort()}`);
    await sample.request('PUT', '/events/gig', { capacity: 10 });
    const answer = await sample.request('POST', '/events/gig/tickets');
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await sample.json('GET', '/events/gig')).toMatchObject({ left: 10, orders: 0 });
  });
});

describe('the settings of the sample', () => {
  it.each([
    [{ SALE_GUARD: 'locks' }, 'SALE_GUARD'],
    [{ PORT: 'http' }, 'PORT'],
    [{ PORT: '70000' }, 'PORT'],
    [{ PAYMENT_MS: '-1' }, 'PAYMENT_MS'],
    [{ LEASE_MS: '1s' }, 'LEASE_MS'],
  ])('%j are refused by name', (env, name) => {
    expect(() => readSettings(env)).toThrow(name);
  });
});
