import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { ClientProxyFactory, MessagePattern, Payload, Transport } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { Observable, lastValueFrom, of, toArray } from 'rxjs';
import { freePort } from '../../support/redis-server.js';
import { closing, onSharedRedis } from './fixtures.js';

@Controller()
class Orders {
  @MessagePattern('order')
  @DistributedLock({ key: 'order:#{order.id}', wait: 0 })
  async order(@Payload() order: { id: string }) {
    return { ...order, held: currentLock()?.key };
  }

  @DistributedLock('stream:#{id}')
  @MessagePattern('stream')
  stream(@Payload() id: string): Observable<string> {
    return of(id, `${currentLock()?.key}`);
  }

  @Get()
  async health() {
    return 'ok';
  }
}

const compile = async () =>
  Test.createTestingModule({ imports: [RedisLockModule.forRoot(onSharedRedis())], controllers: [Orders] })
    .setLogger({ log() {}, warn() {}, error() {} })
    .compile();

const clientOf = (port: number) => ClientProxyFactory.create({ transport: Transport.TCP, options: { port } });

describe('a TCP microservice', () => {
  it('locks message handlers: promises and Observables', async () => {
    const port = await freePort();
    await using app = closing(
      (await compile()).createNestMicroservice({ transport: Transport.TCP, options: { port } }),
    );
    await app.listen();
    const client = clientOf(port);
    try {
      await expect(lastValueFrom(client.send('order', { id: '7' }))).resolves.toEqual({ id: '7', held: 'order:7' });
      await expect(lastValueFrom(client.send('stream', '8').pipe(toArray()))).resolves.toEqual(['8', 'stream:8']);
    } finally {
      await client.close();
    }
  });

  it('passes lock errors on to the caller, with their code', async () => {
    const port = await freePort();
    const module = await compile();
    await using app = closing(module.createNestMicroservice({ transport: Transport.TCP, options: { port } }));
    await app.listen();
    const client = clientOf(port);
    try {
      await using _lock = await module.get(RedisLockService).acquire('order:7');
      await expect(lastValueFrom(client.send('order', { id: '7' }))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    } finally {
      await client.close();
    }
  });
});
