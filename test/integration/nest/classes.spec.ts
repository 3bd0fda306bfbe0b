import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Injectable, type ModuleMetadata, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, InjectRedisLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { Observable, lastValueFrom, map, of } from 'rxjs';
import { closing, onSharedRedis } from './fixtures.js';

const start = async (metadata: ModuleMetadata) =>
  closing(
    await (
      await Test.createTestingModule({
        ...metadata,
        imports: [
          RedisLockModule.forRoot(onSharedRedis()),
          RedisLockModule.forRoot(onSharedRedis({ name: 'billing' })),
          ...(metadata.imports ?? []),
        ],
      }).compile()
    ).init(),
  );

const held = (): [string | undefined, number | undefined] => [currentLock()?.key, currentLock()?.depth];

abstract class Repository {
  abstract readonly table: string;
  abstract load(id: string): Promise<unknown>;

  @DistributedLock('row:#{id}')
  async save(id: string): Promise<unknown> {
    return [`${this.table}.save`, ...held(), await this.load(id)];
  }

  @DistributedLock('all')
  list(): Observable<unknown> {
    return of([`${this.table}.list`, ...held()]);
  }
}

describe('inherited methods', () => {
  it('of an abstract class are locked in every subclass, and call its methods inside the lock', async () => {
    @Injectable()
    class Books extends Repository {
      readonly table = 'books';
      async load(id: string) {
        return [id, ...held()];
      }
    }
    @Injectable()
    class Authors extends Repository {
      readonly table = 'authors';
      @DistributedLock('author:#{id}')
      async load(id: string) {
        return [id, ...held()];
      }
    }
    await using app = await start({ providers: [Books, Authors] });
    await expect(app.get(Books).save('1')).resolves.toEqual(['books.save', 'row:1', 1, ['1', 'row:1', 1]]);
    await expect(app.get(Authors).save('1')).resolves.toEqual(['authors.save', 'row:1', 1, ['1', 'author:1', 1]]);
    await expect(lastValueFrom(app.get(Authors).list())).resolves.toEqual(['authors.list', 'all', 1]);
  });

  it('are locked by the decorator of the override, and by both where it calls the base with another key', async () => {
    @Injectable()
    class Books extends Repository {
      readonly table: string = 'books';
      async load() {
        return 'loaded';
      }
      @DistributedLock('book:#{id}')
      override async save(id: string): Promise<unknown> {
        return [...held(), await super.save(id)];
      }
      @DistributedLock('books')
      override list(): Observable<unknown> {
        const outer = held();
        return super.list().pipe(map((inner) => [...outer, inner]));
      }
    }
    @Injectable()
    class Novels extends Books {
      override readonly table = 'novels';
      @DistributedLock('row:#{id}')
      override async save(id: string): Promise<unknown> {
        return [...held(), await super.save(id)];
      }
    }
    await using app = await start({ providers: [Books, Novels] });
    await expect(app.get(Books).save('1')).resolves.toEqual(['book:1', 1, ['books.save', 'row:1', 1, 'loaded']]);
    // The same key is re-entered.
    await expect(app.get(Novels).save('1')).resolves.toEqual([
      'row:1',
      1,
      ['book:1', 1, ['novels.save', 'row:1', 2, 'loaded']],
    ]);
    await expect(lastValueFrom(app.get(Books).list())).resolves.toEqual(['books', 1, ['books.list', 'all', 1]]);
  });

  it('are locked below an override without the decorator only when it calls the base', async () => {
    @Injectable()
    class Books extends Repository {
      readonly table = 'books';
      async load() {
        return 'loaded';
      }
      override async save(id: string): Promise<unknown> {
        const before = held();
        const saved = await super.save(id);
        return [before, saved, held()];
      }
      override list(): Observable<unknown> {
        return of(held());
      }
    }
    await using app = await start({ providers: [Books] });
    await expect(app.get(Books).save('1')).resolves.toEqual([
      [undefined, undefined],
      ['books.save', 'row:1', 1, 'loaded'],
      [undefined, undefined],
    ]);
    await expect(lastValueFrom(app.get(Books).list())).resolves.toEqual([undefined, undefined]);
  });

  it('of mixins are locked, each by its own template', async () => {
    const Exporting = <T extends Type<object>>(Base: T, format: string) => {
      @Injectable()
      class Exporter extends Base {
        @DistributedLock(`export:${format}:#{id}`)
        async export(id: string) {
          return [format, id, ...held()];
        }
      }
      return Exporter;
    };
    class Report {
      readonly title = 'report';
    }
    @Injectable()
    class Csv extends Exporting(Report, 'csv') {}
    @Injectable()
    class Pdf extends Exporting(Exporting(Report, 'csv'), 'pdf') {
      async both(id: string) {
        return [await this.export(id), await super.export(id), this.title];
      }
    }
    await using app = await start({ providers: [Csv, Pdf] });
    await expect(app.get(Csv).export('1')).resolves.toEqual(['csv', '1', 'export:csv:1', 1]);
    await expect(app.get(Pdf).both('1')).resolves.toEqual([
      ['pdf', '1', 'export:pdf:1', 1],
      ['pdf', '1', 'export:pdf:1', 1],
      'report',
    ]);
  });
});

describe('classes', () => {
  it('keep their fields, private members, accessors and symbols inside locked methods', async () => {
    const hidden = Symbol('hidden');
    @Injectable()
    class Counter {
      #count = 0;
      readonly step = 2;
      private readonly add = (by: number): number => (this.#count += by);
      get total(): number {
        return this.#count;
      }
      #check(): void {
        if (this.#count < 0) throw new Error('negative');
      }
      @DistributedLock('count:#{by}')
      async increase(by = this.step): Promise<number> {
        this.#check();
        this.add(by);
        return this[hidden](by);
      }
      @DistributedLock('hidden:#{0}')
      async [hidden](_by: number): Promise<number> {
        return held()[0] === 'hidden:2' ? this.total : Number.NaN;
      }
    }
    await using app = await start({ providers: [Counter] });
    const counter = app.get(Counter);
    await expect(counter.increase(2)).resolves.toBe(2);
    await expect(counter.increase(2)).resolves.toBe(4);
    // The property that keeps the connection is not visible.
    expect([Object.keys(counter), JSON.stringify(counter)]).toEqual([['step', 'add'], '{"step":2}']);
  });

  it('lock with two connections side by side: one name, two locks', async () => {
    @Injectable()
    class Transfer {
      constructor(
        readonly locks: RedisLockService,
        @InjectRedisLock('billing') readonly billing: RedisLockService,
      ) {}
      @DistributedLock({ key: 'account:#{id}', wait: 0 })
      async here(id: string): Promise<unknown> {
        return [this.locks.current()?.key, this.billing.current()?.key, id];
      }
      @DistributedLock({ key: 'account:#{id}', connection: 'billing', wait: 0 })
      async there(id: string): Promise<unknown> {
        return [this.locks.current()?.key, this.billing.current()?.key, await this.here(id)];
      }
    }
    /** The whole class once more, on the other connection. */
    @Injectable()
    class Elsewhere extends Transfer {
      @DistributedLock({ key: 'account:#{id}', connection: 'billing', wait: 0 })
      override async here(id: string): Promise<unknown> {
        return [this.locks.current()?.key, this.billing.current()?.depth, id];
      }
    }
    await using app = await start({ providers: [Transfer, Elsewhere] });
    const [transfer, elsewhere] = [app.get(Transfer), app.get(Elsewhere)];
    await expect(transfer.there('1')).resolves.toEqual([undefined, 'account:1', ['account:1', 'account:1', '1']]);
    await using _held = await transfer.locks.acquire('account:1');
    await expect(transfer.here('1')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await expect(elsewhere.here('1')).resolves.toEqual([undefined, 1, '1']);
    await expect(elsewhere.there('1')).resolves.toEqual([undefined, 'account:1', [undefined, 2, '1']]);
  });
});
