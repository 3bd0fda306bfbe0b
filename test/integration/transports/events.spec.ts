import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Injectable, Scope } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { Observable, of } from 'rxjs';
import { closing, deferred, onSharedRedis } from '../nest/fixtures.js';
import { KeptLogger } from './kept-logger.js';

interface Order {
  id: string;
  work?: () => Promise<unknown>;
}

const held = () => [currentLock()?.key, currentLock()?.depth];

@Injectable()
class Listeners {
  readonly seen: unknown[] = [];
  readonly done = deferred();

  @OnEvent('placed')
  @DistributedLock({ key: 'order:#{order.id}', wait: 0 })
  async placed(order: Order) {
    this.seen.push(['placed', ...held()]);
    await order.work?.();
    return held();
  }

  @DistributedLock({ key: 'order:#{order.id}' })
  @OnEvent('paid')
  @OnEvent('refunded')
  async paid(order: Order) {
    this.seen.push(['paid', ...held()]);
    this.done.resolve();
    await order.work?.();
    return held();
  }

  @OnEvent('strict', { suppressErrors: false })
  @DistributedLock({ key: 'order:#{order.id}', wait: 0 })
  async strict(order: Order) {
    await order.work?.();
  }
}

@Injectable({ scope: Scope.REQUEST })
class Scoped {
  @OnEvent('scoped')
  @DistributedLock('scoped:#{0.id}')
  async scoped(_order: Order) {
    return held();
  }
}

const start = async (providers: object[] = [Listeners, Scoped], logger = new KeptLogger()) => {
  const module = await Test.createTestingModule({
    imports: [EventEmitterModule.forRoot(), RedisLockModule.forRoot(onSharedRedis())],
    providers: providers as never,
  })
    .setLogger(logger)
    .compile();
  const app = closing(await module.init());
  return { app, logger, emitter: app.get(EventEmitter2), locks: app.get(RedisLockService) };
};

describe('listeners of @nestjs/event-emitter', () => {
  it('run locked and return their result to emitAsync: for every event of a method, also request-scoped', async () => {
    const { app, emitter } = await start();
    await using _app = app;
    const answers = async (event: string) => emitter.emitAsync(event, { id: '1' });
    await expect(answers('placed')).resolves.toEqual([['order:1', 1]]);
    await expect(answers('paid')).resolves.toEqual([['order:1', 1]]);
    await expect(answers('refunded')).resolves.toEqual([['order:1', 1]]);
    await expect(answers('scoped')).resolves.toEqual([['scoped:1', 1]]);
  });

  it('run locked after emit(), which does not wait for them: events of one key run one by one', async () => {
    const { app, emitter } = await start();
    await using _app = app;
    const { seen, done } = app.get(Listeners);
    const leave = deferred();
    const inside = deferred();
    const work = async (): Promise<void> => {
      inside.resolve();
      await leave.promise;
    };
    expect(emitter.emit('placed', { id: '1', work })).toBe(true);
    await inside.promise;
    expect(emitter.emit('paid', { id: '1' })).toBe(true);
    await expect(emitter.emitAsync('paid', { id: '2' })).resolves.toEqual([['order:2', 1]]);
    expect(seen).toEqual([
      ['placed', 'order:1', 1],
      ['paid', 'order:2', 1],
    ]);
    await done.promise;
    leave.resolve();
    // In the queue behind the waiting one.
    await emitter.emitAsync('paid', { id: '1' });
    expect(seen.slice(2)).toEqual([
      ['paid', 'order:1', 1],
      ['paid', 'order:1', 1],
    ]);
  });

  it('re-enter the lock of the code that emits, so that it may await them', async () => {
    const { app, emitter, locks } = await start();
    await using _app = app;
    await expect(locks.using('order:1', () => emitter.emitAsync('paid', { id: '1' }))).resolves.toEqual([
      ['order:1', 2],
    ]);
  });

  it('keep the lock that they re-entered after the emitter has left it', async () => {
    const { app, emitter, locks } = await start();
    await using _app = app;
    const leave = deferred();
    await locks.using('order:1', () => void emitter.emit('placed', { id: '1', work: () => leave.promise }));
    await expect(locks.tryAcquire('order:1')).resolves.toBeNull();
    const next = locks.acquire('order:1');
    leave.resolve();
    await using lock = await next;
    expect(lock.isHeld).toBe(true);
  });

  it('log a lock error, and reject emitAsync with suppressErrors: false', async () => {
    const { app, emitter, locks, logger } = await start();
    await using _app = app;
    await using _held = await locks.acquire('order:1');
    expect(emitter.emit('placed', { id: '1' })).toBe(true);
    await expect(logger.errorWith("'order:1'")).resolves.toMatch(/^\[Event\] .*Lock 'order:1' is held/);
    await expect(emitter.emitAsync('placed', { id: '1' })).resolves.toEqual([undefined]);
    expect(logger.errors).toHaveLength(2);
    await expect(emitter.emitAsync('strict', { id: '1' })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(logger.errors).toHaveLength(2);
  });

  it('are refused at start when they return an Observable, also request-scoped ones', async () => {
    const classOf = (scope: Scope) => {
      @Injectable({ scope })
      class Streams {
        @OnEvent('placed')
        @DistributedLock('a')
        placed(): Observable<string> {
          return of('never');
        }
      }
      return Streams;
    };
    for (const scope of [Scope.DEFAULT, Scope.REQUEST]) {
      await expect(start([classOf(scope)])).rejects.toThrow(
        /Streams\.placed: .*a listener of @nestjs\/event-emitter never subscribes to/,
      );
    }
  });
});
