import { type DynamicModule, type InjectionToken, Logger, Module, type Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { MemoryLockBackend } from '../backends/memory/index.js';
import { LockClient } from '../core/lock-client.js';
import { watchNesting } from '../doctor/nesting.watch.js';
import { RedisLockModule } from '../redis-lock.module.js';
import { type RedisLockModuleOptions, resolveModuleOptions } from '../redis-lock.options.js';
import { connectionToken, defaultConnection } from '../redis-lock.tokens.js';
import { LockTestBed } from './lock-test-bed.js';
import { testingRefusals } from './testing.messages.js';
import { VirtualLockConnection } from './virtual-lock.connection.js';

/**
 * What `RedisLockModule.forRoot` takes. `redis` and `keyPrefix` are checked and then left alone, so that the options of the
 * application can be given as they are.
 */
export interface RedisLockTestingOptions extends Omit<RedisLockModuleOptions, 'backend'> {
  /**
   * Where the locks live. Give two applications the same one, and they contend with each other.
   * @default one of its own for each application, injected as `LockTestBed`
   */
  bed?: LockTestBed;
}

/** Stands in for RedisLockModule in tests: the same providers, with locks in memory and in virtual time. No Redis. */
@Module({})
export class RedisLockTestingModule {
  /**
   * Everything that `RedisLockModule.forRoot` provides, and the `LockTestBed`.
   * @throws LockConfigurationError at once for a wrong or unknown option.
   */
  static forRoot(options: RedisLockTestingOptions = {}): DynamicModule {
    const { bed, ...rest } = options;
    if ('backend' in rest) throw testingRefusals.noBackend();
    const { name = defaultConnection } = rest;
    const real = RedisLockModule.forRoot(rest);
    const connection = connectionToken(name);
    const bedToken = lockTestBedToken(name);
    return {
      ...real,
      module: RedisLockTestingModule,
      providers: [
        ...(real.providers ?? []).filter((provider) => tokenOf(provider) !== connection),
        { provide: bedToken, useFactory: () => bed ?? new LockTestBed() },
        {
          provide: connection,
          useFactory: (given: LockTestBed, application: ModulesContainer) => connect(name, rest, given, application),
          inject: [bedToken, ModulesContainer],
        },
      ],
      exports: [...(real.exports ?? []), bedToken],
    };
  }
}

/** What the `LockTestBed` is provided as: the class itself, or for a named connection a token of its own. */
export function lockTestBedToken(name: string = defaultConnection): InjectionToken {
  return name === defaultConnection ? LockTestBed : `LockTestBed:${name}`;
}

function connect(
  name: string,
  options: RedisLockModuleOptions,
  bed: LockTestBed,
  application: ModulesContainer,
): VirtualLockConnection {
  const { shutdownTimeout, strict, ...settings } = resolveModuleOptions(options);
  const { commandTimeout, poll } = options;
  const backend = new MemoryLockBackend({
    server: bed.server,
    label: name,
    ...(commandTimeout !== undefined && { commandTimeout }),
    ...(poll !== undefined && { poll }),
  });
  const log = new Logger(RedisLockModule.name);
  const client = new LockClient(backend, settings, log);
  const nesting = watchNesting(application, name, settings, log);
  return new VirtualLockConnection(client, { name, strict, shutdownTimeout, nesting }, log, bed.clock);
}

const tokenOf = (provider: Provider): unknown => (typeof provider === 'function' ? provider : provider.provide);
