import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { type HealthIndicatorResult, HealthIndicatorService, type HealthIndicatorStatus } from '@nestjs/terminus';
import type { LockHealthData } from '../../operators/health.js';
import type { LockConnection } from '../../connection/lock.connection.js';
import { defaultConnection } from '../../connection/connection.options.js';
import { connectionToken } from '../../connection/redis-lock.tokens.js';
import { Hidden } from '../../errors/describe.js';
import { readOptions } from '../../errors/read-options.js';
import { located } from '../../errors/configuration.js';
import { terminusRefusals } from './terminus.messages.js';

export interface LockHealthOptions {
  /**
   * The name of the connection, when the application has several.
   * @default the default connection
   */
  connection?: string | undefined;
}

/**
 * Answers for `@nestjs/terminus` whether a lock is available and can be kept now, on the connection that the locks use. `down`: calls reject.
 * `degraded`: they succeed, and something is wrong. Contended locks, long holds and full queues are healthy. For a route of
 * its own, or for readiness where no route works without locks: a Redis that is away takes all processes out at once. Never for liveness: a
 * process that is restarted because Redis is away loses the locks that it holds.
 *
 * Provide it in a module that imports TerminusModule.
 */
@Injectable()
export class LockHealthIndicator {
  private readonly modules: Hidden<ModuleRef>;

  constructor(
    @Inject(HealthIndicatorService) private readonly indicators: HealthIndicatorService,
    @Inject(ModuleRef) modules: ModuleRef,
  ) {
    this.modules = new Hidden(modules);
  }

  /**
   * The health of a connection. It takes a lock of its own and releases it, unless Redis has granted or renewed one within 5 seconds.
   * Settles within three times `commandTimeout`.
   * @param key names the entry of the health route
   * @throws LockConfigurationError for a connection that does not exist, and for an unknown option
   */
  async check<const Key extends string>(
    key: Key,
    options: LockHealthOptions = {},
  ): Promise<HealthIndicatorResult<Key, HealthIndicatorStatus, LockHealthData>> {
    const { connection = defaultConnection } = located('LockHealthIndicator.check', () =>
      readOptions('options', options, ['connection']),
    ) as LockHealthOptions;
    const { status, ...data } = await this.connectionOf(connection).health();
    const indicator: Indicator<Key> = this.indicators.check(key);
    if (status !== 'degraded') return indicator[status](data);
    return indicator.degraded ? indicator.degraded(data) : indicator.up({ ...data, degraded: true });
  }

  private connectionOf(name: string): LockConnection {
    try {
      return this.modules.reveal().get<LockConnection>(connectionToken(name), { strict: false });
    } catch {
      throw terminusRefusals.noConnection(name, name === defaultConnection ? '' : `{ name: '${name}' }`);
    }
  }
}

type Mark<Key extends string> = (
  data: LockHealthData & { readonly degraded?: true },
) => HealthIndicatorResult<Key, HealthIndicatorStatus, LockHealthData>;

/** Terminus 11 has no `degraded`. */
interface Indicator<Key extends string> {
  readonly up: Mark<Key>;
  readonly down: Mark<Key>;
  readonly degraded?: Mark<Key>;
}
