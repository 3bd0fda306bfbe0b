import { afterEach } from '@jest/globals';
import { type CanActivate, type ExecutionContext, Injectable, type INestApplication, Module } from '@nestjs/common';
import { type RedisLockModuleOptions, RedisLockService } from 'nestjs-redis-lock';
import { LockConsoleModule, type LockConsoleOptions } from 'nestjs-redis-lock/console';
import { adapters, httpApplication } from '../transports/http-servers.js';

export type Headers = Record<string, string>;
interface Reply {
  readonly status: number;
  readonly headers: globalThis.Headers;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

export const closing: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Lets requests with its word in, as an application's own guard would: by a service that Nest injects. */
@Injectable()
class Words {
  readonly ops = 'let me in';
}
@Module({ providers: [Words], exports: [Words] })
export class WordsModule {}
@Injectable()
export class OpsGuard implements CanActivate {
  constructor(private readonly words: Words) {}

  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<{ headers: Headers }>().headers['x-word'] === this.words.ops;
  }
}
Reflect.defineMetadata('design:paramtypes', [Words], OpsGuard);
const boss: CanActivate = {
  canActivate: (context) => context.switchToHttp().getRequest<{ headers: Headers }>().headers['x-boss'] === 'yes',
};

export const word = { 'x-word': 'let me in' };
export const forceRelease = { guards: [boss], actor: ({ headers }: { headers: Headers }) => headers['x-person'] ?? '' };

export class Console {
  constructor(
    readonly app: INestApplication,
    private readonly base: string,
  ) {}

  get locks(): RedisLockService {
    return this.app.get(RedisLockService);
  }

  async get(path: string, headers: Headers = word): Promise<Reply> {
    return read(await fetch(this.base + path, { headers, redirect: 'manual' }));
  }

  /** As the page of the console sends it. @param change takes the place of headers and of fields */
  async release(
    fields: object,
    change: { headers?: Record<string, string | undefined>; type?: string } = {},
  ): Promise<Reply> {
    const headers: Record<string, string | undefined> = {
      ...word,
      'x-boss': 'yes',
      'x-person': 'ann@example.com',
      'x-lock-console': '1',
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      ...change.headers,
    };
    const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return read(
      await fetch(`${this.base}/api/release`, { method: 'POST', headers: given, body: JSON.stringify(fields) }),
    );
  }

  async token(name: string): Promise<number> {
    return (await this.locks.inspect(name)).holders[0]!.fencingToken!;
  }
}

async function read(response: Response): Promise<Reply> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return { status: response.status, headers: response.headers, text, json: (isJson ? JSON.parse(text) : {}) as never };
}

export async function open(
  adapter: (typeof adapters)[number][1] = adapters[0]![1],
  options: Partial<LockConsoleOptions> = {},
  prepare: (app: INestApplication) => string = () => '/locks',
  connection: RedisLockModuleOptions = {},
): Promise<Console> {
  const console = LockConsoleModule.forRoot({ guards: [OpsGuard], imports: [WordsModule], ...options });
  const app = await httpApplication(
    adapter,
    { imports: [console] },
    { shutdownTimeout: 0, ...('redis' in connection && { keyPrefix: 'lock:' }), ...connection },
  );
  closing.push(() => app.close());
  const path = prepare(app);
  await app.listen(0, '127.0.0.1');
  return new Console(app, (await app.getUrl()) + path);
}

/** Its functions, free of the object. */
export const bound = (console: Console) => ({
  get: console.get.bind(console),
  release: console.release.bind(console),
  console,
});
