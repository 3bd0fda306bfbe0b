import 'reflect-metadata';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Header, type INestApplication, Res, Sse, StreamableFile } from '@nestjs/common';
import { currentLock, DistributedLock, RedisLockService } from 'nestjs-redis-lock';
import { from, Observable, of } from 'rxjs';
import { type Deferred, deferred } from '../nest/fixtures.js';
import { adapters, firstChunk, httpApplication } from './http-servers.js';

interface RawResponse extends NodeJS.WritableStream {
  header(name: string, value: string): unknown;
}
type AnyResponse = RawResponse & { raw?: RawResponse; send(body: unknown): unknown };

/** A body of two parts; the test triggers the second part or an error. */
class Body {
  static inside: Deferred;
  static leave: Deferred;
  static failure: Error | undefined;

  static async *parts() {
    yield 'begun ';
    await Body.leave.promise;
    if (Body.failure) throw Body.failure;
    yield 'ended';
  }
  static readonly stream = () => Readable.from(Body.parts(), { objectMode: false });
}

/** All kinds of bodies that can be unfinished when the handler has returned. */
@Controller()
class Bodies {
  @Get('file')
  @DistributedLock('file')
  async file() {
    return new StreamableFile(Body.stream());
  }

  @Get('passthrough')
  @DistributedLock('passthrough')
  async passthrough(@Res({ passthrough: true }) response: AnyResponse) {
    response.header('x-part', currentLock()!.key);
    return new StreamableFile(Body.stream());
  }

  @Get('observable')
  @DistributedLock('observable')
  observable(): Observable<StreamableFile> {
    return of(new StreamableFile(Body.stream()));
  }

  @Get('by-hand')
  @DistributedLock('by-hand')
  async byHand(@Res() response: AnyResponse) {
    // Not awaited: the handler ends when the body has just begun.
    if (response.raw) response.send(Body.stream());
    else
      Body.stream()
        .on('error', () => response.end())
        .pipe(response);
  }

  @Get('by-hand-observable')
  @DistributedLock('by-hand-observable')
  byHandObservable(@Res() response: AnyResponse): Observable<void> {
    return from(this.byHandLater(response));
  }

  @Get('readable')
  @Header('content-type', 'text/plain')
  @DistributedLock('readable')
  async readable() {
    return Body.stream();
  }

  @Get('generator')
  @DistributedLock('generator')
  async generator() {
    return Body.parts();
  }

  @Get('iterable')
  @DistributedLock('iterable')
  async *iterable() {
    yield* Body.parts();
  }

  @Get('web')
  @DistributedLock('web')
  async web() {
    return new Response(Readable.toWeb(Body.stream()) as ReadableStream);
  }

  @Sse('events')
  @DistributedLock('events')
  events(): Observable<{ data: string }> {
    return from(messages());
  }

  @Sse('async-events')
  @DistributedLock('async-events')
  async asyncEvents() {
    return from(messages());
  }

  @Get('slow')
  @DistributedLock('slow')
  async slow() {
    Body.inside.resolve();
    await Body.leave.promise;
    return new StreamableFile(Body.stream());
  }

  @Get('later')
  @DistributedLock('later')
  async later(@Res() response: AnyResponse) {
    void Body.leave.promise.then(() => response.send('later'));
    Body.inside.resolve();
  }

  @Get('generator-at-work')
  @DistributedLock('generator-at-work')
  async generatorAtWork(@Res({ passthrough: true }) response: AnyResponse) {
    (response.raw ?? response).once('close', Body.inside.resolve);
    return Body.parts();
  }

  @Get('iterable-at-work')
  @DistributedLock('iterable-at-work')
  async *iterableAtWork(@Res({ passthrough: true }) response: AnyResponse) {
    (response.raw ?? response).once('close', Body.inside.resolve);
    yield* Body.parts();
  }

  @Get('flow')
  @DistributedLock('flow')
  async flow() {
    return (async function* () {
      yield `${currentLock()?.key}`;
    })();
  }

  @Sse('flow-events')
  @DistributedLock('flow-events')
  async flowEvents() {
    return new Observable<{ data: string }>((subscriber) => {
      subscriber.next({ data: `${currentLock()?.key}` });
      subscriber.complete();
    });
  }

  private async byHandLater(response: AnyResponse) {
    const raw = response.raw ?? response;
    Body.stream()
      .on('error', () => raw.end())
      .pipe(raw);
  }
}

async function* messages() {
  for await (const data of Body.parts()) yield { data };
}

const kinds = [
  'file',
  'passthrough',
  'observable',
  'by-hand',
  'by-hand-observable',
  'readable',
  'generator',
  'iterable',
  'web',
  'events',
  'async-events',
];

describe.each(adapters)('on %s', (_name, adapter) => {
  let app: INestApplication;
  let locks: RedisLockService;
  beforeEach(async () => {
    Body.inside = deferred();
    Body.leave = deferred();
    Body.failure = undefined;
    app = await httpApplication(adapter, { controllers: [Bodies] });
    await app.listen(0, '127.0.0.1');
    locks = app.get(RedisLockService);
  });
  afterEach(async () => {
    Body.leave.resolve();
    await app.close();
  });

  const request = async (path: string, init: RequestInit = {}) => fetch(`${await app.getUrl()}/${path}`, init);
  const isHeld = async (key: string) => {
    const lock = await locks.tryAcquire(key);
    await lock?.release();
    return lock === null;
  };
  /** Waits until the lock is free: forever, if it was not released. */
  const isFree = async (key: string) => {
    await using lock = await locks.acquire(key);
    return lock.isHeld;
  };

  describe.each(kinds)('the lock of an unfinished body (%s)', (kind) => {
    it('is held until the body was sent', async () => {
      const { text, rest } = await firstChunk(await request(kind));
      expect(await isHeld(kind)).toBe(true);
      Body.leave.resolve();
      expect(text + (await rest())).toMatch(/begun .*ended/s);
      expect(await isFree(kind)).toBe(true);
    });

    it('is released when the client hangs up', async () => {
      const client = new AbortController();
      await firstChunk(await request(kind, { signal: client.signal }));
      expect(await isHeld(kind)).toBe(true);
      client.abort();
      // A generator cannot be stopped in the middle of a step, and keeps its lock to the end of the step.
      if (kind === 'generator' || kind === 'iterable') Body.leave.resolve();
      expect(await isFree(kind)).toBe(true);
    });

    it('is released when the body fails', async () => {
      Body.failure = new Error('no more');
      const { rest } = await firstChunk(await request(kind));
      expect(await isHeld(kind)).toBe(true);
      Body.leave.resolve();
      await rest().catch(() => undefined);
      expect(await isFree(kind)).toBe(true);
    });
  });

  it('the lock of a handler with @Res() is held until the response was sent, also long after the handler', async () => {
    const answer = request('later');
    await Body.inside.promise;
    expect(await isHeld('later')).toBe(true);
    Body.leave.resolve();
    await expect((await answer).text()).resolves.toBe('later');
    expect(await isFree('later')).toBe(true);
  });

  it('the lock is released when the client hung up before there was a body', async () => {
    const client = new AbortController();
    const answer = request('slow', { signal: client.signal });
    await Body.inside.promise;
    client.abort();
    await expect(answer).rejects.toBeDefined();
    Body.leave.resolve();
    expect(await isFree('slow')).toBe(true);
  });

  it.each(['generator-at-work', 'iterable-at-work'])(
    'the lock is held while a step runs, even if the client has gone (%s)',
    async (kind) => {
      const client = new AbortController();
      await firstChunk(await request(kind, { signal: client.signal }));
      client.abort();
      await Body.inside.promise;
      // A release with the response would have been sent by now.
      await locks.using('another', () => locks.using('one more', () => undefined));
      expect(await isHeld(kind)).toBe(true);
      Body.leave.resolve();
      expect(await isFree(kind)).toBe(true);
    },
  );

  it('the lock is released after a HEAD request', async () => {
    await request('file', { method: 'HEAD' });
    expect(await isFree('file')).toBe(true);
  });

  it.each(['flow', 'flow-events'])(
    'work that an async handler returns to run later runs inside the lock (%s)',
    async (kind) => {
      await expect((await request(kind)).text()).resolves.toContain(kind);
      expect(await isFree(kind)).toBe(true);
    },
  );
});
