import 'reflect-metadata';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { type DynamicModule, Inject, Injectable, Res, Scope, StreamableFile, type Type } from '@nestjs/common';
import { ContextIdFactory, REQUEST } from '@nestjs/core';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { type Observable, Subject, defer, firstValueFrom, from, startWith, toArray } from 'rxjs';
import {
  currentLock,
  DistributedLock,
  Leader,
  LeaderOnly,
  type Leadership,
  RedisLockModule,
  RedisLockService,
} from 'nestjs-redis-lock';
import { LockTestBed, MemoryLockBackend, MemoryLockServer, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import type { LockBackend } from 'nestjs-redis-lock/backend';
import { WatchedBackend } from '../../../conformance/watched-backend.js';
import { KeptLogger } from '../transports/kept-logger.js';
import { closing, deferred } from './fixtures.js';

const ended = async ({ signal }: Leadership): Promise<void> => {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
};

const start = async (bed: LockTestBed, providers: Type[], imports: (DynamicModule | Type)[] = []) =>
  closing(
    await (
      await Test.createTestingModule({ imports: [RedisLockTestingModule.forRoot({ bed }), ...imports], providers })
        .setLogger(new KeptLogger())
        .compile()
    ).init(),
  );

/** Of two applications the first leads. */
async function twoOf(provider: Type, imports: (DynamicModule | Type)[] = []) {
  const bed = new LockTestBed();
  const leads = await start(bed, [provider], imports);
  await bed.advance(1);
  const waits = await start(bed, [provider], imports);
  await bed.advance(1);
  return { bed, leads, waits, [Symbol.asyncDispose]: () => Promise.all([leads.close(), waits.close()]).then(() => {}) };
}

async function startOne(provider: Type) {
  const bed = new LockTestBed();
  const app = await start(bed, [provider]);
  await bed.advance(1);
  return app;
}

/** A query as builders return it: it runs when `then` is called, each time. */
// oxlint-disable-next-line unicorn/no-thenable -- builders of queries are like this
const queryOf = <T>(run: () => Promise<T>): PromiseLike<T> => ({ then: (ok, failed) => run().then(ok, failed) });

const elected = (app: TestingModule, name = 'scheduler'): boolean => app.get(RedisLockService).election(name).isLeader;

@Injectable()
class Scheduler {
  readonly terms: Leadership[] = [];
  private readonly isFit = true;
  fitness = (): boolean => this.isFit;

  @Leader('scheduler', {
    lease: '10s',
    candidate(this: Scheduler) {
      return this.fitness();
    },
  })
  async lead(leadership: Leadership) {
    this.terms.push(leadership);
    await ended(leadership);
  }
}

describe('@Leader', () => {
  it('calls the method of one application, on its object, with signal, epoch and resign', async () => {
    await using apps = await twoOf(Scheduler);
    const [a, b] = [apps.leads.get(Scheduler), apps.waits.get(Scheduler)];
    expect([a.terms.length, b.terms.length]).toEqual([1, 0]);
    expect(a.terms[0]).toMatchObject({ epoch: expect.any(Number), resign: expect.any(Function) });
    expect(apps.bed.inspect('scheduler')).toMatchObject({
      holders: [{ method: 'Scheduler.lead', fencingToken: a.terms[0]!.epoch }],
      waiters: [{ method: 'Scheduler.lead' }],
    });
    a.terms[0]!.resign();
    await apps.bed.advance(10);
    expect([a.terms.length, b.terms.length]).toEqual([1, 1]);
    await apps.bed.advance('1h');
    expect([elected(apps.leads), elected(apps.waits)]).toEqual([false, true]);
    b.terms[0]!.resign();
    await apps.bed.advance(10);
    expect([a.terms.length, b.terms.length]).toEqual([2, 1]);
  });

  it('hands over when the application closes, and the method ends before its lock is released', async () => {
    await using apps = await twoOf(Scheduler);
    const [a, b] = [apps.leads.get(Scheduler), apps.waits.get(Scheduler)];
    await apps.leads.close();
    expect(a.terms[0]!.signal.aborted).toBe(true);
    await apps.bed.advance(10);
    expect(b.terms).toHaveLength(1);
  });

  it('passes its options on: the lease, and the candidate on its object', async () => {
    await using apps = await twoOf(Scheduler);
    expect(apps.bed.inspect('scheduler').holders[0]!.leaseLeft).toBeLessThanOrEqual(10_000);
    apps.leads.get(Scheduler).fitness = () => false;
    await apps.bed.advance(1_010);
    expect([elected(apps.leads), elected(apps.waits)]).toEqual([false, true]);
  });

  it('leads on a named connection, with forRootAsync', async () => {
    class Billing {
      readonly terms: Leadership[] = [];
      @Leader('invoices', { connection: 'billing' })
      async lead(leadership: Leadership) {
        this.terms.push(leadership);
        await ended(leadership);
      }
      @LeaderOnly('invoices', { connection: 'billing' })
      run() {
        return currentLock()?.fencingToken;
      }
    }
    const module = await Test.createTestingModule({
      imports: [
        RedisLockModule.forRoot({ backend: new MemoryLockBackend() }),
        RedisLockModule.forRootAsync({ name: 'billing', useFactory: () => ({ backend: new MemoryLockBackend() }) }),
      ],
      providers: [Billing],
    }).compile();
    await using app = closing(await module.init());
    const billing = app.get(Billing);
    while (billing.terms.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(billing.run()).toBe(billing.terms[0]!.epoch);
    expect(elected(app, 'invoices')).toBe(false);
  });

  it('leads from an object that a factory made, once although it has two tokens', async () => {
    const bed = new LockTestBed();
    const module = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot({ bed })],
      providers: [
        { provide: 'made', useFactory: () => new Scheduler() },
        { provide: 'alias', useExisting: 'made' },
      ],
    }).compile();
    await using app = closing(await module.init());
    await bed.advance(1);
    expect(app.get<Scheduler>('alias').terms).toHaveLength(1);
  });

  it('leads by its override, once, and for the election that the override names', async () => {
    class Base {
      readonly seen: string[] = [];
      @Leader('scheduler')
      async lead(leadership: Leadership) {
        this.seen.push('base');
        await ended(leadership);
      }
    }
    class Same extends Base {
      @Leader('scheduler')
      override async lead(leadership: Leadership) {
        this.seen.push('override');
        await super.lead(leadership);
      }
    }
    class Other extends Base {
      @Leader('indexer')
      override async lead(leadership: Leadership) {
        await super.lead(leadership);
      }
    }
    const bed = new LockTestBed();
    await using app = await start(bed, [Same, Other]);
    await bed.advance(1);
    expect([app.get(Same).seen, app.get(Other).seen]).toEqual([['override', 'base'], ['base']]);
    expect(elected(app, 'indexer')).toBe(true);
  });

  it('begins the query that its method returns once', async () => {
    class Rows {
      begun = 0;
      @Leader('scheduler')
      lead(_leadership: Leadership): PromiseLike<void> {
        return queryOf(async () => void this.begun++);
      }
    }
    const bed = new LockTestBed();
    await using app = await start(bed, [Rows]);
    await bed.advance(1);
    expect(app.get(Rows).begun).toBe(1);
  });

  it('is refused at start where it cannot work: request-scoped, twice, and with an unknown connection', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class OfRequest {
      @Leader('scheduler')
      async lead() {}
    }
    @Injectable()
    class Bubbling {
      constructor(@Inject(REQUEST) readonly request: unknown) {}
      @Leader('scheduler')
      async lead() {}
    }
    class Elsewhere {
      @Leader('scheduler', { connection: 'billing' })
      async lead() {}
    }
    const bed = new LockTestBed();
    await expect(start(bed, [OfRequest])).rejects.toThrow(/@Leader on OfRequest\.lead: .*request-scoped/);
    await expect(start(bed, [Bubbling])).rejects.toThrow(/@Leader on Bubbling\.lead: .*request-scoped/);
    class Other extends Scheduler {}
    await expect(start(bed, [Scheduler, Other])).rejects.toThrow(
      /@Leader: Scheduler\.lead and Scheduler\.lead both lead 'scheduler'/,
    );
    await expect(start(bed, [Elsewhere])).rejects.toThrow(/billing/);
  });

  it('is refused when the class is loaded, in a wrong place or with a wrong option', () => {
    const wrong = (election: string, options: object) => () => {
      class A {
        @Leader(election, options)
        async lead() {}
      }
      return A;
    };
    expect(wrong('', {})).toThrow(/@Leader on A\.lead: key: the lock name is empty/);
    expect(wrong('a', { conection: 'x' })).toThrow(/Did you mean 'connection'\?/);
    expect(wrong('a', { lease: 'soon' })).toThrow(/lease: 'soon'/);
    expect(wrong('a', { candidate: true })).toThrow(/candidate: true given, a function expected/);
    expect(() => (Leader('a') as unknown as MethodDecorator)(class A {}, 'm', { value: () => 1 })).toThrow(
      /a static method/,
    );
    expect(() => (LeaderOnly('a') as unknown as MethodDecorator)({}, 'm', { get: () => 1 })).toThrow(
      /it is for methods, not for classes, accessors/,
    );
  });
});

@Injectable()
class Jobs {
  readonly seen: unknown[] = [];
  readonly running = deferred();

  @LeaderOnly('scheduler')
  now(): string | undefined {
    return 'ran';
  }

  @LeaderOnly('scheduler')
  async later(): Promise<number | undefined> {
    return currentLock()?.fencingToken;
  }

  @LeaderOnly('scheduler')
  async long() {
    this.seen.push('begun');
    await this.running.promise;
    this.seen.push('ended');
  }
}

describe('@LeaderOnly', () => {
  it('alone makes its application a candidate: of two, one runs the method, and the other answers undefined in its kind', async () => {
    await using apps = await twoOf(Jobs);
    const [a, b] = [apps.leads.get(Jobs), apps.waits.get(Jobs)];
    expect([a.now(), b.now()]).toEqual(['ran', undefined]);
    expect(b.later()).toBeInstanceOf(Promise);
    expect(await b.later()).toBeUndefined();
    expect(await a.later()).toBe(apps.bed.inspect('scheduler').holders[0]!.fencingToken);
    await apps.leads.close();
    await apps.bed.advance(10);
    expect([a.now(), b.now()]).toEqual([undefined, 'ran']);
  });

  it('sends no command', async () => {
    const server = new MemoryLockServer();
    const backends = [1, 2].map(() => new WatchedBackend(new MemoryLockBackend({ server })));
    const start = async (backend: LockBackend) =>
      closing(
        await (
          await Test.createTestingModule({ imports: [RedisLockModule.forRoot({ backend })], providers: [Jobs] })
            .setLogger(new KeptLogger())
            .compile()
        ).init(),
      );
    await using leads = await start(backends[0]!);
    while (!elected(leads)) await new Promise((resolve) => setImmediate(resolve));
    await using waits = await start(backends[1]!);
    await backends[1]!.until(() => backends[1]!.waiting('scheduler') > 0);
    const before = backends.map(({ requests }) => requests);
    const calls = [leads, waits].map((app) => app.get(Jobs).now());
    const after = backends.map(({ requests }) => requests);
    expect([calls, after]).toEqual([['ran', undefined], before]);
  });

  it('does not run any more on a leader that was paused past its lease', async () => {
    await using apps = await twoOf(Jobs);
    apps.bed.stall('31s');
    expect(apps.leads.get(Jobs).now()).toBeUndefined();
  });

  it('delays the next leader until the running call has ended', async () => {
    await using apps = await twoOf(Jobs);
    const [a, b] = [apps.leads.get(Jobs), apps.waits.get(Jobs)];
    const call = a.long();
    const closed = apps.leads.close();
    await apps.bed.advance('5s');
    expect([a.now(), b.now(), a.seen]).toEqual([undefined, undefined, ['begun']]);
    a.running.resolve();
    await call;
    await apps.bed.advance(10);
    await closed;
    expect(b.now()).toBe('ran');
  });

  it('belongs to the campaign of the application: its candidate decides', async () => {
    class Both extends Scheduler {
      @LeaderOnly('scheduler')
      tick(): string | undefined {
        return 'ticked';
      }
    }
    const bed = new LockTestBed();
    await using app = await start(bed, [Both]);
    await bed.advance(1);
    const both = app.get(Both);
    expect([both.terms.length, both.tick()]).toEqual([1, 'ticked']);
    both.fitness = () => false;
    await bed.advance('1h');
    expect([both.terms.length, both.tick()]).toEqual([1, undefined]);
    expect(bed.inspect('scheduler')).toMatchObject({ holders: [], waiters: [] });
  });

  it('gives way to a campaign by hand that begins later', async () => {
    const bed = new LockTestBed();
    await using app = await start(bed, [Jobs]);
    await bed.advance(1);
    const jobs = app.get(Jobs);
    expect(jobs.now()).toBe('ran');
    const over = new AbortController();
    const terms: Leadership[] = [];
    const done = app
      .get(RedisLockService)
      .election('scheduler')
      .campaign(
        async (leadership) => {
          terms.push(leadership);
          await ended(leadership);
        },
        { signal: over.signal },
      );
    expect(jobs.now()).toBeUndefined();
    await bed.advance(10);
    expect([jobs.now(), terms.length]).toEqual(['ran', 1]);
    over.abort();
    await bed.until(done);
    await bed.advance('1h');
    jobs.now();
    await bed.advance('1h');
    expect(jobs.now()).toBeUndefined();
  });

  it('runs inside the method that leads without another step', async () => {
    class Tree {
      readonly seen: unknown[] = [];
      @Leader('scheduler')
      async lead(leadership: Leadership) {
        this.seen.push(await this.step(), currentLock()?.fencingToken === leadership.epoch);
        await ended(leadership);
        this.seen.push(await this.step());
      }
      @LeaderOnly('scheduler')
      async step(): Promise<number | undefined> {
        return currentLock()?.depth;
      }
    }
    const bed = new LockTestBed();
    const app = await start(bed, [Tree]);
    await bed.advance(1);
    const { seen } = app.get(Tree);
    expect(seen).toEqual([1, true]);
    await app.close();
    expect(seen).toEqual([1, true, undefined]);
  });

  it('is waited for when the method that leads has not waited for it', async () => {
    class Ticking extends Jobs {
      @Leader('scheduler')
      async lead(leadership: Leadership) {
        void this.long();
        await ended(leadership);
      }
    }
    await using apps = await twoOf(Ticking);
    const [a, b] = [apps.leads.get(Ticking), apps.waits.get(Ticking)];
    const closed = apps.leads.close();
    await apps.bed.advance('5s');
    expect([a.seen, b.now()]).toEqual([['begun'], undefined]);
    a.running.resolve();
    await apps.bed.advance(10);
    await closed;
    expect([a.seen, b.now()]).toEqual([['begun', 'ended'], 'ran']);
  });

  it('begins the query that its method returns once, and inside the lock', async () => {
    const begun: unknown[] = [];
    class Rows {
      @LeaderOnly('scheduler')
      remove(): PromiseLike<number | undefined> {
        return queryOf(async () => begun.push(currentLock()?.key));
      }
    }
    const bed = new LockTestBed();
    await using app = await start(bed, [Rows]);
    await bed.advance(1);
    expect(await app.get(Rows).remove()).toBe(1);
    expect(begun).toEqual(['scheduler']);
  });

  it('holds the lock while its Observable is subscribed to, and completes it where this process leads no more', async () => {
    class Streams {
      readonly source = new Subject<string>();
      @LeaderOnly('scheduler')
      follow(): Observable<string> | undefined {
        return defer(() => this.source.pipe(startWith(`inside ${currentLock()?.key}`)));
      }
    }
    await using apps = await twoOf(Streams);
    const [a, b] = [apps.leads.get(Streams), apps.waits.get(Streams)];
    expect(b.follow()).toBeUndefined();
    const stream = a.follow()!;
    const seen: string[] = [];
    const subscription = stream.subscribe((value) => seen.push(value));
    const closed = apps.leads.close();
    await apps.bed.advance('5s');
    a.source.next('more');
    expect([seen, elected(apps.waits)]).toEqual([['inside scheduler', 'more'], false]);
    subscription.unsubscribe();
    await apps.bed.advance(10);
    await closed;
    expect(elected(apps.waits)).toBe(true);
    expect(await firstValueFrom(stream, { defaultValue: 'nothing' })).toBe('nothing');
  });

  describe('lets the next leader lead when what its method returned has ended:', () => {
    /** A result with two steps, which stops between them, and the epochs in which they ran. */
    class Results {
      readonly epochs: unknown[] = [];
      readonly going = deferred();
      private step(): string {
        this.epochs.push(currentLock()?.fencingToken);
        return 'a step';
      }
      private async *steps(): AsyncGenerator<string> {
        yield this.step();
        await this.going.promise;
        yield this.step();
      }
      private readonly iterable = { [Symbol.asyncIterator]: () => this.steps() };

      @LeaderOnly('scheduler')
      generator(): AsyncIterable<string> | undefined {
        return this.steps();
      }
      @LeaderOnly('scheduler')
      async laterGenerator(): Promise<AsyncIterable<string> | undefined> {
        return this.steps();
      }
      @LeaderOnly('scheduler')
      async laterIterable(): Promise<AsyncIterable<string> | undefined> {
        return this.iterable;
      }
      @LeaderOnly('scheduler')
      readable(): Readable | undefined {
        return Readable.from(this.steps());
      }
      @LeaderOnly('scheduler')
      async laterReadable(): Promise<Readable | undefined> {
        return Readable.from(this.steps()).pipe(new PassThrough());
      }
      @LeaderOnly('scheduler')
      async file(): Promise<StreamableFile | undefined> {
        return new StreamableFile(Readable.from(this.steps(), { objectMode: false }));
      }
      @LeaderOnly('scheduler')
      async settings(): Promise<{ port?: number } | undefined> {
        return new Proxy(
          { port: 80 },
          {
            get(target, property) {
              if (property === 'then' || property in target) return Reflect.get(target, property) as unknown;
              throw new Error(`There is no setting ${String(property)}.`);
            },
          },
        );
      }
      @LeaderOnly('scheduler')
      async laterObservable(): Promise<Observable<string> | undefined> {
        return from(this.steps());
      }
    }
    const iterated = (result: unknown): AsyncIterable<unknown> =>
      result instanceof StreamableFile ? result.getStream() : (result as AsyncIterable<unknown>);

    it.each(['generator', 'laterGenerator', 'laterIterable', 'readable', 'laterReadable', 'file'] as const)(
      '%s',
      async (kind) => {
        await using apps = await twoOf(Results);
        const [a, b] = [apps.leads.get(Results), apps.waits.get(Results)];
        expect(await b[kind]()).toBeUndefined();
        const steps = iterated(await a[kind]())[Symbol.asyncIterator]();
        await steps.next();
        const closed = apps.leads.close();
        await apps.bed.advance('5s');
        expect(elected(apps.waits)).toBe(false);
        a.going.resolve();
        while (!(await steps.next()).done);
        await apps.bed.advance(10);
        await closed;
        expect([a.epochs.length, elected(apps.waits)]).toEqual([2, true]);
      },
    );

    it.each(['generator', 'laterGenerator', 'laterIterable'] as const)('%s, whose steps run inside', async (kind) => {
      await using app = await startOne(Results);
      const results = app.get(Results);
      results.going.resolve();
      for await (const _ of (await results[kind]())!);
      expect(results.epochs).toEqual([expect.any(Number), results.epochs[0]]);
    });

    it('laterObservable', async () => {
      await using apps = await twoOf(Results);
      const a = apps.leads.get(Results);
      const all = toArray()((await a.laterObservable())!);
      const seen = firstValueFrom(all);
      const closed = apps.leads.close();
      await apps.bed.advance('1s');
      expect([a.epochs, elected(apps.waits)]).toEqual([[expect.any(Number)], false]);
      a.going.resolve();
      expect(await seen).toEqual(['a step', 'a step']);
      await apps.bed.advance(10);
      expect(elected(apps.waits)).toBe(true);
      await closed;
    });

    it('one that was not begun before another process led ends at once', async () => {
      await using apps = await twoOf(Results);
      const a = apps.leads.get(Results);
      const [steps, later] = [a.generator()!, await a.laterIterable()];
      await apps.leads.close();
      for (const each of [steps, later!]) expect(await each[Symbol.asyncIterator]().next()).toEqual({ done: true });
      expect(a.epochs).toEqual([]);
    });

    it('one that throws for properties that it does not have, and is returned', async () => {
      await using apps = await twoOf(Results);
      expect((await apps.leads.get(Results).settings())?.port).toBe(80);
      const closed = apps.leads.close();
      await apps.bed.advance(10);
      await closed;
      expect(elected(apps.waits)).toBe(true);
    });

    it('one whose reader stops early, and one that fails', async () => {
      await using apps = await twoOf(Results);
      const a = apps.leads.get(Results);
      for await (const _ of a.generator()!) break;
      const [broken, failed] = [a.readable()!, (await a.laterReadable())!];
      broken.destroy();
      failed.on('error', () => undefined).destroy(new Error('gone'));
      const closed = apps.leads.close();
      await apps.bed.advance(10);
      await closed;
      expect(elected(apps.waits)).toBe(true);
    });
  });

  it('is refused on a generator, as @Leader is', () => {
    expect(() => {
      class Steps {
        @LeaderOnly('scheduler')
        async *steps(): unknown {}
      }
      return Steps;
    }).toThrow(/@LeaderOnly on Steps\.steps: the method is a generator/);
    expect(() => {
      class Steps {
        @Leader('scheduler')
        *steps(): unknown {}
      }
      return Steps;
    }).toThrow(/@Leader on Steps\.steps: the method is a generator/);
  });

  it('works in a request-scoped class', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class OfRequest {
      @LeaderOnly('scheduler')
      now(): string | undefined {
        return 'ran';
      }
    }
    const bed = new LockTestBed();
    await using app = await start(bed, [OfRequest]);
    await bed.advance(1);
    const object = await app.resolve(OfRequest, ContextIdFactory.create());
    expect(object.now()).toBe('ran');
  });

  it('stands for the election at its first call where the object came after the start', async () => {
    const bed = new LockTestBed();
    const jobs = bed.connect(new Jobs());
    expect(jobs.now()).toBeUndefined();
    await bed.advance(1);
    expect(jobs.now()).toBe('ran');
    expect(() => new Jobs().now()).toThrow(/Jobs\.now: this object has no lock connection/);
    await bed.locks().election('scheduler').leader();
  });

  it('is refused on a handler that writes its response itself', () => {
    expect(() => {
      class Reports {
        @LeaderOnly('scheduler')
        async get(@Res() _response: unknown) {}
      }
      return Reports;
    }).toThrow(/@LeaderOnly on Reports\.get: the handler writes its response itself/);
  });

  it('skips jobs and listeners in any order of decorators, before a lock is requested, and keeps their metadata', async () => {
    function Traced(): MethodDecorator {
      return (_target, _property, descriptor: PropertyDescriptor) => {
        const original = descriptor.value as (...args: unknown[]) => unknown;
        descriptor.value = function (this: Ordered, ...args: unknown[]) {
          this.seen.push('traced');
          return original.apply(this, args);
        };
        for (const key of Reflect.getMetadataKeys(original) as unknown[])
          Reflect.defineMetadata(key, Reflect.getMetadata(key, original), descriptor.value as object);
      };
    }
    class Ordered {
      readonly seen: string[] = [];
      readonly rang = deferred();
      @Interval(5)
      @LeaderOnly('scheduler')
      above() {
        this.note('above');
      }
      @LeaderOnly('scheduler')
      @Interval(5)
      below() {
        this.note('below');
      }
      @OnEvent('sold')
      @DistributedLock('inner')
      @LeaderOnly('scheduler')
      async lockAbove() {
        this.note(`lockAbove ${currentLock()?.key}`);
      }
      @LeaderOnly('scheduler')
      @Traced()
      @DistributedLock('outer')
      @OnEvent('sold')
      async lockBelow() {
        this.note(`lockBelow ${currentLock()?.key}`);
      }
      private note(what: string): void {
        if (!this.seen.includes(what)) this.seen.push(what);
        if (this.seen.includes('above') && this.seen.includes('below')) this.rang.resolve();
      }
    }
    await using apps = await twoOf(Ordered, [ScheduleModule.forRoot(), EventEmitterModule.forRoot()]);
    const [a, b] = [apps.leads.get(Ordered), apps.waits.get(Ordered)];
    await a.rang.promise;
    const locks = ['inner', 'outer'].map((name) => apps.bed.otherProcess().acquire(name));
    await Promise.all(locks);
    // Where another process leads, no call waits for these locks.
    await apps.waits.get(EventEmitter2).emitAsync('sold');
    expect(b.seen).toEqual([]);
    for (const lock of locks) await (await lock).release();
    await apps.leads.get(EventEmitter2).emitAsync('sold');
    expect(a.seen.filter((what) => what !== 'traced').toSorted()).toEqual([
      'above',
      'below',
      'lockAbove inner',
      'lockBelow outer',
    ]);
  });
});
