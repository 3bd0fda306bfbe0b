import type { OnModuleInit, Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { lockedPlaces } from './doctor/locked-places.reader.js';
import { type ConnectionFinder, findConnectionsWith } from './interceptor/connection-finder.js';
import { connectionsWanted } from './interceptor/connection-slot.js';
import { assertLockable } from './interceptor/lock.interceptor.js';
import { refuseUnsubscribed } from './interceptor/unsubscribed.js';
import { instancesOf, objectsOf, wrappersOf } from './nest-instances.reader.js';
import { LockConnection } from './redis-lock.connection.js';
import { applicationRefusals as refusals } from './redis-lock.messages.js';

/**
 * At start, before other modules' hooks where this one is global: connects; hands the connection to the instances that Nest did not create itself (useFactory, useValue), and finds
 * what only the whole application shows: a connection that is there twice, or not at all, and locked methods that could never run.
 * Instances that are used before, or come with a lazy module later, are found at their first call.
 */
export class LockExplorer implements OnModuleInit, ConnectionFinder {
  constructor(
    private readonly modules: ModulesContainer,
    private readonly connection: LockConnection,
  ) {
    findConnectionsWith(this);
  }

  /** The connection, where it is that of this name and the instance is one of this application. */
  find(instance: object, name: string): LockConnection | undefined {
    const { connection } = this;
    if (connection.name !== name || connection.isClosing) return undefined;
    for (const own of instancesOf(this.modules)) if (own === instance) return connection;
    return undefined;
  }

  async onModuleInit(): Promise<void> {
    this.bind();
    this.refuseWhatCannotBeHad();
    // Last: an application that does not start leaves no socket open.
    await this.connection.open();
  }

  private bind(): void {
    const connections = this.connections();
    for (const sample of objectsOf(wrappersOf(this.modules))) refuseUnsubscribed(sample);
    for (const instance of instancesOf(this.modules)) {
      for (const method of methodsOf(instance)) assertLockable(instance.constructor as Type, method);
      for (const [name, slot] of connectionsWanted(instance)) {
        const bound = (instance as Bindable)[slot];
        // A useValue object may have served an application before this one.
        if (bound && !bound.isClosing) continue;
        const connection = connections.get(name);
        if (!connection) throw refusals.missingConnection(instance.constructor.name, name, named(name));
        (instance as Bindable)[slot] = connection;
      }
    }
  }

  /** Permits where they cannot be counted: else each call would be refused. */
  private refuseWhatCannotBeHad(): void {
    const { client, name } = this.connection;
    if (client.backend.capabilities?.permits !== false) return;
    for (const { method } of lockedPlaces(this.modules, name)) {
      if (method.settings.options.limit !== undefined) throw refusals.noPermits(method.where);
    }
  }

  private connections(): Map<string, LockConnection> {
    const found = new Map<string, LockConnection>();
    for (const { providers } of this.modules.values()) {
      for (const { instance } of providers.values()) {
        if (!(instance instanceof LockConnection)) continue;
        // An alias (useExisting) of a connection is no second one.
        const { name } = instance;
        if (found.has(name) && found.get(name) !== instance) throw refusals.twice(name);
        found.set(name, instance);
      }
    }
    return found;
  }
}

type Bindable = Record<symbol, LockConnection | undefined>;

/** The methods of the instance's class, inherited ones too. */
function* methodsOf(instance: object): Iterable<object> {
  for (let prototype = Object.getPrototypeOf(instance); prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (typeof value === 'function' && name !== 'constructor') yield value as object;
    }
  }
}

const named = (name: string): string => (name === 'default' ? '' : `{ name: '${name}' }`);
