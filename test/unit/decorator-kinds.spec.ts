import 'reflect-metadata';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Duplex, PassThrough, Readable, Writable } from 'node:stream';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { StreamableFile } from '@nestjs/common';
import { DistributedLock } from 'nestjs-redis-lock';
import { EMPTY, Observable, firstValueFrom, lastValueFrom, of, take, throwError, toArray } from 'rxjs';
import { setImmediate as turn } from 'node:timers/promises';
import type { LockScope } from '../../lib/core/lock.js';
import { iterateIn } from '../../lib/nest/around/around-iterable.js';
import { RecordingConnection } from '../support/recording-connection.js';

let connection: RecordingConnection;
beforeEach(() => {
  connection = new RecordingConnection();
});

/** Until all work has settled: each release of the recording connection takes one turn. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await turn();
}

describe('an Observable', () => {
  class Stream {
    constructor(readonly source: () => Observable<unknown>) {}
    @DistributedLock('o:#{id}')
    watch(id: string): Observable<unknown> {
      connection.note(`body ${id}`);
      return this.source();
    }
  }
  const watch = (source: () => Observable<unknown>) => connection.inject(new Stream(source)).watch('1');

  it('takes the lock when subscribed to, not when the method is called', async () => {
    const values = watch(() => of(1, 2));
    await settle();
    expect(connection.events).toEqual([]);
    await expect(lastValueFrom(values.pipe(toArray()))).resolves.toEqual([1, 2]);
    expect(connection.events).toEqual(['enter o:1', 'body 1 in o:1', 'leave o:1 worked']);
  });

  it('completes only after the lock was released', async () => {
    await lastValueFrom(
      watch(() => EMPTY),
      { defaultValue: undefined },
    );
    connection.note('completed');
    expect(connection.events.slice(-2)).toEqual(['leave o:1 worked', 'completed']);
  });

  it('holds one lock for each subscription', async () => {
    const values = watch(() => of(1));
    await Promise.all([lastValueFrom(values), lastValueFrom(values)]);
    expect(connection.events.filter((event) => event === 'enter o:1')).toHaveLength(2);
    expect(connection.events.filter((event) => event === 'leave o:1 worked')).toHaveLength(2);
  });

  it('subscribes to the source inside the flow of the lock', async () => {
    await lastValueFrom(
      watch(
        () =>
          new Observable((subscriber) => {
            connection.note('subscribed');
            subscriber.complete();
          }),
      ),
      { defaultValue: undefined },
    );
    expect(connection.events).toContain('subscribed in o:1');
  });

  it('releases once on an error, and passes that error on', async () => {
    connection.lost = true;
    await expect(lastValueFrom(watch(() => throwError(() => new Error('business'))))).rejects.toThrow('business');
    await settle();
    expect(connection.events.slice(1)).toEqual(['body 1 in o:1', 'leave o:1 failed']);
  });

  it('releases when the method throws instead of returning', async () => {
    const failing = () => {
      throw new Error('sync');
    };
    await expect(lastValueFrom(watch(failing))).rejects.toThrow('sync');
    expect(connection.events.at(-1)).toBe('leave o:1 failed');
  });

  it('releases once when the subscriber unsubscribes, after the source was unsubscribed', async () => {
    const subscription = watch(() => new Observable(() => () => connection.note('stopped'))).subscribe();
    await settle();
    expect(connection.events).not.toContain('leave o:1 failed');
    subscription.unsubscribe();
    subscription.unsubscribe();
    await settle();
    expect(connection.events.slice(-2).map((event) => event.replace(' in o:1', ''))).toEqual([
      'stopped',
      'leave o:1 failed',
    ]);
  });

  it('releases once when take(1) ends it, also with a synchronous source', async () => {
    let produced = 0;
    const endless = () =>
      new Observable<number>((subscriber) => {
        while (!subscriber.closed && produced < 100) subscriber.next(++produced);
        return () => connection.note('stopped');
      });
    await expect(firstValueFrom(watch(endless).pipe(take(1)))).resolves.toBe(1);
    await settle();
    expect(produced).toBe(1);
    expect(connection.events.filter((event) => event.startsWith('leave'))).toEqual(['leave o:1 failed']);
    expect(connection.events.some((event) => event.startsWith('stopped'))).toBe(true);
  });

  it('stops waiting when the subscriber unsubscribes before the grant, and never runs the method', async () => {
    connection.gate = new Promise(() => {});
    const errors: unknown[] = [];
    const subscription = watch(() => of(1)).subscribe({ error: (error) => errors.push(error) });
    await settle();
    expect(connection.options?.signal?.aborted).toBe(false);
    subscription.unsubscribe();
    await settle();
    expect(connection.options?.signal?.aborted).toBe(true);
    expect([connection.events, errors]).toEqual([['enter o:1'], []]);
  });

  it('releases the lock when the grant arrives at the moment of the unsubscription', async () => {
    let open = () => {};
    connection.gate = new Promise<void>((resolve) => (open = resolve));
    const subscription = watch(() => of(1)).subscribe();
    await settle();
    open();
    subscription.unsubscribe();
    await settle();
    expect(connection.events).toEqual(['enter o:1', 'leave o:1 failed']);
  });

  it('ends in LockLostError instead of completion when the lock was lost', async () => {
    connection.lost = true;
    const seen: unknown[] = [];
    await expect(
      new Promise((resolve, reject) => {
        watch(() => of(1, 2)).subscribe({
          next: (value) => seen.push(value),
          complete: () => resolve(undefined),
          error: reject,
        });
      }),
    ).rejects.toMatchObject({ code: 'LOCK_LOST' });
    expect(seen).toEqual([1, 2]);
  });

  it('emits a key error as an error, and does not throw', async () => {
    const values = connection.inject(new Stream(() => of(1))).watch('');
    await expect(lastValueFrom(values)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  });
});

describe('a promise', () => {
  it('of an Observable is refused, and the error says what to write: it would run after the release of the lock', async () => {
    class Stream {
      @DistributedLock('p')
      async watch() {
        return of(1);
      }
    }
    await expect(connection.inject(new Stream()).watch()).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringMatching(/^Stream\.watch: the method is async and returns an Observable.*remove async/),
    });
    expect(connection.events).toEqual(['enter p', 'leave p failed']);
  });

  it('of an async generator is refused, and the error says what to write: its steps would run after the release', async () => {
    class Steps {
      @DistributedLock('p')
      async watch() {
        return this.steps();
      }
      private async *steps() {
        connection.note('a step');
        yield 1;
      }
    }
    await expect(connection.inject(new Steps()).watch()).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringMatching(/^Steps\.watch: the method is async and returns an async generator.*async \*/),
    });
    expect(connection.events).toEqual(['enter p', 'leave p failed']);
  });

  it.each<[string, () => unknown]>([
    ['a stream', () => Readable.from(['part'])],
    ['a stream', () => Readable.from(['part']).pipe(new PassThrough())],
    [
      'a generator',
      function* () {
        yield 'part';
      },
    ],
  ])('of %s is refused, and the error says what to write: it would be read after the release', async (kind, open) => {
    class Files {
      @DistributedLock('p')
      async read() {
        return open();
      }
    }
    await expect(connection.inject(new Files()).read()).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringMatching(
        new RegExp(`^Files\\.read: the method returns ${kind}, which is read after.*new StreamableFile\\(stream\\)`),
      ),
    });
    expect(connection.events).toEqual(['enter p', 'leave p failed']);
  });

  it('of a stream that was read, of a connection and of a stream to write to ends the lock', async () => {
    const read = Readable.from(['all of it']);
    for await (const _ of read);
    const closed = Readable.from(['all of it']).destroy();
    const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
    const duplex = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    for (const result of [read, closed, sink, duplex, response, new Socket()]) {
      class Files {
        @DistributedLock('p')
        async read() {
          return result;
        }
      }
      connection.events.length = 0;
      expect(await connection.inject(new Files()).read()).toBe(result);
      expect(connection.events).toEqual(['enter p', 'leave p worked']);
    }
  });

  it('of a StreamableFile holds the lock until the file was read', async () => {
    class Files {
      @DistributedLock('p')
      async read() {
        return new StreamableFile(Readable.from(['part']));
      }
    }
    const file = await connection.inject(new Files()).read();
    await settle();
    expect(connection.events).toEqual(['enter p']);
    for await (const part of file.getStream()) connection.note(String(part));
    await settle();
    expect(connection.events.slice(0, 2)).toEqual(['enter p', 'part']);
    // Its caller has the result already: a loss is only logged.
    expect(connection.events.slice(2)).toEqual(['leave p failed']);
  });

  it('may throw for properties that it does not have', async () => {
    class Settings {
      @DistributedLock('p')
      async read(): Promise<{ port?: number }> {
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
    }
    expect((await connection.inject(new Settings()).read()).port).toBe(80);
    expect(connection.events).toEqual(['enter p', 'leave p worked']);
  });
});

describe('an async iterable', () => {
  class Pages {
    @DistributedLock('i:#{id}')
    async *read(id: string, fail = false): AsyncGenerator<number, string, string | undefined> {
      connection.note(`body ${id}`);
      try {
        const sent = yield 1;
        connection.note(`sent ${sent}`);
        if (fail) throw new Error('business');
        yield 2;
        return 'done';
      } finally {
        connection.note('cleaned up');
      }
    }

    @DistributedLock({ key: 'r:#{id}', returns: 'iterable' })
    again(id: string): AsyncIterable<number> {
      return {
        async *[Symbol.asyncIterator]() {
          yield Number(id);
        },
      };
    }
  }
  const pages = () => connection.inject(new Pages());

  it('takes the lock at the first next(), not when the method is called', async () => {
    const values = pages().read('1');
    await settle();
    expect(connection.events).toEqual([]);
    await expect(values.next()).resolves.toEqual({ value: 1, done: false });
    expect(connection.events).toEqual(['enter i:1', 'body 1 in i:1']);
    await values.return('');
  });

  it('takes no lock when return() is called before it began', async () => {
    await pages().read('1').return('');
    expect(connection.events).toEqual([]);
  });

  it('runs every step inside the flow, passes sent values on, and releases before it reports its end', async () => {
    const values = pages().read('1');
    await values.next();
    await values.next('hello');
    await expect(values.next()).resolves.toEqual({ value: 'done', done: true });
    expect(connection.events).toEqual([
      'enter i:1',
      'body 1 in i:1',
      'sent hello in i:1',
      'cleaned up in i:1',
      'leave i:1 worked',
    ]);
    await values.next();
    await values.return('');
    expect(connection.events).toHaveLength(5);
  });

  it('releases once on break, after the work has cleaned up', async () => {
    for await (const value of pages().read('1')) {
      expect(value).toBe(1);
      break;
    }
    expect(connection.events.slice(-2)).toEqual(['cleaned up in i:1', 'leave i:1 worked']);
  });

  it('releases once on an error of the work, and passes that error on', async () => {
    connection.lost = true;
    const values = pages().read('1', true);
    await values.next();
    await expect(values.next()).rejects.toThrow('business');
    expect(connection.events.slice(-2)).toEqual(['cleaned up in i:1', 'leave i:1 failed']);
    await expect(values.next()).resolves.toEqual({ value: undefined, done: true });
  });

  it('passes throw() on to the work, and releases', async () => {
    const values = pages().read('1');
    await values.next();
    await expect(values.throw(new Error('stop'))).rejects.toThrow('stop');
    expect(connection.events.slice(-2)).toEqual(['cleaned up in i:1', 'leave i:1 failed']);
  });

  it('lets an iterator without throw() clean up when its consumer throws', async () => {
    const ended: string[] = [];
    const steps: AsyncIterator<number> = {
      next: async () => ({ value: 1, done: false }),
      return: async () => {
        ended.push('return');
        return { value: undefined, done: true };
      },
    };
    const scope = { run: (work: () => unknown) => work() } as LockScope;
    const values = (async function* () {
      yield* iterateIn(scope, steps);
    })();
    await values.next();
    await expect(values.throw(new Error('stop'))).rejects.toThrow(TypeError);
    expect(ended).toEqual(['return']);
  });

  it('returns the value of return()', async () => {
    const values = pages().read('1');
    await values.next();
    await expect(values.return('early')).resolves.toEqual({ value: 'early', done: true });
  });

  it('ends in LockLostError when the lock was lost: at the end, and on break', async () => {
    connection.lost = true;
    await expect(
      (async () => {
        for await (const _ of pages().read('1'));
      })(),
    ).rejects.toMatchObject({ code: 'LOCK_LOST' });
    await expect(
      (async () => {
        for await (const _ of pages().read('1')) break;
      })(),
    ).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it("lets an error of the consumer's loop through when the lock was lost", async () => {
    connection.lost = true;
    const loop = async () => {
      for await (const _ of pages().read('1')) throw new Error('consumer');
    };
    await expect(loop()).rejects.toThrow('consumer');
  });

  it('queues steps that are requested at once', async () => {
    const values = pages().read('1');
    const steps = await Promise.all([values.next(), values.next(), values.next(), values.next()]);
    expect(steps.map(({ value }) => value)).toEqual([1, 2, 'done', undefined]);
    expect(connection.events.filter((event) => event.startsWith('enter'))).toHaveLength(1);
  });

  it('takes the lock for each iteration of an iterable that is no generator', async () => {
    const values = pages().again('5');
    for (let round = 0; round < 2; round++) for await (const value of values) expect(value).toBe(5);
    expect(connection.events).toEqual(['enter r:5', 'leave r:5 worked', 'enter r:5', 'leave r:5 worked']);
  });

  it('signals a missing connection as a rejection of the first next()', async () => {
    await expect(new Pages().read('1').next()).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  });
});
