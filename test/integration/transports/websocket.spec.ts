import 'reflect-metadata';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  Injectable,
  type ModuleMetadata,
  type NestInterceptor,
  ParseIntPipe,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { MessageBody, SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import {
  currentLock,
  DistributedLock,
  LockError,
  type RedisLockModuleOptions,
  RedisLockService,
} from 'nestjs-redis-lock';
import { map, Observable } from 'rxjs';
import { type Server, WebSocket } from 'ws';
import { freePort } from '../../support/redis-server.js';
import { type Deferred, deferred } from '../nest/fixtures.js';
import { adapters, httpApplication } from './http-servers.js';

let inside: Deferred;
let leave: Deferred;
let unsubscribed: Deferred;

@Injectable()
class Stock {
  @DistributedLock({ key: 'product:#{id}', wait: 0 })
  async take(id: number) {
    return `${id} ${currentLock()?.key}`;
  }
}

class NotThirteen implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToWs().getData<{ id: number }>().id !== 13;
  }
}

class Answered implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler<object>): Observable<object> {
    return next.handle().pipe(map((answer) => ({ ...answer, event: 'answered' })));
  }
}

/** A client that handles unknown messages by itself. */
@Catch(LockError)
class Own implements ExceptionFilter<LockError> {
  catch(error: LockError, host: ArgumentsHost) {
    host
      .switchToWs()
      .getClient<WebSocket>()
      .send(JSON.stringify({ event: 'own', data: error.code }));
  }
}

function gatewayOn(port: number | undefined): Type {
  const gateway = port === undefined ? WebSocketGateway() : WebSocketGateway(port);

  @gateway
  @Injectable()
  class Products {
    @WebSocketServer()
    readonly server!: Server;

    constructor(private readonly stock: Stock) {}

    @UseGuards(NotThirteen)
    @UseInterceptors(Answered)
    @SubscribeMessage('buy')
    @DistributedLock({ key: 'product:#{id}', wait: 0 })
    async buy(@MessageBody('id', ParseIntPipe) id: number) {
      inside.resolve();
      await leave.promise;
      return { event: 'bought', data: `${id} ${currentLock()?.key}` };
    }

    @DistributedLock('product:#{id}')
    @SubscribeMessage('watch')
    watch(@MessageBody('id') id: number): Observable<object> {
      return new Observable((subscriber) => {
        subscriber.next({ event: 'seen', data: `${id} ${currentLock()?.key}` });
        void leave.promise.then(() => subscriber.complete());
        return unsubscribed.resolve;
      });
    }

    @SubscribeMessage('through')
    async through(@MessageBody('id') id: number) {
      return { event: 'taken', data: await this.stock.take(id) };
    }

    @SubscribeMessage('late')
    @DistributedLock('late')
    async late() {
      return new Observable();
    }
  }
  return Products;
}

describe('a WebSocket gateway', () => {
  let app: INestApplication;
  const clients: WebSocket[] = [];
  const create = async (gateway: Type, options: RedisLockModuleOptions = {}, metadata: ModuleMetadata = {}) => {
    app = await httpApplication(adapters[0]![1], { ...metadata, providers: [gateway, Stock] }, options);
    app.useWebSocketAdapter(new WsAdapter(app));
  };
  const start = async (options: RedisLockModuleOptions = {}) => {
    await create(gatewayOn(undefined), options);
    await app.listen(0, '127.0.0.1');
  };
  const connect = async (url?: string) => {
    const client = new WebSocket(url ?? (await app.getUrl()).replace('http', 'ws'));
    clients.push(client);
    await once(client, 'open');
    return client;
  };
  const tell = (client: WebSocket, event: string, id: unknown): void =>
    client.send(JSON.stringify({ event, data: { id } }));
  const heard = async (client: WebSocket): Promise<unknown> => {
    const [message] = (await once(client, 'message')) as [Buffer];
    return JSON.parse(message.toString()) as unknown;
  };
  const ask = async (client: WebSocket, event: string, id: unknown): Promise<unknown> => {
    const answer = heard(client);
    tell(client, event, id);
    return answer;
  };
  const contended = expect.objectContaining({
    event: 'exception',
    data: expect.objectContaining({ code: 'LOCK_CONTENDED' }),
  });

  beforeEach(() => {
    inside = deferred();
    leave = deferred();
    unsubscribed = deferred();
  });
  afterEach(async () => {
    leave.resolve();
    for (const client of clients.splice(0)) client.terminate();
    await app.close();
  });

  it('locks its handlers, promises and Observables, and keeps guards, pipes and interceptors', async () => {
    await start();
    leave.resolve();
    const client = await connect();
    expect(await ask(client, 'buy', '7')).toEqual({ event: 'answered', data: '7 product:7' });
    expect(await ask(client, 'watch', 7)).toEqual({ event: 'seen', data: '7 product:7' });
    expect(await ask(client, 'buy', 13)).toMatchObject({ event: 'exception', data: { message: 'Forbidden resource' } });
  });

  it('sends a lock error to the client in the form of a WsException: its code, when to try again, and its cause', async () => {
    await start();
    const [one, other] = [await connect(), await connect()];
    const first = ask(one, 'buy', 1);
    await inside.promise;
    expect(await ask(other, 'buy', 1)).toEqual({
      event: 'exception',
      data: {
        status: 'error',
        code: 'LOCK_CONTENDED',
        message: 'The resource is in use. Try again later.',
        retryAfter: 1000,
        cause: { pattern: 'buy', data: { id: 1 } },
      },
    });
    leave.resolve();
    expect(await first).toEqual({ event: 'answered', data: '1 product:1' });
  });

  it("runs the gateway's own filters first", async () => {
    const gateway = gatewayOn(undefined);
    UseFilters(Own)(gateway);
    await create(gateway);
    await app.listen(0, '127.0.0.1');
    await using _lock = await app.get(RedisLockService).acquire('product:1');
    expect(await ask(await connect(), 'buy', 1)).toEqual({ event: 'own', data: 'LOCK_CONTENDED' });
  });

  it('leaves lock errors to Nest with httpErrors: false', async () => {
    await start({ httpErrors: false });
    await using _lock = await app.get(RedisLockService).acquire('product:1');
    expect(await ask(await connect(), 'buy', 1)).toMatchObject({ data: { message: 'Internal server error' } });
  });

  it('holds the lock of an Observable until its client disconnects', async () => {
    await start();
    const client = await connect();
    await ask(client, 'watch', 1);
    const locks = app.get(RedisLockService);
    await expect(locks.tryAcquire('product:1')).resolves.toBeNull();
    client.terminate();
    await unsubscribed.promise;
    await using lock = await locks.acquire('product:1');
    expect(lock.isHeld).toBe(true);
  });

  it('refuses an async handler that returns an Observable, which may get no subscriber', async () => {
    await start();
    expect(await ask(await connect(), 'late', 1)).toMatchObject({ data: { code: 'LOCK_CONFIGURATION' } });
  });

  it('makes two messages of one connection, sent at once, exclude one another', async () => {
    await start();
    const client = await connect();
    const refused = heard(client);
    tell(client, 'buy', 1);
    await inside.promise;
    tell(client, 'through', 1);
    expect(await refused).toEqual(contended);
  });

  it.each([
    ['the port of the application', async () => undefined],
    ['a port of its own', freePort],
  ])('shares with no message the hold that its server was started in, on %s', async (_where, portOf) => {
    const port = await portOf();
    await create(gatewayOn(port));
    await app.get(RedisLockService).using('product:1', async () => {
      await app.listen(0, '127.0.0.1');
      const client = await connect(port === undefined ? undefined : `ws://127.0.0.1:${port}`);
      expect(await ask(client, 'buy', 1)).toEqual(contended);
      // The handler has no lock itself, what it calls has one.
      expect(await ask(client, 'through', 1)).toEqual(contended);
      expect(await ask(client, 'through', 2)).toEqual({ event: 'taken', data: '2 product:2' });
    });
  });

  it('shares with no message the hold in which it was received', async () => {
    const gateway = gatewayOn(undefined);
    await create(gateway);
    await app.listen(0, '127.0.0.1');
    const client = await connect();
    const { server } = app.get<{ server: Server }>(gateway);
    await app.get(RedisLockService).using('product:1', async () => {
      const answer = heard(client);
      const message = JSON.stringify({ event: 'through', data: { id: 1 } });
      for (const connection of server.clients) connection.emit('message', Buffer.from(message), false);
      expect(await answer).toEqual(contended);
    });
  });

  it('works the same in a second application with the same class', async () => {
    const gateway = gatewayOn(undefined);
    await create(gateway);
    await app.init();
    await app.close();
    await create(gateway);
    await app.listen(0, '127.0.0.1');
    await using _lock = await app.get(RedisLockService).acquire('product:1');
    const client = await connect();
    expect(await ask(client, 'buy', 1)).toEqual(contended);
    expect(Reflect.getMetadata('__interceptors__', gateway)).toHaveLength(1);
    expect(Reflect.getMetadata('__exceptionFilters__', gateway)).toHaveLength(1);
  });
});
