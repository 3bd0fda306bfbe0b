import 'reflect-metadata';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Injectable,
  Logger,
  Module,
  type NestInterceptor,
  Param,
  type PipeTransform,
  Res,
  Scope,
  Sse,
  StreamableFile,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  currentLock,
  DistributedLock,
  InjectRedisLock,
  LockConfigurationError,
  LockInterceptor,
  RedisLockModule,
  RedisLockService,
  lockName,
} from 'nestjs-redis-lock';
import { Observable, map, of, tap } from 'rxjs';
import { type Deferred, deferred, onSharedRedis } from './fixtures.js';

type Request = { params: { id: string } };
interface RawResponse {
  raw?: RawResponse;
  write(text: string): void;
  end(text?: string): void;
  once(event: 'close', listener: () => void): void;
}

const key = (context: ExecutionContext): string => `item:${context.switchToHttp().getRequest<Request>().params.id}`;

/** What happened in a request, each with the lock around it. */
let events: string[];
/** Handlers that wait, wait for it. */
let leave: Deferred;
let inside: Deferred;
/** The next requests have arrived; a response has ended, for any reason. */
let arrived: Deferred[];
let gone: Deferred;
const note = (event: string): void => void events.push(`${event} in ${currentLock()?.key}`);

@Injectable()
class Inner implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    note('interceptor');
    return next.handle().pipe(tap({ complete: () => note('after') }));
  }
}

/** Guards run before all interceptors. */
class Door implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const response = context.switchToHttp().getResponse<RawResponse>();
    (response.raw ?? response).once('close', () => gone.resolve());
    arrived.shift()?.resolve();
    return true;
  }
}

class NotingPipe implements PipeTransform {
  transform(value: unknown): unknown {
    note('pipe');
    return value;
  }
}

/** As a transaction does: it goes on by promises, also without a subscriber. */
@Injectable()
class Slow implements NestInterceptor {
  async intercept(_context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await turn();
    return next.handle().pipe(map((value) => value));
  }
}

@Controller('items')
@UseGuards(Door)
@UseInterceptors(LockInterceptor, Slow, Inner)
class Items {
  constructor(private readonly locks: RedisLockService) {}

  @Get('value/:id')
  @DistributedLock({ key })
  async value(@Param('id', NotingPipe) id: string) {
    note('handler');
    return this.locks.using(lockName`item:${id}`, (lock) => ({ depth: lock.depth }));
  }

  @Get('both/:id')
  @DistributedLock({ key: (context: ExecutionContext) => ['stock', key(context)] })
  async both(@Param('id') _id: string) {
    const free = [
      await isFree(this.locks, 'stock'),
      await isFree(this.locks, 'item:1'),
      await isFree(this.locks, 'item:2'),
    ];
    return { keys: currentLock()?.keys, tokens: currentLock()?.fencingTokens.size, free };
  }

  @Get('observable/:id')
  @DistributedLock({ key })
  observable(@Param('id') id: string): Observable<unknown> {
    note('handler');
    return new Observable((subscriber) => {
      note('subscribed');
      subscriber.next({ id });
      subscriber.complete();
    });
  }

  @Get('work/:id')
  @DistributedLock({ key, wait: '1h' })
  async work(@Param('id') _id: string) {
    note('handler');
    inside.resolve();
    await leave.promise;
    events.push('done');
    return 'worked';
  }

  @Get('fail/:id')
  @DistributedLock({ key })
  async fail(@Param('id') id: string) {
    throw new Error(id);
  }

  @Get('lost/:id')
  @DistributedLock({ key, lease: 50 })
  async lost(@Param('id') _id: string) {
    const { signal } = currentLock()!;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return 'too late';
  }

  @Get('file/:id')
  @DistributedLock({ key })
  async file(@Param('id') id: string): Promise<StreamableFile> {
    return new StreamableFile(unended(id));
  }

  @Get('files/:id')
  @DistributedLock({ key })
  files(@Param('id') id: string): Observable<StreamableFile> {
    return of(new StreamableFile(unended(id)));
  }

  @Get('pages/:id')
  @DistributedLock({ key })
  async *pages(@Param('id') id: string): AsyncGenerator<string> {
    yield `${id} `;
    await leave.promise;
    yield `end ${currentLock()?.key}`;
  }

  @Get('manual/:id')
  @DistributedLock({ key })
  async manual(@Param('id') id: string, @Res() response: RawResponse) {
    const raw = response.raw ?? response;
    raw.write(`${id} `);
    void leave.promise.then(() => raw.end('end'));
  }

  @Sse('events/:id')
  @DistributedLock({ key })
  async events(@Param('id') id: string): Promise<Observable<{ data: string }>> {
    return new Observable((subscriber) => {
      subscriber.next({ data: `${id} ${currentLock()?.key}` });
      void leave.promise.then(() => subscriber.complete());
      return () => events.push('stopped');
    });
  }

  @Sse('slow/:id')
  @DistributedLock({ key })
  async slow(@Param('id') _id: string): Promise<Observable<{ data: string }>> {
    inside.resolve();
    await leave.promise;
    events.push('done');
    return new Observable(() => {
      events.push('subscribed');
    });
  }

  @Get('free')
  async free() {
    note('handler');
    return 'free';
  }
}

function unended(id: string): Readable {
  const stream = new Readable({ read() {} });
  stream.push(`${id} `);
  void leave.promise.then(() => stream.push('end') && stream.push(null));
  return stream;
}

const adapters = { Express: () => new ExpressAdapter(), Fastify: () => new FastifyAdapter() };

let app: INestApplication | undefined;
let adapter: keyof typeof adapters = 'Express';
async function start(
  controllers: Type[] = [Items],
  providers: object[] = [],
  imports: object[] = [RedisLockModule.forRoot(onSharedRedis())],
): Promise<RedisLockService> {
  const module = await Test.createTestingModule({
    imports: imports as never,
    controllers,
    providers: providers as never,
  }).compile();
  app = module.createNestApplication(adapters[adapter]() as ExpressAdapter, {
    logger: false,
    forceCloseConnections: true,
  });
  await app.listen(0, '127.0.0.1');
  return app.get(RedisLockService);
}
const get = async (path: string, signal?: AbortSignal) =>
  fetch(`${await app!.getUrl()}/items/${path}`, signal ? { signal } : {});
/** Whether the lock was free; it is released again. */
const isFree = async (locks: RedisLockService, name: string) => {
  await using lock = await locks.tryAcquire(name);
  return lock !== null;
};
const begins = async (response: Response, text: string) => {
  let read = '';
  for await (const chunk of response.body!.values({ preventCancel: true })) {
    read += new TextDecoder().decode(chunk);
    if (read.includes(text)) return;
  }
};

beforeEach(() => {
  events = [];
  leave = deferred();
  inside = deferred();
  arrived = [];
  gone = deferred();
});
afterEach(async () => {
  leave.resolve();
  await app?.close();
  app = undefined;
});

describe.each(Object.keys(adapters) as Array<keyof typeof adapters>)('LockInterceptor on %s', (name) => {
  beforeEach(() => {
    adapter = name;
  });

  it('holds the lock around the other interceptors, the pipes and the handler, and has released it when the response arrives', async () => {
    const locks = await start();
    const response = await get('value/1');
    await expect(isFree(locks, 'item:1')).resolves.toBe(true);
    expect(await response.json()).toEqual({ depth: 2 });
    expect(events).toEqual(['interceptor', 'pipe', 'handler', 'after'].map((event) => `${event} in item:1`));
  });

  it('holds the lock around the subscription to an Observable, and has released it when the response arrives', async () => {
    const locks = await start();
    const response = await get('observable/1');
    await expect(isFree(locks, 'item:1')).resolves.toBe(true);
    expect(await response.json()).toEqual({ id: '1' });
    expect(events).toEqual(['interceptor', 'handler', 'subscribed', 'after'].map((event) => `${event} in item:1`));
  });

  it('holds all locks of a list of keys around the handler, and has released them when the response arrives', async () => {
    const locks = await start();
    const held = await locks.acquire('item:2');
    const response = await get('both/1');
    await expect(Promise.all([isFree(locks, 'stock'), isFree(locks, 'item:1')])).resolves.toEqual([true, true]);
    // Inside, the locks of the handler are re-entered.
    expect(await response.json()).toEqual({ keys: ['item:1', 'stock'], tokens: 2, free: [true, true, false] });
    await held.release();
  });

  it('keeps out other requests, also of other methods, with the same key', async () => {
    await start();
    const first = get('work/1');
    await inside.promise;
    const second = get('value/1');
    await get('value/2');
    leave.resolve();
    await Promise.all([first, second]);
    expect(events.indexOf('done')).toBeLessThan(events.lastIndexOf('handler in item:1'));
    expect(events.indexOf('done')).toBeGreaterThan(events.indexOf('handler in item:2'));
  });

  it('passes the error of the handler on, and has released the lock by then', async () => {
    const locks = await start();
    const response = await get('fail/1');
    await expect(isFree(locks, 'item:1')).resolves.toBe(true);
    expect(response.status).toBe(500);
  });

  it('responds 500 with LOCK_LOST when the lock was lost, even if the work succeeded', async () => {
    await start();
    const response = await get('lost/1');
    expect([response.status, await response.json()]).toEqual([500, expect.objectContaining({ code: 'LOCK_LOST' })]);
  });

  it.each(['file', 'files', 'pages', 'manual'])('keeps the lock until the response was sent: %s', async (path) => {
    const locks = await start();
    const response = await get(`${path}/1`);
    await begins(response, '1 ');
    await expect(isFree(locks, 'item:1')).resolves.toBe(false);
    leave.resolve();
    await begins(response, 'end');
    await using lock = await locks.acquire('item:1');
    expect(lock.isHeld).toBe(true);
  });

  it.each(['file', 'files', 'manual'])('releases the lock when the client hangs up: %s', async (path) => {
    const locks = await start();
    const client = new AbortController();
    await begins(await get(`${path}/1`, client.signal), '1 ');
    client.abort();
    await using lock = await locks.acquire('item:1');
    expect(lock.isHeld).toBe(true);
  });

  it('releases the lock of a generator when the client has hung up and the current step has ended', async () => {
    const locks = await start();
    const client = new AbortController();
    await begins(await get('pages/1', client.signal), '1 ');
    client.abort();
    await gone.promise;
    await expect(isFree(locks, 'item:1')).resolves.toBe(false);
    leave.resolve();
    await using lock = await locks.acquire('item:1');
    expect(lock.isHeld).toBe(true);
  });

  it('keeps the lock of an event stream to its end', async () => {
    const locks = await start();
    const response = await get('events/1');
    await begins(response, '1 item:1');
    await expect(isFree(locks, 'item:1')).resolves.toBe(false);
    leave.resolve();
    await using lock = await locks.acquire('item:1');
    expect(lock.isHeld).toBe(true);
  });

  it('stops an event stream, then releases its lock, when the client hangs up', async () => {
    const locks = await start();
    const client = new AbortController();
    await begins(await get('events/1', client.signal), '1 item:1');
    client.abort();
    await using lock = await locks.acquire('item:1');
    expect([lock.isHeld, events.at(-1)]).toEqual([true, 'stopped']);
  });

  it.each(['work', 'slow'])(
    'keeps the lock while the handler works, even if the client has hung up: %s',
    async (path) => {
      const locks = await start();
      const client = new AbortController();
      get(`${path}/1`, client.signal).catch(() => {});
      await inside.promise;
      client.abort();
      await gone.promise;
      await expect(isFree(locks, 'item:1')).resolves.toBe(false);
      leave.resolve();
      await using lock = await locks.acquire('item:1');
      // An Observable that a handler returns too late is not subscribed to.
      expect([lock.isHeld, events.includes('done'), events.includes('subscribed')]).toEqual([true, true, false]);
    },
  );

  it('stops waiting when the client hangs up, and does not run the handler', async () => {
    const locks = await start();
    const lock = await locks.acquire('item:1');
    const client = new AbortController();
    const [first, second] = (arrived = [deferred(), deferred()]).slice() as [Deferred, Deferred];
    const hungUp = expect(get('work/1', client.signal)).rejects.toBeDefined();
    await first.promise;
    const behind = get('work/1');
    await second.promise;
    client.abort();
    await Promise.all([hungUp, gone.promise]);
    await lock.release();
    leave.resolve();
    expect(await (await behind).text()).toBe('worked');
    expect(events.filter((event) => event === 'handler in item:1')).toHaveLength(1);
  });

  it('runs each step of a response that is read piece by piece inside the lock', async () => {
    await start();
    leave.resolve();
    expect(await (await get('pages/1')).text()).toBe('1 end item:1');
  });

  it('ignores handlers without @DistributedLock when it is set on their class', async () => {
    await start();
    expect(await (await get('free')).text()).toBe('free');
    expect(events).toEqual(['interceptor in undefined', 'handler in undefined', 'after in undefined']);
  });
});

describe('LockInterceptor', () => {
  beforeEach(() => {
    adapter = 'Express';
  });

  it.each(['before', 'behind'])(
    'takes the lock once when it is set three times, %s the interceptor of the module',
    async (order) => {
      @Controller('items')
      @UseInterceptors(LockInterceptor)
      class Thrice {
        @Get('value/:id')
        @UseInterceptors(LockInterceptor)
        @DistributedLock({ key })
        async value() {
          return { depth: currentLock()?.depth };
        }

        @Get('template/:id')
        @DistributedLock('template:#{id}')
        async template(@Param('id') id: string) {
          return { id, held: currentLock()?.key };
        }
      }
      @Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: LockInterceptor }] })
      class Everywhere {}
      const locks = RedisLockModule.forRoot(onSharedRedis());
      await start([Thrice], [], order === 'before' ? [Everywhere, locks] : [locks, Everywhere]);
      expect(await (await get('value/1')).json()).toEqual({ depth: 1 });
      // The decorator itself handles arguments.
      expect(await (await get('template/2')).json()).toEqual({ id: '2', held: 'template:2' });
    },
  );

  it('takes the lock for request-scoped handlers, once for each request', async () => {
    @Controller({ path: 'items', scope: Scope.REQUEST })
    class Scoped {
      @Get('value/:id')
      @UseInterceptors(LockInterceptor)
      @DistributedLock({ key })
      async value() {
        return { depth: currentLock()?.depth, held: currentLock()?.key };
      }
    }
    await start([Scoped]);
    const answers = await Promise.all(['value/1', 'value/1', 'value/2'].map(async (path) => (await get(path)).json()));
    expect(answers).toEqual(['1', '1', '2'].map((id) => ({ depth: 1, held: `item:${id}` })));
  });

  it('uses the connection that the decorator names', async () => {
    @Controller('items')
    class Billing {
      @Get('value/:id')
      @UseInterceptors(LockInterceptor)
      @DistributedLock({ key, connection: 'billing' })
      async value() {
        return { held: this.locks.current()?.key ?? null, elsewhere: this.main.current()?.key ?? null };
      }

      constructor(
        @InjectRedisLock('billing') private readonly locks: RedisLockService,
        @InjectRedisLock() private readonly main: RedisLockService,
      ) {}
    }
    const billing = RedisLockModule.forRoot(onSharedRedis({ name: 'billing' }));
    await start([Billing], [], [RedisLockModule.forRoot(onSharedRedis()), billing]);
    expect(await (await get('value/1')).json()).toEqual({ held: 'item:1', elsewhere: null });
  });

  it('responds with the result of onContended, which gets the context, and runs no other interceptor', async () => {
    @Controller('items')
    @UseInterceptors(LockInterceptor, Inner)
    class Contended {
      @Get('skip/:id')
      @DistributedLock({ key, onContended: 'skip' })
      async skip(): Promise<string | undefined> {
        return 'worked';
      }

      @Get('other/:id')
      @DistributedLock({
        key,
        onContended: async (error, context: ExecutionContext) => [error.code, key(context)],
      })
      async other() {
        return ['worked'];
      }

      @Sse('events/:id')
      @DistributedLock({ key, wait: 0, onContended: () => of({ data: 'busy' }) })
      async events() {
        return of({ data: 'worked' });
      }
    }
    const locks = await start([Contended]);
    expect(await (await get('skip/1')).text()).toBe('worked');
    events = [];
    await using _lock = await locks.acquire('item:1');
    const skipped = await get('skip/1');
    expect([skipped.status, await skipped.text()]).toEqual([200, '']);
    expect(await (await get('other/1')).json()).toEqual(['LOCK_CONTENDED', 'item:1']);
    expect(await (await get('events/1')).text()).toContain('data: busy');
    expect(events).toEqual([]);
  });

  it('lets code inside the request re-enter, also through other decorators', async () => {
    const Twice = () => (_target: object, _property: string, descriptor: PropertyDescriptor) => {
      const { value } = descriptor as { value: (...args: unknown[]) => Promise<number> };
      descriptor.value = async function (...args: unknown[]) {
        return (await value.apply(this, args)) + (await value.apply(this, args));
      };
    };
    @Controller('items')
    class Retrying {
      @Get('value/:id')
      @UseInterceptors(LockInterceptor)
      @Twice()
      @DistributedLock({ key, wait: 0 })
      async value() {
        return currentLock()!.depth;
      }
    }
    await start([Retrying]);
    expect(await (await get('value/1')).json()).toBe(2);
  });

  it('holds its lock for the handler that another locked method calls again', async () => {
    const Tried = () => (_target: object, _property: string, descriptor: PropertyDescriptor) => {
      const { value } = descriptor as { value: (...args: unknown[]) => Promise<unknown> };
      descriptor.value = async function (...args: unknown[]) {
        return value.apply(this, args);
      };
    };
    @Controller('items')
    class Recursive {
      constructor(private readonly locks: RedisLockService) {}

      @Get('value/:id')
      @UseInterceptors(LockInterceptor)
      @DistributedLock({ key })
      async value(@Param('id') id: string, again = false): Promise<unknown> {
        if (!again) return this.audit(id);
        return this.locks.using(lockName`item:${id}`, ({ depth }) => depth);
      }

      // With a decorator above, the lock is taken before it and a second wrapper finds that lock.
      @Tried()
      @DistributedLock('audit')
      async audit(id: string): Promise<unknown> {
        return this.value(id, true);
      }
    }
    await start([Recursive]);
    // The lock of the request, and that of `using`: the second call of the handler has taken none.
    expect(await (await get('value/1')).json()).toBe(2);
  });
});

describe('a LockInterceptor on a handler that it cannot lock', () => {
  const refusal = async (controller: Type, path?: string): Promise<string> => {
    const errors: string[] = [];
    const error = jest
      .spyOn(Logger.prototype, 'error')
      .mockImplementation((message) => void errors.push(String(message)));
    try {
      await start([controller]);
      const response = await get(path!);
      expect(await response.json()).toMatchObject({ code: 'LOCK_CONFIGURATION' });
      return errors.join('\n');
    } catch (refused) {
      if (refused instanceof LockConfigurationError) return refused.message;
      throw refused;
    } finally {
      error.mockRestore();
    }
  };

  it('is refused at start if the handler has no @DistributedLock', async () => {
    @Controller('items')
    class Bare {
      @Get('value/:id')
      @UseInterceptors(LockInterceptor)
      async value() {}
    }
    await expect(refusal(Bare)).resolves.toMatch(
      /^Bare\.value: LockInterceptor has nothing to lock\. Put @DistributedLock/,
    );
  });

  it('is refused at start if the key is a template over arguments', async () => {
    @Controller('items')
    class Templated {
      @Get('value/:id')
      @UseInterceptors(LockInterceptor)
      @DistributedLock('item:#{id}')
      async value(@Param('id') id: string) {
        return id;
      }
    }
    await expect(refusal(Templated)).resolves.toMatch(
      /^Templated\.value: LockInterceptor runs before the arguments exist/,
    );
  });

  it('is named in the error of a key function that was called without it', async () => {
    @Controller('items')
    class Forgotten {
      @Get('value/:id')
      @DistributedLock({ key })
      async value(@Param('id') id: string) {
        note('handler');
        return id;
      }
    }
    await expect(refusal(Forgotten, 'value/1')).resolves.toMatch(
      /Forgotten\.value: the key function throws a TypeError.*@UseInterceptors\(LockInterceptor\)/,
    );
    expect(events).toEqual([]);
  });

  it.each([
    ['puts it into a string', (id: string) => `item:${id}`],
    ['reads what it does not have', (order: { id: string }) => order.id],
  ])('rejects a key function that uses the context as an argument: one that %s', async (_how, wrong) => {
    @Controller('items')
    @UseInterceptors(LockInterceptor)
    class Mistaken {
      @Get('value/:id')
      @DistributedLock({ key: wrong as (id: string) => string })
      async value(@Param('id') id: string) {
        note('handler');
        return id;
      }
    }
    await expect(refusal(Mistaken, 'value/1')).resolves.toMatch(
      /Mistaken\.value: the ExecutionContext has no .* Under LockInterceptor a function gets the ExecutionContext/,
    );
    expect(events).toEqual([]);
  });
});
