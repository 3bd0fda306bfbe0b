import 'reflect-metadata';
import type { AddressInfo, Server } from 'node:net';
import { Controller, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { NestFactory, REQUEST } from '@nestjs/core';
import {
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  Transport,
} from '@nestjs/microservices';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { Observable, defer, lastValueFrom, of } from 'rxjs';

/** A microservice with jobs, on both lines of Nest: promises, Observables, events, providers of each message, and lock errors. */
@Injectable({ scope: Scope.REQUEST })
class Cart {
  constructor(@Inject(REQUEST) private readonly request: { data: string }) {}

  @DistributedLock('cart:#{id}')
  async open(id: string): Promise<string> {
    return `${this.request.data} ${currentLock()?.key} ${id}`;
  }
}

@Controller()
class Carts {
  constructor(private readonly cart: Cart) {}

  @MessagePattern('cart')
  @DistributedLock({ key: 'carts', wait: 0 })
  async open(@Payload() id: string): Promise<string> {
    return this.cart.open(id);
  }
}

@Injectable()
class Journal {
  readonly lines: string[] = [];
  private readonly waiting = new Map<string, () => void>();

  write(line: string): void {
    this.lines.push(line);
    this.waiting.get(line)?.();
  }

  async has(line: string): Promise<void> {
    if (!this.lines.includes(line)) await new Promise<void>((resolve) => this.waiting.set(line, resolve));
  }
}

@Controller()
class Orders {
  constructor(private readonly journal: Journal) {}

  @MessagePattern('order')
  @DistributedLock({ key: 'order:#{id}', wait: 0 })
  order(@Payload() id: string): Observable<string> {
    return defer(() => of(`${currentLock()?.key} ${id}`));
  }

  @DistributedLock('placed:#{id}')
  @EventPattern('placed')
  async placed(@Payload() id: string): Promise<void> {
    this.journal.write(`${currentLock()?.key} ${id}`);
  }
}

@Injectable()
class Jobs {
  constructor(private readonly journal: Journal) {}

  @Interval(20)
  @DistributedLock({ key: 'job', wait: 0 })
  async job(): Promise<void> {
    this.journal.write(`${currentLock()?.key}`);
  }
}

const keyPrefix = `package-check:${process.pid}:`;

@Module({
  imports: [ScheduleModule.forRoot(), RedisLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '', keyPrefix })],
  controllers: [Carts, Orders],
  providers: [Cart, Journal, Jobs],
})
class AppModule {}

function equal(actual: unknown, expected: string): void {
  if (actual !== expected) throw new Error(`${JSON.stringify(actual)} instead of ${expected}`);
}

async function main(): Promise<void> {
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(AppModule, {
    logger: ['error', 'warn'],
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: 0 },
  });
  await app.listen();
  const { port } = app.unwrap<Server>().address() as AddressInfo;
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
  const ask = async (pattern: string, data: string): Promise<unknown> => lastValueFrom(client.send(pattern, data));

  equal(await ask('order', '1'), 'order:1 1');
  equal(await ask('cart', '2'), '2 cart:2 2');
  await lastValueFrom(client.emit('placed', '3'), { defaultValue: undefined });
  await app.get(Journal).has('placed:3 3');
  await app.get(Journal).has('job');
  const lock = await app.get(RedisLockService).acquire('order:1');
  const refused = await ask('order', '1').catch((error: unknown) => error);
  const { code, key, message } = refused as Record<string, string>;
  equal([code, key, message?.includes("Lock 'order:1'")].join(), 'LOCK_CONTENDED,order:1,true');
  await lock.release();

  await client.close();
  await app.close();
  console.log('locked messages and jobs');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
