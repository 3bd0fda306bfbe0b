import type { OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { LockConfigurationError } from './errors/lock-errors.js';
import { connectionsWanted } from './interceptor/connection-slot.js';
import { LockConnection } from './redis-lock.connection.js';

/**
 * At start, before other modules' hooks where this one is global: connects; hands the connection to the instances that Nest did not create itself (useFactory, useValue), and finds
 * what only the whole application shows: a connection that is there twice, or not at all.
 */
export class LockExplorer implements OnModuleInit {
  constructor(
    private readonly modules: ModulesContainer,
    private readonly connection: LockConnection,
  ) {}

  async onModuleInit(): Promise<void> {
    this.bind();
    // Last: an application that does not start leaves no socket open.
    await this.connection.open();
  }

  private bind(): void {
    const connections = this.connections();
    for (const instance of this.instances()) {
      for (const [name, slot] of connectionsWanted(instance)) {
        if (Object.hasOwn(instance, slot)) continue;
        const connection = connections.get(name);
        if (!connection) throw new LockConfigurationError(missing(instance, name));
        (instance as Record<symbol, LockConnection>)[slot] = connection;
      }
    }
  }

  private connections(): Map<string, LockConnection> {
    const found = new Map<string, LockConnection>();
    for (const { providers } of this.modules.values()) {
      for (const { instance } of providers.values()) {
        if (!(instance instanceof LockConnection)) continue;
        // An alias (useExisting) of a connection is no second one.
        const { name } = instance;
        if (found.has(name) && found.get(name) !== instance) throw new LockConfigurationError(twice(name));
        found.set(name, instance);
      }
    }
    return found;
  }

  /** Every object that lives as long as the application. */
  private *instances(): Iterable<object> {
    for (const { providers, controllers, injectables } of this.modules.values()) {
      for (const wrapper of [...providers.values(), ...controllers.values(), ...injectables.values()]) {
        const { instance } = wrapper as { instance: unknown };
        if (
          !wrapper.isTransient &&
          wrapper.isDependencyTreeStatic() &&
          typeof instance === 'object' &&
          instance !== null
        )
          yield instance;
      }
    }
  }
}

const named = (name: string): string => (name === 'default' ? '' : `{ name: '${name}' }`);

const missing = (instance: object, name: string): string =>
  `${instance.constructor.name}: @DistributedLock asks for the connection '${name}'; import RedisLockModule.forRoot(${named(name)}).`;

const twice = (name: string): string =>
  `RedisLockModule: the connection '${name}' is there twice. Import forRoot once for each connection, or give one of them another name.`;
