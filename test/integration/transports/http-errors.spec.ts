import 'reflect-metadata';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  type INestApplication,
  type Provider,
  Scope,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  DistributedLock,
  LockConfigurationError,
  LockError,
  LockLostError,
  LockNotAcquiredError,
  LockQueueFullError,
  LockUnavailableError,
  LockWaitTimeoutError,
  RedisLockModule,
  type RedisLockModuleOptions,
  RedisLockService,
} from 'nestjs-redis-lock';
import { Busy, Envelope } from '../../../examples/own-format.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { onSharedRedis } from '../nest/fixtures.js';
import { adapters } from './http-servers.js';

/** Of another version of the package, which has one more status. */
class Newer extends LockError {
  override readonly name = 'Newer';
  readonly code = 'LOCK_CONTENDED';
  override get statusCode() {
    return 423 as never;
  }
}

/** A holder that no client may see. */
const secret = {
  client: 'secret',
  host: 'secret',
  pid: 4711,
  method: 'secret',
  label: 'secret',
  fencingToken: 7,
  heldFor: 20,
};

const thrown: Record<string, LockError> = {
  contended: new LockNotAcquiredError("Lock 'secret' is held", { key: 'secret', leaseLeft: 29_000, holder: secret }),
  waited: new LockWaitTimeoutError("Lock 'secret' was not free", { key: 'secret' }),
  full: new LockQueueFullError("Lock 'secret': too many wait", { key: 'secret' }),
  away: new LockUnavailableError("Lock 'secret': Redis is away", { key: 'secret' }),
  wrong: new LockConfigurationError("Lock 'secret' is wrong", { key: 'secret' }),
  lost: new LockLostError("Lock 'secret' was lost", { key: 'secret', reason: 'expired' }),
  newer: new Newer("Lock 'secret' is new", { key: 'secret' }),
};
const statuses = { contended: 409, waited: 409, full: 503, away: 503, wrong: 500, lost: 500 };
const names = Object.keys(statuses) as (keyof typeof statuses)[];

@Controller()
class Errors {
  constructor(private readonly locks: RedisLockService) {}

  @Get('lose')
  @DistributedLock('lose')
  async lose() {
    await this.locks.forceRelease('lose');
  }
  @Get('assert')
  async assert() {
    const lock = await this.locks.acquire('assert');
    await lock.release();
    lock.assertHeld();
  }
}
for (const name of Object.keys(thrown)) {
  const descriptor = {
    configurable: true,
    value: async () => {
      throw thrown[name]!;
    },
  };
  Object.defineProperty(Errors.prototype, name, descriptor);
  Get(name)(Errors.prototype, name, descriptor);
}

const answerOf = (host: ArgumentsHost, adapter: HttpAdapterHost, status: number): void =>
  void adapter.httpAdapter.reply(host.switchToHttp().getResponse<unknown>(), { mine: true }, status);

/** As in Nest's documentation. */
@Catch()
class Documented implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}
  catch(exception: unknown, host: ArgumentsHost): void {
    answerOf(host, this.host, exception instanceof HttpException ? exception.getStatus() : 500);
  }
}
@Catch()
class Logging extends BaseExceptionFilter {
  override catch(exception: unknown, host: ArgumentsHost): void {
    // oxlint-disable-next-line promise/valid-params -- the method of a filter
    super.catch(exception, host);
  }
}
@Catch()
class ByStatus implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}
  catch(exception: { status?: number }, host: ArgumentsHost): void {
    answerOf(host, this.host, exception.status ?? 500);
  }
}
@Catch(Error)
class ByGetStatus implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}
  catch(exception: { getStatus?(): number }, host: ArgumentsHost): void {
    answerOf(host, this.host, exception.getStatus?.() ?? 500);
  }
}

describe.each(adapters)('lock errors over HTTP (%s)', (_name, adapter) => {
  let app: INestApplication;
  const log = new KeptLog();
  const start = async (
    options: RedisLockModuleOptions = {},
    filter?: Type<ExceptionFilter>,
    providers: Provider[] = [],
  ) => {
    log.lines.length = 0;
    const module = await Test.createTestingModule({
      imports: [RedisLockModule.forRoot(onSharedRedis(options))],
      controllers: [Errors],
      providers,
    }).compile();
    app = module.createNestApplication(adapter(), { logger: log as never, forceCloseConnections: true });
    const host = app.get(HttpAdapterHost);
    if (filter) app.useGlobalFilters(filter === Logging ? new Logging(host.httpAdapter) : new filter(host));
    await app.listen(0, '127.0.0.1');
    return log.lines.filter((line) => line.includes('LOCK_DOCTOR_FILTER'));
  };
  const get = async (path: string) => fetch(`${await app.getUrl()}/${path}`);
  const statusesOf = async () =>
    Object.fromEntries(await Promise.all(names.map(async (name) => [name, (await get(name)).status] as const)));
  afterEach(() => app.close());

  it('get their status from LockErrorFilter, with Retry-After: 1', async () => {
    await expect(start()).resolves.toEqual([]);
    expect(await statusesOf()).toEqual(statuses);
    const after = await Promise.all(names.map(async (name) => (await get(name)).headers.get('retry-after')));
    expect(after).toEqual(['1', '1', '1', '1', null, null]);
  });

  it('show a client neither the lock nor its holder', async () => {
    await start();
    for (const name of names) expect(await (await get(name)).text()).not.toContain('secret');
  });

  it('with a status of another version of the package are 500, and logged', async () => {
    await start();
    const response = await get('newer');
    expect([response.status, response.headers.get('retry-after')]).toEqual([500, null]);
    expect(await response.json()).toEqual({
      statusCode: 500,
      error: 'Internal Server Error',
      message: 'Internal server error',
      code: 'LOCK_CONTENDED',
    });
    expect(log.lines.filter((line) => line.startsWith('error'))).toEqual([expect.stringContaining("'secret' is new")]);
  });

  it.each([
    ['that leaves them to Nest', Logging],
    ['that reads status', ByStatus],
    ['that reads getStatus', ByGetStatus],
  ])('get their status from a global filter %s, and the doctor reports nothing', async (_which, filter) => {
    await expect(start({}, filter)).resolves.toEqual([]);
    expect(await statusesOf()).toEqual(statuses);
    expect(await (await get('contended')).text()).not.toContain('secret');
  });

  const provided = (type: Type<ExceptionFilter>): Provider => ({
    provide: APP_FILTER,
    useFactory: (host: HttpAdapterHost) => new type(host),
    inject: [HttpAdapterHost],
  });
  const asked: unknown[] = [];
  const ownFormat = { envelope: 'mine', status: 418 };
  const inOwnFormat = (...caught: Type[]): Type<ExceptionFilter> => {
    @Catch(...caught)
    class Own implements ExceptionFilter {
      constructor(private readonly host: HttpAdapterHost) {}
      catch(error: unknown, host: ArgumentsHost): void {
        asked.push(error);
        void this.host.httpAdapter.reply(host.switchToHttp().getResponse<unknown>(), ownFormat, 418);
      }
    }
    return Own;
  };

  describe.each([
    ['an APP_FILTER', (type: Type<ExceptionFilter>) => start({ strict: true }, undefined, [provided(type)])],
    ['app.useGlobalFilters', (type: Type<ExceptionFilter>) => start({ strict: true }, type)],
  ])('are for a filter of the application, as %s', (_where, startWith) => {
    beforeEach(() => void asked.splice(0));

    it('that catches lock errors: it gets the error itself', async () => {
      for (const caught of [LockNotAcquiredError, LockError]) {
        await expect(startWith(inOwnFormat(caught as unknown as Type))).resolves.toEqual([]);
        expect(await (await get('contended')).json()).toEqual(ownFormat);
        expect(asked.splice(0)).toEqual([thrown['contended']]);
        await app.close();
      }
      await startWith(inOwnFormat(LockNotAcquiredError as Type));
      expect((await get('away')).status).toBe(503);
      expect(asked).toEqual([]);
    });

    it.each([
      ['all errors', []],
      ['HttpExceptions', [HttpException]],
    ])('that catches %s: it gets an HttpException that is the lock error as well', async (_what, caught: Type[]) => {
      await startWith(inOwnFormat(...caught));
      const response = await get('contended');
      expect([response.status, response.headers.get('retry-after')]).toEqual([418, '1']);
      expect(await response.json()).toEqual(ownFormat);
      const [error] = asked as HttpException[];
      expect(error).toBeInstanceOf(HttpException);
      expect(error).toBeInstanceOf(LockNotAcquiredError);
      expect(error).not.toBeInstanceOf(LockWaitTimeoutError);
      expect(error).toMatchObject({ code: 'LOCK_CONTENDED', key: 'secret', leaseLeft: 29_000, statusCode: 409 });
      expect([error!.getStatus(), error!.cause]).toEqual([409, thrown['contended']]);
      expect(JSON.stringify([error!.message, error!.getResponse()])).not.toContain('secret');
    });

    it('that handles only HttpExceptions, as in the documentation of Nest: it sends their status', async () => {
      await expect(startWith(Documented)).resolves.toEqual([]);
      expect(await statusesOf()).toEqual(statuses);
      expect(await (await get('contended')).json()).toEqual({ mine: true });
    });

    it('as docs/how-to/http.md has them', async () => {
      await startWith(Envelope);
      expect(await (await get('away')).json()).toEqual({ ok: false, status: 503, reason: 'LOCK_UNAVAILABLE' });
      await app.close();
      await startWith(Busy);
      expect(await (await get('contended')).json()).toEqual({ busyFor: 29_000 });
    });

    it('that catches all errors: one that is the fault of the application stays unknown to it, so it is logged', async () => {
      await startWith(inOwnFormat());
      await get('wrong');
      expect(asked).toEqual([thrown['wrong']]);
    });
  });

  it('are 500 from a filter of each request that handles only HttpExceptions, which the doctor reports at start', async () => {
    const documented = {
      provide: APP_FILTER,
      scope: Scope.REQUEST,
      useClass: Documented,
    };
    Reflect.defineMetadata('design:paramtypes', [HttpAdapterHost], Documented);
    await expect(start({ strict: true }, undefined, [documented])).resolves.toEqual([
      expect.stringMatching(/^warn Documented is made for each request.*500.*409.*error\.statusCode.*default scope/),
    ]);
    expect((await get('contended')).status).toBe(500);
  });

  it('are left to filters of the application with httpErrors: false, and the doctor reports nothing', async () => {
    await expect(start({ httpErrors: false }, Documented)).resolves.toEqual([]);
    expect((await get('contended')).status).toBe(500);
  });

  it('get their status and its text from Nest with httpErrors: false and no filter', async () => {
    await start({ httpErrors: false });
    expect(await statusesOf()).toEqual(statuses);
    expect(await (await get('contended')).json()).toEqual({ statusCode: 409, message: 'Conflict' });
    expect(await (await get('away')).json()).toEqual({ statusCode: 503, message: 'Service Unavailable' });
  });

  it('are logged once: a lost lock at its loss, any other with status 500 with its response', async () => {
    await start();
    for (const path of ['lose', 'assert', 'wrong', 'contended']) await get(path);
    const errors = log.lines.filter((line) => line.startsWith('error'));
    expect(errors).toEqual([
      expect.stringContaining("'lose' was lost"),
      expect.stringContaining("'assert' was lost"),
      expect.stringContaining("'secret' is wrong"),
    ]);
  });
});

describe('lock errors outside of Nest', () => {
  it("get their status from Express' own handler", async () => {
    const express = new ExpressAdapter().getInstance<{
      get(path: string, handler: () => void): void;
      listen(port: number, host: string): Server;
    }>();
    for (const name of names) {
      express.get(`/${name}`, () => {
        throw thrown[name]!;
      });
    }
    const printed = jest.spyOn(console, 'error').mockImplementation(() => {});
    const server = express.listen(0, '127.0.0.1');
    try {
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const answers = await Promise.all(names.map((name) => fetch(`http://127.0.0.1:${port}/${name}`)));
      expect(answers.map(({ status }) => status)).toEqual(Object.values(statuses));
    } finally {
      printed.mockRestore();
      server.close();
      server.closeAllConnections();
    }
  });

  it("get their status from Fastify's own handler", async () => {
    const fastify = new FastifyAdapter({ forceCloseConnections: true }).getInstance();
    for (const name of names) {
      fastify.get(`/${name}`, () => {
        throw thrown[name]!;
      });
    }
    try {
      const url = await fastify.listen({ port: 0, host: '127.0.0.1' });
      const answers = await Promise.all(names.map((name) => fetch(`${url}/${name}`)));
      expect(answers.map(({ status }) => status)).toEqual(Object.values(statuses));
    } finally {
      await fastify.close();
    }
  });
});
