import 'reflect-metadata';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { promisify } from 'node:util';
import { runInThisContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OnQueueEvent } from '@nestjs/bullmq';
import { Controller, Get, Injectable, type ModuleMetadata, type OnModuleInit, Scope } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Cron, Interval, Timeout } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  DistributedLock,
  type DistributedLockOptions,
  LeaderOnly,
  RedisLockModule,
  type RedisLockModuleOptions,
} from 'nestjs-redis-lock';
import { documentedRules } from '../../support/documented-acl.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { closing, deferred, onSharedRedis } from './fixtures.js';

let healthy: RedisServer;
beforeAll(async () => {
  healthy = await startRedis({ args: ['--appendonly', 'yes'] });
});
afterAll(async () => {
  await healthy.stop();
});

async function compile(
  options: RedisLockModuleOptions,
  { imports = [], ...metadata }: ModuleMetadata = {},
  adapter?: FastifyAdapter,
) {
  const log = new KeptLog();
  const module = await Test.createTestingModule({
    imports: [RedisLockModule.forRoot({ redis: healthy.url, ...options }), ...imports],
    ...metadata,
  })
    .setLogger(log)
    .compile();
  const app = closing(adapter ? module.createNestApplication(adapter) : module.createNestApplication());
  return { app, lines: log.lines, findings: () => log.lines.filter((line) => line.includes('LOCK_DOCTOR')) };
}

async function start(...args: Parameters<typeof compile>) {
  const started = await compile(...args);
  await started.app.init();
  return started;
}

/** One finding of this code that contains all of these parts. */
const finding = (code: string, ...parts: string[]) => [told('warn', code, parts)];
/** The same for a finding that is no mistake. */
const remark = (code: string, ...parts: string[]) => [told('log', code, parts)];
const told = (level: string, code: string, parts: string[]) =>
  expect.stringMatching(new RegExp(`^${level} .*${parts.map((part) => `(?=.*${part})`).join('')}.*\\[${code}\\]$`));

@Injectable()
class Office {
  @DistributedLock('office:#{id}')
  async buy(id: string) {
    return id;
  }
}

describe('the doctor at start, of the server', () => {
  it('finds nothing in a healthy application on a healthy server', async () => {
    const { app, findings } = await start({ strict: true }, { providers: [Office] });
    await using _app = app;
    expect(findings()).toEqual([]);
    await expect(app.get(Office).buy('1')).resolves.toBe('1');
  });

  it('logs no warning for a default Redis, and notes that a restart forgets locks; strict starts', async () => {
    const { app, lines, findings } = await start({ ...onSharedRedis(), strict: true }, { providers: [Office] });
    await using _app = app;
    expect(findings()).toEqual(remark('LOCK_DOCTOR_PERSISTENCE', 'appendonly yes', 'in production'));
    expect(lines.filter((line) => !line.startsWith('log '))).toEqual([]);
  });

  it('warns of an eviction policy that evicts locks', async () => {
    await using redis = await startRedis({ args: ['--maxmemory', '50mb', '--maxmemory-policy', 'volatile-lru'] });
    const { app, findings } = await start({ redis: redis.url });
    await using _app = app;
    const address = `127.0.0.1:${redis.port}`;
    expect(findings()).toEqual([
      ...finding('LOCK_DOCTOR_EVICTION', address, 'volatile-lru', 'noeviction'),
      ...remark('LOCK_DOCTOR_PERSISTENCE', address, 'appendonly yes'),
    ]);
  });

  it('does not warn of a policy that never takes effect', async () => {
    await using redis = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru', '--appendonly', 'yes'] });
    const { app, findings } = await start({ redis: redis.url });
    await using _app = app;
    expect(findings()).toEqual([]);
  });

  it('does not start with strict, reports all mistakes at once without notes, and leaves no socket', async () => {
    const before = process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
    await using redis = await startRedis({ args: ['--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lfu'] });
    @Injectable()
    class Branch extends Office {
      override async buy(id: string) {
        return id;
      }
    }
    const { app } = await compile({ redis: redis.url, strict: true }, { providers: [Branch] });
    await using _app = app;
    const refused = app.init();
    await expect(refused).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringMatching(/strict[^]*LOCK_DOCTOR_OVERRIDDEN[^]*allkeys-lfu[^]*LOCK_DOCTOR_EVICTION/),
    });
    await expect(refused).rejects.toMatchObject({ message: expect.not.stringContaining('PERSISTENCE') });
    expect(process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length).toBe(before);
  });

  it('ignores the codes of its option, also with strict', async () => {
    await using redis = await startRedis({ args: ['--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lfu'] });
    const codes = ['LOCK_DOCTOR_PERSISTENCE', 'LOCK_DOCTOR_EVICTION'] as const;
    for (const ignoreFindings of [codes, 'all' as const]) {
      const { app, findings } = await start({ redis: redis.url, strict: true, ignoreFindings });
      await using _app = app;
      expect(findings()).toEqual([]);
    }
    expect(() => RedisLockModule.forRoot({ ignoreFindings: ['LOCK_DOCTOR_PERSISTENZ'] as never })).toThrow(
      /RedisLockModule.forRoot: ignoreFindings: 'LOCK_DOCTOR_PERSISTENZ' given/,
    );
    expect(() => RedisLockModule.forRoot({ ignoreFindings: 'none' as never })).toThrow(/ignoreFindings: 'none' given/);
  });

  describe('with an ACL', () => {
    async function startAs(user: string, acl: readonly string[], options: RedisLockModuleOptions = {}) {
      const admin = new Redis(healthy.url);
      await admin.acl('SETUSER', user, 'on', '>secret', 'resetkeys', 'resetchannels', ...acl);
      admin.disconnect();
      return start({ ...options, redis: { port: healthy.port, username: user, password: 'secret' } });
    }

    const without = (rule: string) => documentedRules().filter((other) => other !== rule);

    it('finds nothing with the smallest one', async () => {
      const { app, findings } = await startAs('smallest', documentedRules());
      await using _app = app;
      expect(findings()).toEqual([]);
    });

    it('warns that hand-offs will be slow if subscribing is refused', async () => {
      const { app, findings } = await startAs('deaf', without('+subscribe'));
      await using _app = app;
      expect(findings()).toEqual(finding('LOCK_DOCTOR_PERMISSION', "'subscribe'", '\\+subscribe'));
    });

    it('starts if INFO is refused, also with strict, and reports what it could not check', async () => {
      const { app, findings } = await startAs('blind', without('+info'), { strict: true });
      await using _app = app;
      expect(findings()).toEqual(remark('LOCK_DOCTOR_UNEXAMINED', "'info'", '\\+info'));
    });
  });
});

describe('the doctor at start, of the application', () => {
  /** As a tracing or transaction library does: finds methods of instances, and replaces them by its own functions. */
  class Library implements OnModuleInit {
    static wrap: () => void = () => {};
    onModuleInit() {
      Library.wrap();
    }
  }

  it('warns of a method that a library wrapped on the instance, outside of the lock', async () => {
    const office = new Office();
    Library.wrap = () => Object.assign(office, { buy: office.buy.bind(office) });
    const { app, findings } = await start({}, { providers: [Library, { provide: Office, useValue: office }] });
    await using _app = app;
    expect(findings()).toEqual(finding('LOCK_DOCTOR_WRAPPED', 'Office.buy', 'on the instance'));
  });

  it('warns of a method that a library wrapped on the class, once for all instances', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Desk {
      @DistributedLock('desk')
      async open() {}
    }
    const { open } = Desk.prototype;
    Library.wrap = () => {
      Desk.prototype.open = function (this: Desk) {
        return open.call(this);
      };
    };
    const { app, findings } = await start({}, { providers: [Library, Desk, { provide: 'again', useClass: Desk }] });
    await using _app = app;
    expect(findings()).toEqual(finding('LOCK_DOCTOR_WRAPPED', 'Desk.open', 'its class'));
  });

  it('warns of an override that does not call the locked method, and of no other override', async () => {
    @Injectable()
    class Branch extends Office {
      override async buy(id: string) {
        return `branch ${id}`;
      }
    }
    @Injectable()
    class Polite extends Office {
      override async buy(id: string) {
        const bought = await super.buy(id);
        return `polite ${bought}`;
      }
    }
    @Injectable()
    class Locked extends Office {
      @DistributedLock('other:#{id}')
      override async buy(id: string) {
        return `locked ${id}`;
      }
    }
    @Injectable()
    class Inheriting extends Office {}
    const { app, findings } = await start({}, { providers: [Branch, Polite, Locked, Inheriting] });
    await using _app = app;
    expect(findings()).toEqual(
      finding('LOCK_DOCTOR_OVERRIDDEN', 'Branch.buy overrides Office.buy', 'super\\.buy\\(\\)'),
    );
  });

  it('warns of objects with locked methods that Nest did not make', async () => {
    @Injectable()
    class Shop {
      readonly office = new Office();
    }
    @Injectable()
    class Client {
      constructor(readonly office: Office) {}
    }
    const { app, findings } = await start({}, { providers: [Shop, Client, Office] });
    await using _app = app;
    expect(findings()).toEqual(finding('LOCK_DOCTOR_UNPROVIDED', 'Shop\\.office is a Office'));
    await expect(app.get(Shop).office.buy('1')).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  });

  it('warns of templates that may mean another parameter after minification', async () => {
    // As a minifier writes it: `#{t}` was the first of (t, order), and now means the second of (e, t).
    const source = '(class Minified{async m(e,t){return[e,t]}async n(e){return e}})';
    const Minified = runInThisContext(source) as new () => object;
    decorate(Minified, 'm', '#{t}');
    decorate(Minified, 'n', '#{e}');
    const { app, findings } = await start({}, { providers: [Minified] });
    await using _app = app;
    expect(findings()).toEqual(finding('LOCK_DOCTOR_MINIFIED', 'Minified.m', '#{t}', 'e, t', '#{0}'));
  });

  const job = (decorators: MethodDecorator[]): new () => { run(): Promise<void> } => {
    class Job {
      async run() {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Job.prototype, 'run')!;
    for (const decorator of decorators.toReversed()) decorator(Job.prototype, 'run', descriptor);
    Object.defineProperty(Job.prototype, 'run', descriptor);
    Injectable()(Job);
    return Job;
  };
  const locked = (options: string | object) => DistributedLock(options as DistributedLockOptions) as MethodDecorator;

  it.each([
    ['@Cron', Cron('0 3 * * *')],
    ['@Interval', Interval(60_000)],
    ['@Timeout', Timeout(60_000)],
    ['@OnQueueEvent', OnQueueEvent('completed')],
  ])(
    'warns of a lock that lets each process run a method with %s, in any order of decorators',
    async (_which, mark) => {
      const inTurn = finding(
        'LOCK_DOCTOR_SCHEDULE',
        'Job.run',
        '10000 ms',
        "key: 'nightly', onContended: 'skip', minHold:",
      );
      for (const decorators of [
        [mark, locked('nightly')],
        [locked('nightly'), mark],
      ]) {
        const { app, findings } = await start({}, { providers: [job(decorators)] });
        await using _app = app;
        expect(findings()).toEqual(inTurn);
      }
      for (const options of [{ wait: 0 }, { onContended: 'skip' }]) {
        const { app, findings } = await start({}, { providers: [job([mark, locked({ key: 'nightly', ...options })])] });
        await using _app = app;
        expect(findings()).toEqual(finding('LOCK_DOCTOR_SCHEDULE', 'Job.run', 'has no minHold'));
      }
    },
  );

  it.each<[written: string, mark: MethodDecorator, minHold: string]>([
    ['@Interval(100)', Interval(100), '83'],
    ['@Interval(60_000)', Interval(60_000), "'50s'"],
    ['@Interval, a day', Interval(86_400_000), "'50s'"],
    ['@Interval(1)', Interval(1), '…'],
    ['@Interval without a number', Interval(Number.NaN), '…'],
    ['@Cron of each second', Cron('* * * * * *'), '833'],
    ['@Cron of each fifth second', Cron('*/5 * * * * *'), '4166'],
    ['@Cron of each seventh second', Cron('*/7 * * * * *'), '…'],
    ['@Cron of some seconds', Cron('1,3 * * * * *'), '…'],
    ['@Cron of each minute', Cron('* * * * *'), "'50s'"],
    ['@Cron of some minutes', Cron(' 0 1-5  * * * *'), "'50s'"],
    ['@Cron of each night', Cron('0 3 * * *'), "'50s'"],
    ['@Cron at a date', Cron(new Date(0)), '…'],
    ['@Timeout', Timeout(5), '…'],
    ['@OnQueueEvent', OnQueueEvent('completed'), '…'],
  ])('advises a minHold that is shorter than the period: %s', async (_written, mark, minHold) => {
    const advice = `key: 'a', onContended: 'skip', minHold: ${minHold} }\\)`;
    const { app, findings } = await start(
      {},
      { providers: [job([mark, locked('a')]), job([mark, locked({ key: 'a', wait: 0 })])] },
    );
    await using _app = app;
    expect(findings()).toEqual(Array(2).fill(finding('LOCK_DOCTOR_SCHEDULE', advice)[0]));
  });

  it.each<[written: string, mark: MethodDecorator, period: number, minHold: string]>([
    ['@Interval(100)', Interval(100), 100, '83'],
    ['@Cron of each tenth second', Cron('*/10 * * * * *'), 10_000, '8333'],
    ['@Cron of each minute', Cron('0 * * * * *'), 60_000, "'50s'"],
    ['@Cron of each fifth minute', Cron('*/5 * * * *'), 300_000, "'50s'"],
    ['@Cron of each hour', Cron('30 0 * * * *'), 3_600_000, "'50s'"],
    ['@Cron of each day', Cron('0 3 * * *'), 86_400_000, "'50s'"],
  ])('warns of a minHold that skips runs, since it is as long as the period: %s', async (_, mark, period, minHold) => {
    for (const [given, expected] of [
      [period - 1, []],
      [period, finding('LOCK_DOCTOR_SCHEDULE', `Job.run runs every ${period} ms`, `such as minHold: ${minHold}.`)],
    ] as const) {
      const skipping = locked({ key: 'a', onContended: 'skip', minHold: given });
      const { app, findings } = await start({}, { providers: [job([mark, skipping])] });
      await using _app = app;
      expect(findings()).toEqual(expected);
    }
  });

  it.each<[string, MethodDecorator[]]>([
    ['skips, and keeps its lock for some time', [locked({ key: 'a', onContended: 'skip', minHold: '50s' })]],
    ['has permits', [locked({ key: 'a', limit: 3 })]],
    ['is shared', [locked({ key: 'a', shared: true })]],
    ['runs on the leader only', [LeaderOnly('jobs') as MethodDecorator, locked('a')]],
    ['runs on the leader only, decorated below', [locked('a'), LeaderOnly('jobs') as MethodDecorator]],
  ])('does not warn of a job that %s', async (_what, decorators) => {
    const { app, findings } = await start({}, { providers: [job([Cron('0 3 * * *'), ...decorators])] });
    await using _app = app;
    expect(findings()).toEqual([]);
  });

  it('checks for each connection its own methods', async () => {
    @Injectable()
    class Branch extends Office {
      override async buy(id: string) {
        return id;
      }
    }
    const billing = RedisLockModule.forRoot({ redis: healthy.url, name: 'billing', strict: true });
    const { app, findings } = await start({}, { imports: [billing], providers: [Branch] });
    await using _app = app;
    expect(findings()).toHaveLength(1);
  });
});

describe('the doctor, for waits and the time-outs of an HTTP server', () => {
  const inside = deferred();
  const leave = deferred();

  @Controller('slow')
  class Slow {
    @Get()
    @DistributedLock({ key: 'slow', wait: '2m' })
    async get() {
      inside.resolve();
      await leave.promise;
      return 'done';
    }
    @DistributedLock('quick')
    async byDefault() {}
    @DistributedLock({ key: 'quick', wait: 50 })
    async short() {}
  }

  const both = [
    ...finding('LOCK_DOCTOR_HTTP_TIMEOUT', 'Slow.get', '120000 ms', 'server\\.timeout', ' 1000 ms'),
    ...finding('LOCK_DOCTOR_HTTP_TIMEOUT', "'default'", '10000 ms', '\\(Slow.byDefault\\)', ' 1000 ms'),
  ];

  it('warns of waits beyond server.timeout on Express, also when it was set after listening', async () => {
    const { app, findings } = await compile({}, { controllers: [Slow] });
    await using _app = app;
    app.getHttpServer().setTimeout(1000);
    await app.init();
    expect(findings()).toEqual(both);

    const late = await compile({}, { controllers: [Slow] });
    await using _late = late.app;
    await late.app.listen(0);
    expect(late.findings()).toEqual([]);
    late.app.getHttpServer().setTimeout(1000);
    // The doctor checks again in the next turn.
    await new Promise(setImmediate);
    expect(late.findings()).toEqual(both);
  });

  it('warns of waits beyond connectionTimeout and handlerTimeout on Fastify', async () => {
    const { app, findings } = await start({}, { controllers: [Slow] }, new FastifyAdapter({ connectionTimeout: 1000 }));
    await using _app = app;
    expect(findings()).toEqual(both);
    const handler = new FastifyAdapter({ connectionTimeout: 5000, handlerTimeout: 1000 } as never);
    const other = await start({}, { controllers: [Slow] }, handler);
    await using _other = other.app;
    expect(other.findings()).toEqual(
      [both[0], both[1]].map(() => expect.stringContaining('after 1000 ms (handlerTimeout)')),
    );
  });

  it('checks the time-outs that cut off a waiting client: server.timeout and handlerTimeout', async () => {
    const holding = await start({}, { controllers: [Slow] });
    await using _holding = holding.app;
    await holding.app.listen(0);
    const patient = ask(holding.app.getHttpServer());
    await inside.promise;
    // The lock is held: these two wait for it.
    const fastify = await start({}, { controllers: [Slow] }, new FastifyAdapter({ handlerTimeout: 100 } as never));
    await using _fastify = fastify.app;
    await fastify.app.listen(0);
    expect((await ask(fastify.app.getHttpServer())).status).toBe(503);
    const cut = await compile({}, { controllers: [Slow] });
    await using _cut = cut.app;
    cut.app.getHttpServer().setTimeout(100);
    await cut.app.listen(0);
    await expect(ask(cut.app.getHttpServer())).rejects.toThrow();
    leave.resolve();
    expect(await (await patient).text()).toBe('done');
  });

  it('checks no time-out for reading a request: a request that was read in time may get its response late', async () => {
    const [arrived, answer] = [deferred(), deferred()];
    const limits = { requestTimeout: 50, headersTimeout: 50, keepAliveTimeout: 50, connectionsCheckingInterval: 20 };
    const server = createServer(limits, (_request, response) => {
      arrived.resolve();
      void answer.promise.then(() => response.end('done'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const patient = ask(server);
    await arrived.promise;
    // A client that does not finish its request is cut off: by now the server has checked its limits after they were over.
    const slow = connect((server.address() as AddressInfo).port, '127.0.0.1');
    slow.write('GET / HTTP/1.1\r\n');
    const [refusal] = (await once(slow, 'data')) as [Buffer];
    expect(String(refusal)).toMatch(/^HTTP\/1.1 408/);
    slow.destroy();
    answer.resolve();
    expect(await (await patient).text()).toBe('done');
    server.closeAllConnections();
    await promisify(server.close.bind(server))();
  });
});

const ask = (server: Server): Promise<Response> =>
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/slow`);

function decorate(type: { prototype: object }, property: string, key: string): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, property)!;
  DistributedLock(key)(type.prototype as never, property, descriptor as never);
  Object.defineProperty(type.prototype, property, descriptor);
}
