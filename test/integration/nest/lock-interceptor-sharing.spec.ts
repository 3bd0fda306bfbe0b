import 'reflect-metadata';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  type DynamicModule,
  type ExecutionContext,
  Get,
  type INestApplication,
  Post,
  Put,
  Query,
  UseInterceptors,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, LockInterceptor, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { type Deferred, deferred, onSharedRedis } from './fixtures.js';

const key = (context: ExecutionContext): string =>
  `report:${context.switchToHttp().getRequest<{ params: { id: string } }>().params.id}`;

/** The visitors inside a handler now, and all so far, in order. */
let inside: string[];
let events: string[];
/** Each visitor stays until its own is resolved. */
let leave: Map<string, Deferred>;

async function stay(who: string): Promise<string> {
  inside.push(who);
  events.push(`${who} in ${currentLock()!.key}`);
  await leave.get(who)!.promise;
  inside.splice(inside.indexOf(who), 1);
  events.push(`${who} out`);
  return who;
}

@Controller('reports/:id')
@UseInterceptors(LockInterceptor)
class Reports {
  constructor(private readonly locks: RedisLockService) {}

  @Get()
  @DistributedLock({ key, shared: true, wait: '1h' })
  read(@Query('who') who: string): Promise<string> {
    return stay(who);
  }

  @Get('now')
  @DistributedLock({ key, shared: true, wait: 0 })
  async readNow(): Promise<string> {
    return 'read';
  }

  @Put()
  @DistributedLock({ key, wait: '1h' })
  write(@Query('who') who: string): Promise<string> {
    return stay(who);
  }

  @Get('nested')
  @DistributedLock({ key, shared: true })
  async nested() {
    const { key: name } = currentLock()!;
    const depth = await this.locks.using(name, { shared: true }, ({ depth }) => depth);
    return [depth, await codeOf(this.locks.acquire(name))];
  }
}

@Controller('calls')
@UseInterceptors(LockInterceptor)
class Calls {
  constructor(private readonly locks: RedisLockService) {}

  @Post()
  @DistributedLock({ key: 'calls', limit: 2, wait: 0 })
  call(@Query('who') who: string): Promise<string> {
    return stay(who);
  }

  @Post('batch')
  @DistributedLock({ key: 'calls', limit: 2, permits: 2, wait: '1h' })
  batch(@Query('who') who: string): Promise<string> {
    return stay(who);
  }

  @Post('nested')
  @DistributedLock({ key: 'calls', limit: 3, permits: 2 })
  async nested() {
    const depth = await this.locks.using('calls', { limit: 3, permits: 2 }, (lock) => lock.depth);
    return [depth, await codeOf(this.locks.acquire('calls', { limit: 3, permits: 3 }))];
  }
}

const codeOf = (refused: Promise<unknown>): Promise<unknown> =>
  refused.then(
    () => 'none',
    ({ code }: { code: unknown }) => code,
  );

let app: INestApplication;
let locks: RedisLockService;

async function start(module: DynamicModule): Promise<void> {
  const built = await Test.createTestingModule({ imports: [module], controllers: [Reports, Calls] }).compile();
  app = built.createNestApplication({ logger: false, forceCloseConnections: true });
  await app.listen(0, '127.0.0.1');
  locks = app.get(RedisLockService);
}

const send = async (method: string, path: string): Promise<Response> =>
  fetch(`${await app.getUrl()}/${path}`, { method });
/** A request that stays inside until the test lets it leave. */
function visit(who: string, method: string, path: string): Promise<Response> {
  leave.set(who, deferred());
  return send(method, `${path}?who=${who}`);
}
/** Repeats until the values match; at the deadline it fails with the actual ones. */
async function comesTo(expected: unknown, look: () => unknown): Promise<void> {
  const end = performance.now() + 10_000;
  while (performance.now() < end && JSON.stringify(await look()) !== JSON.stringify(expected)) await turn();
  expect(await look()).toEqual(expected);
}
const areInside = (...who: string[]) => comesTo(who, () => inside.toSorted());
const waitFor = (name: string, ...methods: string[]) =>
  comesTo(methods, async () => (await locks.inspect(name)).waiters.map(({ method }) => method));
const refusal = async (response: Response) => ({
  status: response.status,
  code: ((await response.json()) as { code: unknown }).code,
  retryAfter: response.headers.get('Retry-After'),
});
const contended = { status: 409, code: 'LOCK_CONTENDED', retryAfter: expect.stringMatching(/^[1-9]\d*$/) };

describe.each([
  ['in Redis', () => RedisLockModule.forRoot(onSharedRedis())],
  ['in memory', () => RedisLockTestingModule.forRoot()],
])('LockInterceptor with locks for several at once, %s', (_, module) => {
  beforeEach(async () => {
    inside = [];
    events = [];
    leave = new Map();
    await start(module());
  });
  afterEach(async () => {
    for (const visitor of leave.values()) visitor.resolve();
    await app.close();
  });

  it('shared: lets readers in together, and a writer when all of them have left', async () => {
    const readers = [visit('ann', 'GET', 'reports/1'), visit('bob', 'GET', 'reports/1')];
    await areInside('ann', 'bob');
    const writer = visit('wim', 'PUT', 'reports/1');
    await waitFor('report:1', 'Reports.write');
    leave.get('ann')!.resolve();
    await readers[0];
    expect(inside).toEqual(['bob']);
    await waitFor('report:1', 'Reports.write');
    leave.get('bob')!.resolve();
    await areInside('wim');
    leave.get('wim')!.resolve();
    expect(await (await writer).text()).toBe('wim');
    expect(events.slice(2)).toEqual(['ann out', 'bob out', 'wim in report:1', 'wim out']);
  });

  it('shared: responds 409 to a reader while a writer is inside, for that key only, and lets it in afterwards', async () => {
    const writer = visit('wim', 'PUT', 'reports/1');
    await areInside('wim');
    expect(await refusal(await send('GET', 'reports/1/now'))).toEqual(contended);
    expect(await (await send('GET', 'reports/2/now')).text()).toBe('read');
    leave.get('wim')!.resolve();
    await writer;
    expect(await (await send('GET', 'reports/1/now')).text()).toBe('read');
  });

  it('limit: lets that many calls in, responds 409 to one more, and lets one in after the first response', async () => {
    const calls = [visit('ann', 'POST', 'calls'), visit('bob', 'POST', 'calls')];
    await areInside('ann', 'bob');
    expect(await refusal(await visit('cem', 'POST', 'calls'))).toEqual(contended);
    expect(inside.toSorted()).toEqual(['ann', 'bob']);
    leave.get('ann')!.resolve();
    await calls[0];
    const next = visit('dan', 'POST', 'calls');
    await areInside('bob', 'dan');
    for (const visitor of leave.values()) visitor.resolve();
    const answers = await Promise.all([...calls, next].map(async (answer) => (await answer).text()));
    expect(answers).toEqual(['ann', 'bob', 'dan']);
  });

  it('permits: a call that takes both of two waits for both, and keeps others out until its response', async () => {
    const call = visit('ann', 'POST', 'calls');
    await areInside('ann');
    const batch = visit('big', 'POST', 'calls/batch');
    await waitFor('calls', 'Calls.batch');
    leave.get('ann')!.resolve();
    await call;
    await areInside('big');
    expect(await locks.inspect('calls')).toMatchObject({ kind: 'permits', limit: 2, holders: [{ permits: 2 }] });
    expect(await refusal(await visit('bob', 'POST', 'calls'))).toEqual(contended);
    leave.get('big')!.resolve();
    await batch;
    expect(events).toEqual(['ann in calls', 'ann out', 'big in calls', 'big out']);
    expect((await locks.inspect('calls')).holders).toEqual([]);
  });

  it.each([
    ['shared', 'GET', 'reports/1/nested'],
    ['permits', 'POST', 'calls/nested'],
  ])('%s: lets the handler re-enter the lock of its request, and refuses more', async (_kind, method, path) => {
    expect(await (await send(method, path)).json()).toEqual([2, 'LOCK_UPGRADE']);
  });
});
