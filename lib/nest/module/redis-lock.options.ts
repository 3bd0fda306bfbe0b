import type { ConfigurableModuleAsyncOptions } from '@nestjs/common';
import type { LockConnectionOptions } from '../../connection/connection.options.js';
import type { LockFindingCode } from '../../diagnostics/lock-finding.js';

/** The options of `RedisLockModule.forRoot`. */
export interface RedisLockModuleOptions extends LockConnectionOptions {
  /**
   * Name of the connection, when an application has several: `@InjectRedisLock('billing')`, `connection: 'billing'`.
   * @default none: the default connection
   */
  name?: string | undefined;
  /**
   * True when all modules can use the locks without importing this one.
   * @default true
   */
  isGlobal?: boolean | undefined;
  /**
   * True: the application does not start while Redis cannot be reached, or when the doctor finds a mistake. False: it starts, its locks
   * reject with LOCK_UNAVAILABLE until Redis is available, and findings are warnings in the log.
   * @default false
   */
  strict?: boolean | undefined;
  /**
   * Findings of the doctor to ignore, by their codes, or 'all' of them.
   * @default [] none is ignored
   */
  ignoreFindings?: 'all' | readonly LockFindingCode[] | undefined;
  /**
   * True: nested locks are watched. Orders that can deadlock, and fixed leases that end while their holder waits for another lock, are
   * logged once each. Costs some microseconds per lock.
   * @default true, and false where NODE_ENV is 'production'
   */
  checkNesting?: boolean | undefined;
  /**
   * True: LockErrorFilter sends lock errors as HTTP 409 and 503, and in the forms of other transports, in the whole application. With
   * several connections, false at one of them turns it off.
   * @default true
   */
  httpErrors?: boolean | undefined;
}

/** What a factory returns: the options without `name` and `isGlobal`, which Nest needs before it runs a factory. */
export type RedisLockFactoryOptions = Omit<RedisLockModuleOptions, 'name' | 'isGlobal'>;

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface RedisLockOptionsFactory {
  createRedisLockOptions(): Promise<RedisLockFactoryOptions> | RedisLockFactoryOptions;
}

/** The options of `RedisLockModule.forRootAsync`. */
export type RedisLockAsyncOptions = ConfigurableModuleAsyncOptions<RedisLockFactoryOptions, 'createRedisLockOptions'> &
  Pick<RedisLockModuleOptions, 'name' | 'isGlobal'>;
