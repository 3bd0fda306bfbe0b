import 'reflect-metadata';
import { Readable } from 'node:stream';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Injectable,
  Module,
  Param,
  ParseIntPipe,
  Res,
  SetMetadata,
  StreamableFile,
  UseGuards,
} from '@nestjs/common';
import { NestFactory, Reflector } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { MessageBody, SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { type Server, WebSocket } from 'ws';

/** Locked routes and messages, as clients see them, on both HTTP adapters. */
let leave = (): void => {};
let left = Promise.resolve();

function body(): Readable {
  return Readable.from(
    (async function* () {
      yield 'begun ';
      await left;
      yield 'ended';
    })(),
    { objectMode: false },
  );
}

@Injectable()
class Roles implements CanActivate {
  constructor(private readonly reflector: Reflector) {}
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>();
    return this.reflector.get<string>('role', context.getHandler()) === request.headers['x-role'];
  }
}

interface AnyResponse extends NodeJS.WritableStream {
  send(body: unknown): unknown;
  raw?: unknown;
}

@Controller('products')
class Products {
  @SetMetadata('role', 'buyer')
  @UseGuards(Roles)
  @DistributedLock({ key: 'product:#{id}', wait: 0 })
  @Get(':id')
  async buy(@Param('id', ParseIntPipe) id: number): Promise<object> {
    return { id, held: currentLock()?.key };
  }

  @Get(':id/file')
  @DistributedLock('product:#{id}')
  async file(@Param('id') id: string): Promise<StreamableFile> {
    void id;
    return new StreamableFile(body());
  }

  @Get(':id/by-hand')
  @DistributedLock('product:#{id}')
  async byHand(@Param('id') id: string, @Res() response: AnyResponse): Promise<void> {
    void id;
    if (response.raw) response.send(body());
    else body().pipe(response);
  }
}

@WebSocketGateway()
class Messages {
  @WebSocketServer()
  readonly server!: Server;

  @SubscribeMessage('buy')
  @DistributedLock({ key: 'product:#{id}', wait: 0 })
  async buy(@MessageBody('id') id: number): Promise<object> {
    return { event: 'bought', data: { id, held: currentLock()?.key } };
  }
}

@Module({
  imports: [
    RedisLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '', keyPrefix: `package-check:${process.pid}:` }),
  ],
  controllers: [Products],
  providers: [Messages],
})
class AppModule {}

function same(what: string, actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
  }
}

async function checkRoutes(app: INestApplication, url: string): Promise<void> {
  const locks = app.get(RedisLockService);
  const get = async (path: string, role = 'buyer') =>
    fetch(`${url}/products/${path}`, { headers: { 'x-role': role, connection: 'close' } });
  same('a locked route', await (await get('7')).json(), { id: 7, held: 'product:7' });
  same('its guard', (await get('7', 'thief')).status, 403);
  same('its pipe', (await get('seven')).status, 400);
  await locks.using('product:7', async () => {
    const refused = await get('7');
    const { code } = (await refused.json()) as { code: string };
    same('a held lock', [refused.status, code, refused.headers.has('retry-after')], [409, 'LOCK_CONTENDED', true]);
  });
  for (const path of ['7/file', '7/by-hand']) {
    left = new Promise((resolve) => (leave = resolve));
    const response = await get(path);
    same(`${path} while it is sent`, await locks.tryAcquire('product:7'), null);
    leave();
    same(path, await response.text(), 'begun ended');
    await (await locks.acquire('product:7')).release();
  }
}

interface Heard {
  event: string;
  data: { code?: string; held?: string };
}

async function checkMessages(app: INestApplication, url: string): Promise<void> {
  const client = new WebSocket(url.replace('http', 'ws'));
  await new Promise((resolve) => client.once('open', resolve));
  const message = JSON.stringify({ event: 'buy', data: { id: 7 } });
  const ask = async (send = () => client.send(message)): Promise<Heard> => {
    const answer = new Promise<string>((resolve) => client.once('message', (data: Buffer) => resolve(data.toString())));
    send();
    return JSON.parse(await answer);
  };
  const receive = (): void => {
    for (const connection of app.get(Messages).server.clients) connection.emit('message', Buffer.from(message), false);
  };
  same('a locked message', (await ask()).data.held, 'product:7');
  const refused = await app.get(RedisLockService).using('product:7', () => ask());
  same('a message for a held lock', [refused.event, refused.data.code], ['exception', 'LOCK_CONTENDED']);
  const inside = await app.get(RedisLockService).using('product:7', () => ask(receive));
  same('a message that is received inside a hold', inside.data.code, 'LOCK_CONTENDED');
  client.terminate();
}

async function main(): Promise<void> {
  for (const adapter of [new ExpressAdapter(), new FastifyAdapter()]) {
    const app = await NestFactory.create(AppModule, adapter as ExpressAdapter, { logger: ['error', 'warn'] });
    app.useWebSocketAdapter(new WsAdapter(app));
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    await checkRoutes(app, url);
    await checkMessages(app, url);
    await app.close();
  }
  console.log('locked over HTTP and WebSocket');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
