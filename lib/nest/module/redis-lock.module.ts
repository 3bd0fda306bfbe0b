import {
  ConfigurableModuleBuilder,
  type DynamicModule,
  Logger,
  Module,
  type Provider,
  type Type,
  type ValueProvider,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { LockClient } from '../../core/lock-client.js';
import { guarded } from '../../core/lock-log.js';
import { readOptions } from '../../errors/read-options.js';
import type { StartRenewalWorker } from '../../core/renewal-worker.js';
import { FindingLog } from '../doctor/finding-log.js';
import { LockDoctor } from '../doctor/lock.doctor.js';
import { watchNesting } from '../doctor/nesting.watch.js';
import { applicationLockErrorFilter } from '../request/application-filter.js';
import { atPlace, located } from '../../errors/configuration.js';
import { FlowBoundaryInterceptor } from '../request/flow-boundary.js';
import { TransportBoundary } from '../request/transport-boundary.js';
import { LockConnection } from '../../connection/lock.connection.js';
import { tokensOfOtherCopies } from '../../connection/copies.js';
import { LockExplorer } from './lock.explorer.js';
import { moduleRefusals } from './module.messages.js';
import type {
  RedisLockAsyncOptions,
  RedisLockFactoryOptions,
  RedisLockModuleOptions,
  RedisLockOptionsFactory,
} from './redis-lock.options.js';
import { type ResolvedModuleOptions, assertExtras, refuseExtras, resolveModuleOptions } from './resolve-options.js';
import { defaultConnection } from '../../connection/connection.options.js';
import { createBackend, loadBackends } from '../../connection/create-backend.js';
import { RedisLockService } from '../../connection/redis-lock.service.js';
import { connectionToken, getRedisLockToken, standInToken } from '../../connection/redis-lock.tokens.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<RedisLockFactoryOptions>()
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createRedisLockOptions')
  .setExtras<{ isGlobal?: boolean; name?: string }>(
    // With these names, both are removed from the options that the module gets.
    { isGlobal: true, name: defaultConnection },
    (definition, { isGlobal = true, name = defaultConnection }) => ({
      ...definition,
      global: isGlobal,
      // Empty: a test's `overrideModule(RedisLockModule)` replaces it with its own module.
      imports: [...(definition.imports ?? []), theClass()],
      providers: [...(definition.providers ?? []).map(hidingOptions), ...providersOf(name), ...tokensOfOtherCopies()],
      exports: [connectionToken(name), getRedisLockToken(name), ...tokensOfOtherCopies().map(({ provide }) => provide)],
    }),
  )
  .build();

/** Locks for an application, or one named connection of several. */
@Module({})
export class RedisLockModule extends ConfigurableModuleClass {
  /**
   * Locks with these options, for the whole application. Call it once for each connection.
   * @param options left out: a Redis on this machine, and the defaults.
   * @throws LockConfigurationError at once for a wrong or unknown option.
   */
  static override forRoot(options: RedisLockModuleOptions = {}): DynamicModule {
    const resolved = located('RedisLockModule.forRoot', () => {
      const checked = resolveModuleOptions(options);
      assertExtras(options);
      return checked;
    });
    const { name, isGlobal } = options;
    // The builder takes these two, and passes the rest on unchanged: `hidingOptions` gets it.
    return super.forRoot({ ...resolved, name, isGlobal } as unknown as RedisLockFactoryOptions);
  }

  /**
   * The same with options from `useFactory`, `useClass` or `useExisting`, with `name` and `isGlobal` beside it.
   * @throws LockConfigurationError at once for these two, and at start for the factory's result.
   */
  static override forRootAsync(options: RedisLockAsyncOptions): DynamicModule {
    located(forRootAsync, () => {
      readOptions('options', options, asyncNames);
      const sources = (['useFactory', 'useClass', 'useExisting'] as const).filter(
        (source) => options[source] !== undefined,
      );
      const [source] = sources;
      if (source === undefined || sources.length > 1) throw moduleRefusals.noSource();
      // `useExisting` takes any token.
      if (source !== 'useExisting' && typeof options[source] !== 'function')
        throw moduleRefusals.noFactory(source, options[source]);
      assertExtras(options);
    });
    const definition = super.forRootAsync(options);
    return options.useFactory ? definition : { ...definition, providers: definition.providers!.map(checkingFactory) };
  }
}

const theClass = (): Type => RedisLockModule;

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

/** The options in Nest's container: they may contain passwords, and printing a function does not show them. */
export type HiddenOptions = () => ResolvedModuleOptions;
export const hiddenOptionsToken = MODULE_OPTIONS_TOKEN;
let definitions = 0;

function hidingOptions(provider: Provider): Provider {
  if (typeof provider === 'function' || provider.provide !== MODULE_OPTIONS_TOKEN) return provider;
  if ('useFactory' in provider) {
    const useFactory = async (...args: unknown[]): Promise<HiddenOptions> => {
      const given = (await provider.useFactory(...args)) as RedisLockFactoryOptions | undefined;
      const options = located(forRootAsync, () => resolveResult(given));
      return () => options;
    };
    return { ...provider, useFactory };
  }
  const { useValue: options } = provider as ValueProvider<ResolvedModuleOptions>;
  // Numbered: Nest may identify modules by the text of their definitions (`moduleIdGeneratorAlgorithm: 'deep-hash'`).
  const numbered = { definition: ++definitions };
  return { ...numbered, provide: MODULE_OPTIONS_TOKEN, useFactory: (): HiddenOptions => () => options };
}

/** Of the class in `useClass` or `useExisting`: Nest would call a method that is not there. */
function checkingFactory(provider: Provider): Provider {
  if (typeof provider === 'function' || provider.provide !== MODULE_OPTIONS_TOKEN || !('useFactory' in provider))
    return provider;
  const useFactory = (factory: unknown): unknown => {
    if (typeof (factory as Partial<RedisLockOptionsFactory> | undefined)?.createRedisLockOptions !== 'function')
      throw atPlace(forRootAsync, moduleRefusals.noMethod());
    return provider.useFactory(factory);
  };
  return { ...provider, useFactory };
}

/** @throws LockConfigurationError for a result that a factory must not return. */
function resolveResult(given: RedisLockFactoryOptions | undefined): ResolvedModuleOptions {
  if (!given) throw moduleRefusals.noResult(given);
  const options = resolveModuleOptions(given);
  refuseExtras(given);
  return options;
}

function providersOf(name: string): Provider[] {
  return [
    {
      provide: connectionToken(name),
      useFactory: (options: HiddenOptions, application: ModulesContainer, standIn: unknown) =>
        // A module of @nestjs/testing may replace a missing provider with a mock of any kind.
        standIn instanceof LockConnection ? standIn : connect(name, options(), application),
      inject: [MODULE_OPTIONS_TOKEN, ModulesContainer, { token: standInToken(name), optional: true }],
    },
    {
      provide: getRedisLockToken(name),
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
      useFactory: (
        options: HiddenOptions,
        host: HttpAdapterHost,
        application: ModulesContainer,
        config: ApplicationConfig,
      ) => applicationLockErrorFilter(application, options().httpErrors, host, config),
      inject: [MODULE_OPTIONS_TOKEN, HttpAdapterHost, ModulesContainer, ApplicationConfig],
    },
    {
      provide: LockDoctor,
      useFactory: doctorFor,
      inject: [ModulesContainer, connectionToken(name), HttpAdapterHost, ApplicationConfig, MODULE_OPTIONS_TOKEN],
    },
    { provide: APP_INTERCEPTOR, useClass: FlowBoundaryInterceptor },
    {
      provide: TransportBoundary,
      useFactory: (
        options: HiddenOptions,
        host: HttpAdapterHost,
        application: ModulesContainer,
        config: ApplicationConfig,
      ) => {
        const filter = applicationLockErrorFilter(application, options().httpErrors, host, config);
        return new TransportBoundary(application, host, filter);
      },
      inject: [MODULE_OPTIONS_TOKEN, HttpAdapterHost, ModulesContainer, ApplicationConfig],
    },
  ];
}

async function connect(
  name: string,
  options: ResolvedModuleOptions,
  application: ModulesContainer,
): Promise<LockConnection> {
  const { defaults, maxWaiters, shutdownTimeout, strict, activity } = options;
  const log = guarded(new Logger(RedisLockModule.name));
  const backend = createBackend(options, { log, ...(await loadBackends(options)) });
  // Only an application that uses it loads its code.
  const startWorker: StartRenewalWorker = async (events) => {
    const { startRenewalWorker } = await import(/* webpackMode: "eager" */ '../../worker/worker-thread.js');
    return startRenewalWorker(options, log, events);
  };
  const client = new LockClient(backend, { defaults, maxWaiters, connection: name, startWorker }, log);
  const nesting = watchNesting(application, name, options, log, (finding) =>
    connection.operators.activity.found(finding),
  );
  const connection = new LockConnection(client, { name, strict, shutdownTimeout, activity, nesting });
  return connection;
}

function doctorFor(
  application: ModulesContainer,
  connection: LockConnection,
  host: HttpAdapterHost,
  config: ApplicationConfig,
  options: HiddenOptions,
): LockDoctor {
  const { strict, ignoreFindings } = options();
  const lines = guarded(new Logger(RedisLockModule.name));
  const log = new FindingLog(lines, ignoreFindings, (finding) => connection.operators.activity.found(finding));
  return new LockDoctor(application, connection, host, config, log, strict);
}
