import 'reflect-metadata';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  DistributedLock,
  type LockError,
  LockNotAcquiredError,
  LockQueueFullError,
  LockUnavailableError,
  LockWaitTimeoutError,
} from 'nestjs-redis-lock';
import { Observable, lastValueFrom, of, toArray } from 'rxjs';
import { RecordingConnection } from '../support/recording-connection.js';

let connection: RecordingConnection;
const contended = new LockNotAcquiredError('held by another caller', { key: 'r:7', leaseLeft: 250 });
beforeEach(() => {
  connection = new RecordingConnection();
  connection.refusal = contended;
});

const all = <T>(values: Observable<T>) => lastValueFrom(values.pipe(toArray()));
async function list<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

class Reports {
  readonly stale = 'stale';

  @DistributedLock({ key: 'r:#{id}', onContended: 'skip' })
  async daily(id: string): Promise<string | undefined> {
    connection.note(`ran ${id}`);
    return 'fresh';
  }

  @DistributedLock({ key: 'r:#{id}', onContended: (error, id: string) => `${id} after ${error.leaseLeft}` })
  async now(id: string): Promise<string> {
    connection.note(`ran ${id}`);
    return 'fresh';
  }

  @DistributedLock({
    key: 'r:#{id}',
    async onContended(this: Reports, error: LockNotAcquiredError, id: string) {
      await turn();
      return `${this.stale} ${id} ${error.code}`;
    },
  })
  async later(id: string): Promise<string> {
    return `fresh ${id}`;
  }

  @DistributedLock({
    key: 'r:#{id}',
    onContended: () => {
      throw new Error('business');
    },
  })
  async never(id: string): Promise<string> {
    return `fresh ${id}`;
  }

  @DistributedLock({ key: 'r:#{id}', onContended: 'skip' })
  async failing(id: string): Promise<void> {
    connection.note(`ran ${id}`);
    throw contended;
  }
}
const reports = () => connection.inject(new Reports());

describe('onContended', () => {
  it('does not wait, unless the decorator names a wait; without it the wait is the one of the module', async () => {
    Object.assign(connection, { defaults: { ...connection.defaults, wait: 700 } });
    class Waits {
      @DistributedLock({ key: 'r', onContended: 'skip' })
      async skipping() {}
      @DistributedLock({ key: 'r', wait: undefined, onContended: () => undefined })
      async replacing() {}
      @DistributedLock({ key: 'r', wait: '2s', onContended: 'skip' })
      async patient() {}
      @DistributedLock({ key: 'r', onContended: 'throw' })
      async throwing() {}
    }
    connection.refusal = undefined;
    const waits = connection.inject(new Waits());
    const seen: unknown[] = [];
    for (const name of ['skipping', 'replacing', 'patient', 'throwing'] as const) {
      await waits[name]();
      seen.push(connection.options?.wait);
    }
    expect(seen).toEqual([0, 0, 2000, 700]);
  });

  it("'skip' returns undefined, and does not run the method", async () => {
    await expect(reports().daily('7')).resolves.toBeUndefined();
    expect(connection.events).toEqual(['enter r:7']);
  });

  it('a function replaces the method: it gets the error and the arguments, and the object as `this`', async () => {
    await expect(reports().now('7')).resolves.toBe('7 after 250');
    await expect(reports().later('7')).resolves.toBe('stale 7 LOCK_CONTENDED');
    await expect(reports().never('7')).rejects.toThrow('business');
    expect(connection.events).toEqual(['enter r:7', 'enter r:7', 'enter r:7']);
  });

  it('changes nothing for a call that gets its lock', async () => {
    connection.refusal = undefined;
    await expect(reports().daily('7')).resolves.toBe('fresh');
    await expect(reports().now('7')).resolves.toBe('fresh');
    expect(connection.events.filter((event) => event.startsWith('leave'))).toEqual([
      'leave r:7 worked',
      'leave r:7 worked',
    ]);
  });

  it('applies after a wait in vain, too', async () => {
    connection.refusal = new LockWaitTimeoutError('too long');
    await expect(reports().daily('7')).resolves.toBeUndefined();
    await expect(reports().later('7')).resolves.toBe('stale 7 LOCK_WAIT_TIMEOUT');
  });

  it.each<[string, LockError]>([
    ['a full queue, which is overload', new LockQueueFullError('full')],
    ['an outage, which does not mean contention', new LockUnavailableError('away')],
  ])('leaves %s to the caller', async (_what, refusal) => {
    connection.refusal = refusal;
    for (const call of [() => reports().daily('7'), () => reports().now('7')])
      await expect(call()).rejects.toMatchObject({ code: refusal.code, message: refusal.message });
  });

  it('leaves a key error, and a lost lock, to the caller', async () => {
    await expect(reports().daily('')).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    connection.refusal = undefined;
    connection.lost = true;
    await expect(reports().daily('7')).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it('leaves an inner lock that the method did not get to the caller', async () => {
    connection.refusal = undefined;
    await expect(reports().failing('7')).rejects.toBe(contended);
  });

  it('runs no other decorator of the method', async () => {
    const Noting = () => (_target: object, _property: string, descriptor: PropertyDescriptor) => {
      const { value } = descriptor as { value: (...args: unknown[]) => unknown };
      descriptor.value = function (...args: unknown[]) {
        connection.note('transaction');
        return value.apply(this, args);
      };
    };
    class Transactional {
      @Noting()
      @DistributedLock({ key: 't', onContended: 'skip' })
      async run() {}
    }
    await connection.inject(new Transactional()).run();
    expect(connection.events).toEqual(['enter t']);
  });

  describe('for an Observable', () => {
    class Prices {
      @DistributedLock({ key: 'p', onContended: 'skip' })
      skipped(): Observable<number> {
        return of(1);
      }
      @DistributedLock({ key: 'p', onContended: (_error, first: number) => of(first, 2) })
      other(first: number): Observable<number> {
        return of(first);
      }
      @DistributedLock({ key: 'p', onContended: async (_error, first: number) => of(first, 3) })
      later(first: number): Observable<number> {
        return of(first);
      }
      @DistributedLock({ key: 'p', onContended: () => new Observable<never>(() => () => connection.note('stopped')) })
      endless(): Observable<number> {
        return of(1);
      }
    }
    const prices = () => connection.inject(new Prices());

    it("'skip' completes without a value; a function returns another Observable, or a promise of one", async () => {
      await expect(all(prices().skipped())).resolves.toEqual([]);
      await expect(all(prices().other(1))).resolves.toEqual([1, 2]);
      await expect(all(prices().later(1))).resolves.toEqual([1, 3]);
    });

    it('the Observable of the function is stopped with the subscription', async () => {
      const subscription = prices().endless().subscribe();
      for (let turns = 0; turns < 5; turns++) await turn();
      subscription.unsubscribe();
      expect(connection.events).toEqual(['enter p', 'stopped']);
    });

    it('an outage is an error', async () => {
      connection.refusal = new LockUnavailableError('away');
      await expect(all(prices().other(1))).rejects.toBe(connection.refusal);
    });
  });

  describe('for an async iterable', () => {
    class Pages {
      @DistributedLock({ key: 'p', onContended: 'skip' })
      async *skipped(): AsyncGenerator<number> {
        yield 1;
      }
      @DistributedLock({
        key: 'p',
        async *onContended(_error: LockNotAcquiredError, first: number) {
          yield first;
          yield 2;
        },
      })
      async *other(first: number): AsyncGenerator<number> {
        yield first;
      }
    }
    const pages = () => connection.inject(new Pages());

    it("'skip' ends without a value; a function returns another iterable", async () => {
      await expect(list(pages().skipped())).resolves.toEqual([]);
      await expect(list(pages().other(1))).resolves.toEqual([1, 2]);
    });

    it('an outage is an error', async () => {
      connection.refusal = new LockUnavailableError('away');
      await expect(list(pages().other(1))).rejects.toBe(connection.refusal);
    });
  });
});

describe('signal', () => {
  const everybody = new AbortController();
  class Search {
    @DistributedLock({ key: 's', signal: (_query: string, signal?: AbortSignal) => signal })
    async own(query: string, _signal?: AbortSignal) {
      return query;
    }
    @DistributedLock({ key: 's', signal: everybody.signal })
    async all() {
      return 'found';
    }
    @DistributedLock({ key: 's', signal: ((query: string) => query) as never })
    async wrong(query: string) {
      return query;
    }
    @DistributedLock({ key: 's', signal: (query: string) => (JSON.parse(query) as { signal: AbortSignal }).signal })
    async throwing(query: string) {
      return query;
    }
    @DistributedLock({ key: 's', signal: (signal: AbortSignal) => signal })
    watch(_signal: AbortSignal): Observable<number> {
      return of(1);
    }
  }
  const search = () => connection.inject(new Search());

  it('is created from the arguments of each call, and ends its waiting', async () => {
    connection.refusal = undefined;
    await expect(search().own('a')).resolves.toBe('a');
    expect(connection.options?.signal).toBeUndefined();
    connection.gate = new Promise(() => {});
    const [one, other] = [new AbortController(), new AbortController()];
    const waiting = search().own('b', one.signal);
    other.abort(new Error('another call'));
    one.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  });

  it('may be one for all calls', async () => {
    connection.gate = new Promise(() => {});
    const waiting = [search().all(), search().all()];
    everybody.abort(new Error('closing'));
    for (const call of waiting) await expect(call).rejects.toThrow('closing');
  });

  it('of the arguments works in addition to the subscription to an Observable', async () => {
    connection.gate = new Promise(() => {});
    const { signal, abort } = (() => {
      const controller = new AbortController();
      return { signal: controller.signal, abort: () => controller.abort(new Error('gone')) };
    })();
    const values = all(search().watch(signal));
    await turn();
    abort();
    await expect(values).rejects.toThrow('gone');
    const subscription = search().watch(new AbortController().signal).subscribe();
    await turn();
    subscription.unsubscribe();
    expect(connection.options?.signal?.aborted).toBe(true);
  });

  it('that is no AbortSignal rejects the call, and the error names the method', async () => {
    await expect(search().wrong('now')).rejects.toThrow(/Search\.wrong: .*returned 'now'/);
    await expect(search().throwing('{')).rejects.toThrow(
      /Search\.throwing: the function `signal` of the options throws/,
    );
    expect(connection.events).toEqual([]);
  });
});
