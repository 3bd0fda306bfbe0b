import 'reflect-metadata';
import { type CanActivate, type ExecutionContext, Injectable, Module, Global } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type NestFastifyApplication, FastifyAdapter } from '@nestjs/platform-fastify';
import { RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { LockConsoleModule } from 'nestjs-redis-lock/console';

/** The console of an application, on Express and on Fastify. */
@Injectable()
class Words {
  readonly ops = 'let me in';
}

@Global()
@Module({ providers: [Words], exports: [Words] })
class WordsModule {}

@Injectable()
class OpsGuard implements CanActivate {
  constructor(private readonly words: Words) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers['x-word'] === this.words.ops;
  }
}

@Module({
  imports: [
    WordsModule,
    RedisLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '' }),
    LockConsoleModule.forRoot({
      path: 'ops/locks',
      guards: [OpsGuard],
      forceRelease: {
        guards: [OpsGuard],
        actor: (request: { headers: Record<string, string> }) => request.headers['x-person'] ?? '',
      },
    }),
  ],
})
class AppModule {}

async function check(adapter?: FastifyAdapter): Promise<void> {
  const app = adapter
    ? await NestFactory.create<NestFastifyApplication>(AppModule, adapter, { logger: false })
    : await NestFactory.create(AppModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  const url = `${await app.getUrl()}/ops/locks`;
  const headers = { 'x-word': 'let me in', 'x-person': 'ann', connection: 'close' };
  const statuses = await Promise.all(
    ['live', 'app.js', 'app.css', 'api/overview'].map(
      async (path) => (await fetch(`${url}/${path}`, { headers })).status,
    ),
  );
  if (statuses.some((status) => status !== 200)) throw new Error(statuses.join());
  if ((await fetch(`${url}/live`, { headers: { connection: 'close' } })).status !== 403) throw new Error('let in');
  const name = `console:${process.pid}`;
  const lock = await app.get(RedisLockService).acquire(name);
  const reply = await fetch(`${url}/api/release`, {
    method: 'POST',
    headers: { ...headers, 'x-lock-console': '1', 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
    body: JSON.stringify({ name, typed: name, fencingToken: lock.fencingToken, reason: 'check' }),
  });
  if (reply.status !== 200 || lock.isHeld) throw new Error(`${reply.status} ${await reply.text()}`);
  await app.close();
}

/** A slip in the name: versions of Nest before 12 run the routes without this guard. */
class MisspeltGuard {
  canActivat(): boolean {
    return false;
  }
}

async function refuse(): Promise<void> {
  const guards = [MisspeltGuard] as unknown as [typeof OpsGuard];
  const imports = [
    RedisLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '' }),
    LockConsoleModule.forRoot({ guards }),
  ];
  class OpenModule {}
  Module({ imports })(OpenModule);
  const app = await NestFactory.create(OpenModule, { logger: false, abortOnError: false });
  const error = await app.init().then(
    () => undefined,
    (reason: Error) => reason,
  );
  await app.close().catch(() => undefined);
  if (!error?.message.includes('MisspeltGuard')) throw new Error(`no guard, and it starts: ${error?.message}`);
}

/** As one that lets a request pass where a route has no roles. */
const open: CanActivate = { canActivate: () => true };

async function warn(): Promise<void> {
  const lines: string[] = [];
  const keep = (line: unknown): void => void lines.push(String(line));
  const logger = { log() {}, warn: keep, error() {} };
  const imports = [
    RedisLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '' }),
    LockConsoleModule.forRoot({ guards: [open] }),
  ];
  class OpenModule {}
  Module({ imports })(OpenModule);
  const app = await NestFactory.create(OpenModule, { logger });
  await app.listen(0, '127.0.0.1');
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  await app.close();
  if (!lines.some((line) => line.includes('LOCK_DOCTOR_CONSOLE'))) throw new Error(`not told: ${lines.join()}`);
}

async function main(): Promise<void> {
  await refuse();
  await warn();
  await check();
  await check(new FastifyAdapter());
  console.log('seen and released');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
