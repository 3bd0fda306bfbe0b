import type { OnApplicationBootstrap, OnModuleInit, Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { located } from '../../errors/configuration.js';
import { Hidden } from '../../errors/describe.js';
import { providedMethods } from '../method/method-wrapper.js';
import { type ConnectionFinder, connectionsWanted, findConnectionsWith } from '../method/connection-slot.js';
import { assertLockable } from '../request/lock.interceptor.js';
import { refuseUnsubscribed } from '../doctor/never-subscribed.check.js';
import { checkLeaders, startLeaders } from '../leader/elected-methods.js';
import { instancesOf, objectsOf, wrappersOf } from '../base/instances.js';
import { LockConnection } from '../../connection/lock.connection.js';
import { applicationRefusals as refusals } from './module.messages.js';

/**
 * Runs at start, before other modules' hooks when this module is global. Connects, gives the connection to instances that Nest did not
 * create (useFactory, useValue), and finds mistakes that only the whole application shows: a connection that exists twice or not at all,
 * and methods that could never run. Instances that are used earlier, or come later with a lazy module, are found at their first
 * call.
 */
export class LockExplorer implements OnModuleInit, OnApplicationBootstrap, ConnectionFinder {
  private readonly application: Hidden<ModulesContainer>;

  constructor(
    modules: ModulesContainer,
    private readonly connection: LockConnection,
  ) {
    this.application = new Hidden(modules);
    findConnectionsWith(this);
  }

  /** The connection, if it has this name and the instance belongs to this application. */
  find(instance: object, name: string): LockConnection | undefined {
    const { connection } = this;
    if (connection.name !== name || connection.isClosing) return undefined;
    for (const own of instancesOf(this.modules())) if (own === instance) return connection;
    return undefined;
  }

  async onModuleInit(): Promise<void> {
    this.bind();
    this.refuseWhatCannotBeHad();
    checkLeaders(this.modules(), this.connection);
    for (const { method } of providedMethods(this.modules(), this.connection.name))
      located(`@DistributedLock on ${method.where}`, () => this.connection.expect(method.settings.options));
    // Last: an application that does not start leaves no socket open.
    await this.connection.open();
  }

  onApplicationBootstrap(): void {
    startLeaders(this.modules(), this.connection);
  }

  private modules(): ModulesContainer {
    return this.application.reveal();
  }

  private bind(): void {
    const connections = this.connections();
    for (const sample of objectsOf(wrappersOf(this.modules()))) refuseUnsubscribed(sample);
    for (const instance of instancesOf(this.modules())) {
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

  /** Refuses permits and shared locks on a backend that does not have them: else each call would be refused. */
  private refuseWhatCannotBeHad(): void {
    const { capabilities, name } = this.connection;
    if (!capabilities || (capabilities.permits && capabilities.shared)) return;
    for (const { method } of providedMethods(this.modules(), name)) {
      const { limit, shared } = method.settings.options;
      if (limit !== undefined && !capabilities.permits) throw refusals.noPermits(method.where);
      if (shared && !capabilities.shared) throw refusals.noShared(method.where);
    }
  }

  private connections(): Map<string, LockConnection> {
    const found = new Map<string, LockConnection>();
    for (const { providers } of this.modules().values()) {
      for (const { instance } of providers.values()) {
        if (!(instance instanceof LockConnection)) continue;
        // An alias (useExisting) of a connection is not a second one.
        const { name } = instance;
        if (found.has(name) && found.get(name) !== instance) throw refusals.twice(name);
        found.set(name, instance);
      }
    }
    return found;
  }
}

type Bindable = Record<symbol, LockConnection | undefined>;

/** The methods of the instance's class, inherited ones included. */
function* methodsOf(instance: object): Iterable<object> {
  for (let prototype = Object.getPrototypeOf(instance); prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (typeof value === 'function' && name !== 'constructor') yield value as object;
    }
  }
}

const named = (name: string): string => (name === 'default' ? '' : `{ name: '${name}' }`);
