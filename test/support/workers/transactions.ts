/**
 * An application with TypeORM, @nestjs-cls/transactional and a decorator for transactions of its own, in a process of its own: jest cannot
 * load nestjs-cls, which is CommonJS, beside Nest 12, which is not. Runs `{ service, id, fails }` and stops before each transaction
 * ends, until it gets any message: `{ event: 'ending', how, held }`. Then it answers `{ event: 'done', result }` or `{ …, error }`.
 */
import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getDataSourceToken, InjectDataSource, TypeOrmModule } from '@nestjs/typeorm';
import { ClsPluginTransactional, Transactional, TransactionHost } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import Database from 'libsql';
import { ClsModule } from 'nestjs-cls';
import { currentLock, DistributedLock, RedisLockModule } from 'nestjs-redis-lock';
import {
  Column,
  DataSource,
  Entity,
  type EntityManager,
  type EntitySubscriberInterface,
  EventSubscriber,
  PrimaryColumn,
} from 'typeorm';

const { redis, keyPrefix, database } = JSON.parse(process.env['TRANSACTIONS'] ?? '{}') as Record<string, string>;

@Entity('rows')
class Row {
  @PrimaryColumn()
  id!: string;
  @Column()
  writer!: string;
}

/** TypeORM has made its tables. */
let isReady = false;

/** A transaction ends when the test lets it. */
@EventSubscriber()
class Gate implements EntitySubscriberInterface {
  beforeTransactionCommit = () => this.stop('commit');
  beforeTransactionRollback = () => this.stop('rollback');

  private async stop(how: string): Promise<void> {
    if (!isReady) return;
    process.send?.({ event: 'ending', how, held: currentLock()?.key });
    await once(process, 'message');
  }
}

const managers = new AsyncLocalStorage<EntityManager>();

/** The usual decorator for TypeORM: the method runs inside `dataSource.transaction`, its manager in the async context. */
function InTransaction() {
  return (_target: object, _property: string, descriptor: PropertyDescriptor): void => {
    const original = descriptor.value as (...args: unknown[]) => Promise<unknown>;
    descriptor.value = function (this: Writer, ...args: unknown[]) {
      return this.source.transaction((manager) => managers.run(manager, () => original.apply(this, args)));
    };
  };
}

abstract class Writer {
  constructor(@InjectDataSource() readonly source: DataSource) {}

  protected abstract get manager(): EntityManager;

  protected async write(id: string, fails: boolean): Promise<unknown> {
    await this.manager.insert(Row, { id, writer: this.constructor.name });
    if (fails) throw new Error('business');
    return [currentLock()?.key, currentLock()?.depth];
  }
}

abstract class ClsWriter extends Writer {
  constructor(
    @InjectDataSource() source: DataSource,
    readonly host: TransactionHost<TransactionalAdapterTypeOrm>,
  ) {
    super(source);
  }
  protected get manager(): EntityManager {
    return this.host.tx;
  }
}

abstract class OwnWriter extends Writer {
  protected get manager(): EntityManager {
    return managers.getStore()!;
  }
}

@Injectable()
class ClsLockAbove extends ClsWriter {
  // #region transactional
  @DistributedLock('row:#{id}')
  @Transactional()
  async run(id: string, fails: boolean) {
    return this.write(id, fails);
  }
  // #endregion
}

@Injectable()
class ClsLockBelow extends ClsWriter {
  @Transactional()
  @DistributedLock('row:#{id}')
  async run(id: string, fails: boolean) {
    return this.write(id, fails);
  }
}

@Injectable()
class OwnLockAbove extends OwnWriter {
  @DistributedLock('row:#{id}')
  @InTransaction()
  async run(id: string, fails: boolean) {
    return this.write(id, fails);
  }
}

@Injectable()
class OwnLockBelow extends OwnWriter {
  @InTransaction()
  @DistributedLock('row:#{id}')
  async run(id: string, fails: boolean) {
    return this.write(id, fails);
  }
}

/** Of a class that a factory makes, and that inherits the method. */
class Inherited extends OwnLockBelow {}

const services = { ClsLockAbove, ClsLockBelow, OwnLockAbove, OwnLockBelow, Inherited };
type Service = keyof typeof services;

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'better-sqlite3',
      driver: Database,
      database: database!,
      enableWAL: true,
      synchronize: true,
      entities: [Row],
      subscribers: [Gate],
    }),
    ClsModule.forRoot({
      plugins: [
        new ClsPluginTransactional({
          imports: [TypeOrmModule],
          adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: getDataSourceToken() }),
        }),
      ],
    }),
    RedisLockModule.forRoot({ redis: redis!, keyPrefix: keyPrefix! }),
  ],
  providers: [
    ClsLockAbove,
    ClsLockBelow,
    OwnLockAbove,
    OwnLockBelow,
    { provide: Inherited, inject: [DataSource], useFactory: (source: DataSource) => new Inherited(source) },
  ],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });

isReady = true;
process.send?.({ event: 'ready' });
for (;;) {
  const [{ service, id, fails }] = (await once(process, 'message')) as [
    { service: Service; id: string; fails: boolean },
  ];
  const answer = await app
    .get(services[service])
    .run(id, fails)
    .then(
      (result) => ({ result }),
      (error: Error) => ({ error: error.message }),
    );
  process.send?.({ event: 'done', ...answer });
}
