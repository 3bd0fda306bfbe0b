import 'reflect-metadata';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  type INestApplicationContext,
  Injectable,
  type NestInterceptor,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  Args,
  Field,
  GqlExecutionContext,
  GraphQLModule,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import {
  type ClientProxy,
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  Payload,
  Transport,
} from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { currentLock, DistributedLock, LockInterceptor, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { Observable, firstValueFrom, lastValueFrom, tap } from 'rxjs';
import { WebSocket } from 'ws';
import { freePort } from '../../support/redis-server.js';
import { type Deferred, deferred, onSharedRedis } from './fixtures.js';

let events: string[];
let inside: Deferred;
let leave: Deferred;
const note = (event: string): void => void events.push(`${event} in ${currentLock()?.key}`);

@Injectable()
class Inner implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    note('interceptor');
    return next.handle().pipe(tap({ complete: () => note('after') }));
  }
}

let app: INestApplicationContext | undefined;
const compile = async (imports: object[], parts: { controllers?: Type[]; providers?: Type[] }) => {
  const module = await Test.createTestingModule({
    imports: [RedisLockModule.forRoot(onSharedRedis()), ...imports] as never,
    ...parts,
  })
    .setLogger({ log() {}, warn() {}, error() {} })
    .compile();
  return { module, locks: module.get(RedisLockService) };
};
const isFree = async (locks: RedisLockService, name: string) => {
  await using lock = await locks.tryAcquire(name);
  return lock !== null;
};

beforeEach(() => {
  events = [];
  inside = deferred();
  leave = deferred();
});
afterEach(async () => {
  leave.resolve();
  await app?.close();
  app = undefined;
});

describe('LockInterceptor at message handlers', () => {
  const key = (context: ExecutionContext): string => `order:${context.switchToRpc().getData<{ id: string }>().id}`;

  @Controller()
  @UseInterceptors(LockInterceptor, Inner)
  class Orders {
    @MessagePattern('value')
    @DistributedLock({ key, wait: 0 })
    async value(@Payload() order: { id: string }) {
      note('handler');
      return order.id;
    }

    @MessagePattern('stream')
    @DistributedLock({ key })
    stream(@Payload() order: { id: string }): Observable<string> {
      return new Observable((subscriber) => {
        note('subscribed');
        subscriber.next(order.id);
        void leave.promise.then(() => subscriber.complete());
      });
    }

    @MessagePattern('pages')
    @DistributedLock({ key })
    async *pages(@Payload() order: { id: string }): AsyncGenerator<string> {
      yield order.id;
    }

    @EventPattern('event')
    @DistributedLock({ key })
    async event(@Payload() _order: { id: string }) {
      inside.resolve();
      await leave.promise;
      note('handler');
    }
  }

  let client: ClientProxy;
  const start = async (): Promise<RedisLockService> => {
    const { module, locks } = await compile([], { controllers: [Orders] });
    const port = await freePort();
    const service = module.createNestMicroservice({ transport: Transport.TCP, options: { port } });
    app = service;
    await service.listen();
    client = ClientProxyFactory.create({ transport: Transport.TCP, options: { port } });
    return locks;
  };
  afterEach(async () => client.close());

  it('holds the lock around interceptors and handler, and has released it when the response arrives', async () => {
    const locks = await start();
    await expect(firstValueFrom(client.send('value', { id: '1' }))).resolves.toBe('1');
    await expect(isFree(locks, 'order:1')).resolves.toBe(true);
    expect(events).toEqual(['interceptor', 'handler', 'after'].map((event) => `${event} in order:1`));
  });

  it('passes the values of an Observable on at once, and keeps the lock until it completes', async () => {
    const locks = await start();
    const values = client.send<string>('stream', { id: '1' });
    const all = new Promise<void>((complete, error) => {
      values.subscribe({ next: () => inside.resolve(), complete, error });
    });
    await inside.promise;
    await expect(isFree(locks, 'order:1')).resolves.toBe(false);
    leave.resolve();
    await all;
    await expect(isFree(locks, 'order:1')).resolves.toBe(true);
    expect(events).toContain('subscribed in order:1');
  });

  it('keeps the lock of an event while its handler works', async () => {
    const locks = await start();
    await lastValueFrom(client.emit('event', { id: '1' }), { defaultValue: undefined });
    await inside.promise;
    await expect(isFree(locks, 'order:1')).resolves.toBe(false);
    leave.resolve();
    await using lock = await locks.acquire('order:1');
    expect([lock.isHeld, events]).toEqual([true, expect.arrayContaining(['handler in order:1'])]);
  });

  it('passes lock errors on to the caller, with their code', async () => {
    const locks = await start();
    await using _lock = await locks.acquire('order:1');
    await expect(lastValueFrom(client.send('value', { id: '1' }))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  });

  it('refuses an async iterable, which is read after the interceptor has ended', async () => {
    await start();
    await expect(lastValueFrom(client.send('pages', { id: '1' }))).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
    });
    expect(events).toEqual([]);
  });
});

describe('LockInterceptor at resolvers', () => {
  const key = (context: ExecutionContext): string =>
    `book:${GqlExecutionContext.create(context).getArgs<{ id: string }>().id}`;

  @ObjectType()
  class Book {
    @Field(() => String)
    id!: string;
    @Field(() => String, { nullable: true })
    held?: string | undefined;
  }

  @Resolver(() => Book)
  class Books {
    @Query(() => Book)
    @UseInterceptors(LockInterceptor, Inner)
    @DistributedLock({ key })
    async book(@Args('id') id: string): Promise<Book> {
      return { id, held: currentLock()?.key };
    }

    @ResolveField(() => String)
    @UseInterceptors(LockInterceptor)
    @DistributedLock({
      key: (context: ExecutionContext) => `price:${GqlExecutionContext.create(context).getRoot<Book>().id}`,
    })
    async price(@Parent() _book: Book): Promise<string> {
      return `${currentLock()?.key}`;
    }
  }

  const start = async (options: Partial<ApolloDriverConfig> = {}) => {
    const graphql = GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      ...options,
    });
    const { module, locks } = await compile([graphql], { providers: [Books] });
    const server = module.createNestApplication({ forceCloseConnections: true });
    app = server;
    await server.listen(0, '127.0.0.1');
    const ask = async (query: string) => {
      const response = await fetch(`${await server.getUrl()}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      });
      return (await response.json()) as { data: unknown; errors?: Array<{ message: string }> };
    };
    return { locks, ask };
  };

  it('holds the lock around interceptors and resolver, and releases it with the resolver', async () => {
    const { locks, ask } = await start();
    // Twice in one operation: a lock that lasted to the end of the response would wait for itself.
    const query = '{ a: book(id: "1") { id held } b: book(id: "1") { held } }';
    expect((await ask(query)).data).toEqual({ a: { id: '1', held: 'book:1' }, b: { held: 'book:1' } });
    await expect(isFree(locks, 'book:1')).resolves.toBe(true);
    expect(events).toContain('interceptor in book:1');
  });

  it('warns of fields, for which Nest runs no interceptors by default', async () => {
    const { ask } = await start();
    const { errors } = await ask('{ book(id: "1") { price } }');
    expect(errors?.[0]?.message).toMatch(/Books\.price: .*fieldResolverEnhancers: \['interceptors'\]/);
  });

  it('locks fields if Nest runs interceptors for them', async () => {
    const { ask } = await start({ fieldResolverEnhancers: ['interceptors'] });
    expect((await ask('{ book(id: "1") { price } }')).data).toEqual({ book: { price: 'price:1' } });
  });
});

describe('LockInterceptor at gateways', () => {
  @WebSocketGateway()
  class Chat {
    handleDisconnect(): void {
      gone.resolve();
    }

    @SubscribeMessage('work')
    @UseInterceptors(LockInterceptor, Inner)
    @DistributedLock({ key: (context: ExecutionContext) => `room:${context.switchToWs().getData<string>()}` })
    async work(@MessageBody() room: string) {
      inside.resolve();
      await leave.promise;
      note('handler');
      return { event: 'worked', data: room };
    }
  }
  let gone: Deferred;

  const start = async () => {
    gone = deferred();
    const { module, locks } = await compile([], { providers: [Chat] });
    const server = module.createNestApplication({ forceCloseConnections: true });
    app = server;
    server.useWebSocketAdapter(new WsAdapter(server));
    await server.listen(0, '127.0.0.1');
    const socket = new WebSocket((await server.getUrl()).replace('http', 'ws'));
    await once(socket, 'open');
    socket.send(JSON.stringify({ event: 'work', data: '1' }));
    await inside.promise;
    return { locks, socket };
  };

  it('holds the lock around interceptors and handler', async () => {
    const { locks, socket } = await start();
    await expect(isFree(locks, 'room:1')).resolves.toBe(false);
    leave.resolve();
    const [message] = (await once(socket, 'message')) as [Buffer];
    expect(JSON.parse(message.toString())).toEqual({ event: 'worked', data: '1' });
    await expect(isFree(locks, 'room:1')).resolves.toBe(true);
    expect(events).toEqual(['interceptor', 'handler', 'after'].map((event) => `${event} in room:1`));
    socket.terminate();
  });

  it('keeps the lock while the handler works, even if the client has hung up', async () => {
    const { locks, socket } = await start();
    socket.terminate();
    await gone.promise;
    await expect(isFree(locks, 'room:1')).resolves.toBe(false);
    leave.resolve();
    await using lock = await locks.acquire('room:1');
    expect([lock.isHeld, events]).toEqual([true, expect.arrayContaining(['handler in room:1'])]);
  });
});
