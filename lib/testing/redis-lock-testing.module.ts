import { type DynamicModule, type InjectionToken, Logger, Module, type Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { guarded } from '../core/lock-log.js';
import { watchNesting } from '../nest/doctor/nesting.watch.js';
import { type HiddenOptions, hiddenOptionsToken, RedisLockModule } from '../nest/module/redis-lock.module.js';
import type { RedisLockModuleOptions } from '../nest/module/redis-lock.options.js';
import { defaultConnection } from '../connection/connection.options.js';
import { connectionToken, standInToken } from '../connection/redis-lock.tokens.js';
import { LockTestBed } from './lock-test-bed.js';
import { testingRefusals } from './testing.messages.js';
import { connectionTo, type VirtualLockConnection } from './virtual-lock.connection.js';

/**
 * What `RedisLockModule.forRoot` takes. `redis` and `keyPrefix` are checked and then ignored, so that the options of the application can be
 * used unchanged.
 */
export interface RedisLockTestingOptions extends Omit<RedisLockModuleOptions, 'backend'> {
  /**
   * Where the locks live. Two applications with the same bed contend with each other.
   * @default a new one for each application, injected as `LockTestBed`
   */
  bed?: LockTestBed | undefined;
}

/**
 * Stands in for RedisLockModule in tests: the same providers, with locks in memory and in virtual time. No Redis. Beside a module that imports
 * RedisLockModule itself, or in its place by `overrideModule(RedisLockModule)`, it takes over the connection of the same name.
 */
@Module({})
export class RedisLockTestingModule {
  /**
   * Everything that `RedisLockModule.forRoot` provides, and the `LockTestBed`.
   * @throws LockConfigurationError at once for a wrong or unknown option.
   */
  static forRoot(options: RedisLockTestingOptions = {}): DynamicModule {
    const { bed, ...rest } = options;
    if ((rest as RedisLockModuleOptions).backend !== undefined) throw testingRefusals.noBackend();
    const { name = defaultConnection } = rest;
    const real = RedisLockModule.forRoot(rest);
    const connection = connectionToken(name);
    const bedToken = lockTestBedToken(name);
    return {
      ...real,
      module: RedisLockTestingModule,
      // Overridden by this module, it would import itself.
      imports: (real.imports ?? []).filter((imported) => imported !== RedisLockModule),
      providers: [
        ...(real.providers ?? []).filter((provider) => tokenOf(provider) !== connection),
        { provide: bedToken, useFactory: () => bed ?? new LockTestBed() },
        {
          provide: connection,
          useFactory: (options: HiddenOptions, given: LockTestBed, application: ModulesContainer) =>
            connect(name, options, given, application),
          inject: [hiddenOptionsToken, bedToken, ModulesContainer],
        },
        { provide: standInToken(name), useExisting: connection },
      ],
      exports: [...(real.exports ?? []), bedToken, standInToken(name)],
    };
  }
}

/** The injection token of the `LockTestBed`: the class itself, or a token for each named connection. */
export function lockTestBedToken(name: string = defaultConnection): InjectionToken {
  return name === defaultConnection ? LockTestBed : `LockTestBed:${name}`;
}

function connect(
  name: string,
  options: HiddenOptions,
  bed: LockTestBed,
  application: ModulesContainer,
): VirtualLockConnection {
  const log = guarded(new Logger(RedisLockModule.name));
  const nesting = watchNesting(application, name, options(), log);
  return connectionTo(bed, { name, options: options(), log, nesting });
}

const tokenOf = (provider: Provider): unknown => (typeof provider === 'function' ? provider : provider.provide);
