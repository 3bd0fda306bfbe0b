import { ConfigurableModuleBuilder, type DynamicModule, Logger, Module, type Provider } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { LockClient } from './core/lock-client.js';
import { readOptions } from './core/options.js';
import { FindingLog } from './doctor/finding-log.js';
import { LockDoctor } from './doctor/lock.doctor.js';
import { watchNesting } from './doctor/nesting.watch.js';
import { applicationLockErrorFilter } from './filters/application-lock-error.filter.js';
import { located } from './interceptor/error-location.js';
import { FlowBoundaryInterceptor } from './interceptor/flow-boundary.interceptor.js';
import { TransportBoundary } from './interceptor/transport-boundary.js';
import { LockConnection } from './redis-lock.connection.js';
import { LockExplorer } from './redis-lock.explorer.js';
import { moduleRefusals } from './redis-lock.messages.js';
import {
  type RedisLockAsyncOptions,
  type RedisLockModuleOptions,
  assertExtras,
  refuseExtras,
  resolveModuleOptions,
} from './redis-lock.options.js';
import { placeOf } from './redis-lock.place.js';
import { RedisLockService } from './redis-lock.service.js';
import { connectionToken, defaultConnection, serviceToken } from './redis-lock.tokens.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<RedisLockAsyncOptions>()
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createRedisLockOptions')
    .setExtras<{ isGlobal?: boolean; name?: string }>(
      // Named here, both are taken out of what the module itself gets.
      { isGlobal: true, name: defaultConnection },
      (definition, { isGlobal = true, name = defaultConnection }) => ({
        ...definition,
        global: isGlobal,
        providers: [...(definition.providers ?? []), ...providersOf(name)],
        exports: [connectionToken(name), serviceToken(name)],
      }),
    )
    .build();

/** Locks for an application, or one named connection of several. */
@Module({})
export class RedisLockModule extends ConfigurableModuleClass {
  /**
   * @param options left out: a Redis on this machine, and the defaults.
   * @throws LockConfigurationError at once for a wrong or unknown option.
   */
  static override forRoot(options: RedisLockModuleOptions = {}): DynamicModule {
    located('RedisLockModule.forRoot', () => {
      resolveModuleOptions(options);
      assertExtras(options);
    });
    return super.forRoot(options);
  }

  /**
   * The options from `useFactory`, `useClass` or `useExisting`; `name` and `isGlobal` stand beside it.
   * @throws LockConfigurationError at once for these two, and at start for what the factory answers.
   */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    located(forRootAsync, () => {
      readOptions('options', options, asyncNames);
      const sources = (['useFactory', 'useClass', 'useExisting'] as const).filter(
        (source) => options[source] !== undefined,
      );
      if (sources.length !== 1) throw moduleRefusals.noSource();
      assertExtras(options);
    });
    return super.forRootAsync(options);
  }
}

const forRootAsync = 'RedisLockModule.forRootAsync';

const asyncNames = [
  'name',
  'isGlobal',
  'imports',
  'inject',
  'useFactory',
  'useClass',
  'useExisting',
  'provideInjectionTokensFrom',
] as const;

function providersOf(name: string): Provider[] {
  return [
    {
      provide: connectionToken(name),
      useFactory: (options: RedisLockAsyncOptions, application: ModulesContainer) =>
        connect(name, options, application),
      inject: [MODULE_OPTIONS_TOKEN, ModulesContainer],
    },
    {
      provide: serviceToken(name),
      useFactory: (connection: LockConnection) => new RedisLockService(connection),
      inject: [connectionToken(name)],
    },
    {
      provide: LockExplorer,
      useFactory: (modules: ModulesContainer, connection: LockConnection) => new LockExplorer(modules, connection),
      inject: [ModulesContainer, connectionToken(name)],
    },
    {
      provide: APP_FILTER,
      useFactory: (options: RedisLockAsyncOptions, host: HttpAdapterHost, application: ModulesContainer) =>
        applicationLockErrorFilter(application, options.httpErrors, host),
      inject: [MODULE_OPTIONS_TOKEN, HttpAdapterHost, ModulesContainer],
    },
    {
      provide: LockDoctor,
      useFactory: doctorFor,
      inject: [ModulesContainer, connectionToken(name), HttpAdapterHost, MODULE_OPTIONS_TOKEN],
    },
    { provide: APP_INTERCEPTOR, useClass: FlowBoundaryInterceptor },
    {
      provide: TransportBoundary,
      useFactory: (options: RedisLockAsyncOptions, host: HttpAdapterHost, application: ModulesContainer) =>
        new TransportBoundary(application, host, applicationLockErrorFilter(application, options.httpErrors, host)),
      inject: [MODULE_OPTIONS_TOKEN, HttpAdapterHost, ModulesContainer],
    },
  ];
}

function connect(
  name: string,
  answer: RedisLockAsyncOptions | undefined,
  application: ModulesContainer,
): LockConnection {
  const { options, shutdownTimeout, strict, ...settings } = located(forRootAsync, () => {
    if (!answer) throw moduleRefusals.noAnswer(answer);
    const resolved = resolveModuleOptions(answer);
    refuseExtras(answer);
    return { options: answer, ...resolved };
  });
  const log = new Logger(RedisLockModule.name);
  const nesting = watchNesting(application, name, settings, log);
  return new LockConnection(
    new LockClient(placeOf(options, log), settings, log),
    { name, strict, shutdownTimeout, nesting },
    log,
  );
}

function doctorFor(
  application: ModulesContainer,
  connection: LockConnection,
  host: HttpAdapterHost,
  options: RedisLockAsyncOptions,
): LockDoctor {
  const { strict, ignoreFindings } = resolveModuleOptions(options);
  const log = new FindingLog(new Logger(RedisLockModule.name), ignoreFindings);
  return new LockDoctor(application, connection, host, log, strict);
}
