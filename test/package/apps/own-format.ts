import 'reflect-metadata';
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  Module,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { LockNotAcquiredError, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';

/** Filters of an application, which answer lock errors in their own format. */
@Controller()
class Office {
  constructor(private readonly locks: RedisLockService) {}
  @Get('sell')
  async sell(): Promise<void> {
    await this.locks.acquire('office', { wait: 0 });
  }
}

const asked: unknown[] = [];

function filterOf(...caught: Type[]): Type<ExceptionFilter> {
  @Catch(...caught)
  class Own implements ExceptionFilter {
    constructor(private readonly host: HttpAdapterHost) {}
    catch(error: unknown, host: ArgumentsHost): void {
      asked.push(error);
      const status = error instanceof HttpException ? error.getStatus() : 418;
      this.host.httpAdapter.reply(host.switchToHttp().getResponse<unknown>(), { mine: status }, status);
    }
  }
  return Own;
}

async function bodyWith(type: Type<ExceptionFilter>, isProvided: boolean, adapter: ExpressAdapter | FastifyAdapter) {
  const provider = {
    provide: APP_FILTER,
    useFactory: (host: HttpAdapterHost) => new type(host),
    inject: [HttpAdapterHost],
  };
  @Module({
    imports: [RedisLockModule.forRoot({ redis: process.env['REDIS_URL'], keyPrefix: `format:${process.pid}:` })],
    controllers: [Office],
    providers: isProvided ? [provider] : [],
  })
  class Application {}
  const app = await NestFactory.create(Application, adapter as ExpressAdapter, {
    logger: false,
    forceCloseConnections: true,
  });
  if (!isProvided) app.useGlobalFilters(new type(app.get(HttpAdapterHost)));
  await app.listen(0, '127.0.0.1');
  const lock = await app.get(RedisLockService).acquire('office');
  const response = await fetch(`${await app.getUrl()}/sell`);
  const body = `${response.status} ${await response.text()}`;
  await lock.release();
  await app.close();
  return body;
}

async function main(): Promise<void> {
  const expected: [Type[], string][] = [
    [[], '409 {"mine":409}'],
    [[HttpException], '409 {"mine":409}'],
    [[LockNotAcquiredError], '418 {"mine":418}'],
  ];
  for (const adapter of [() => new ExpressAdapter(), () => new FastifyAdapter()]) {
    for (const isProvided of [true, false]) {
      for (const [caught, body] of expected) {
        const seen = await bodyWith(filterOf(...caught), isProvided, adapter());
        if (seen !== body || !(asked.pop() instanceof LockNotAcquiredError)) throw new Error(`${seen}, not ${body}`);
      }
    }
  }
  console.log('answered in its own format');
}

void main();
