import type { ModulesContainer } from '@nestjs/core';
import type { LockConnection } from '../../connection/lock.connection.js';
import type { Duration } from '../../core/duration.js';
import { instancesOf, objectsOf, wrappersOf } from '../base/instances.js';
import { leaderRefusals as refusals } from '../../leader/leader.messages.js';
import type { Leadership } from '../../leader/leadership.js';

/** A method with `@Leader` or `@LeaderOnly`. */
export interface ElectedMethod {
  readonly type: 'leader' | 'leader only';
  /** `Reports.lead`, for messages. */
  readonly where: string;
  readonly property: string | symbol;
  readonly election: string;
  /** Name of the connection. */
  readonly connection: string;
  readonly lease?: Duration | undefined;
  readonly candidate?: ((this: object) => boolean) | undefined;
}

const electedMethods = new WeakMap<object, ElectedMethod[]>();

export function addElectedMethod(prototype: object, method: ElectedMethod): void {
  electedMethods.set(prototype, [...(electedMethods.get(prototype) ?? []), method]);
}

/** True when the method runs on the leader only. */
export const isLeaderOnly = (prototype: object, property: string | symbol): boolean =>
  electedMethods.get(prototype)?.some((method) => method.type === 'leader only' && method.property === property) ??
  false;

/** The methods of the object's class and of its base classes, on one connection. Of a method with `@Leader`, the override counts. */
function methodsOf(object: object, connection: LockConnection, type: ElectedMethod['type']): ElectedMethod[] {
  const found: ElectedMethod[] = [];
  for (let prototype = Object.getPrototypeOf(object); prototype; prototype = Object.getPrototypeOf(prototype)) {
    const own = (electedMethods.get(prototype) ?? []).filter((method) => method.type === type);
    const isOverridden = ({ property }: ElectedMethod): boolean => found.some((other) => other.property === property);
    found.push(...own.filter((method) => type === 'leader only' || !isOverridden(method)));
  }
  return found.filter((method) => method.connection === connection.name);
}

/** Each object that leads, and its method, by election. @throws LockConfigurationError */
function leadersOf(
  modules: ModulesContainer,
  connection: LockConnection,
): ReadonlyMap<string, readonly [instance: object, method: ElectedMethod]> {
  const leaders = new Map<string, readonly [object, ElectedMethod]>();
  for (const instance of new Set(instancesOf(modules))) {
    for (const method of methodsOf(instance, connection, 'leader')) {
      const other = leaders.get(method.election);
      if (other) throw refusals.twoLeaders(method.election, other[1].where, method.where);
      leaders.set(method.election, [instance, method]);
    }
  }
  return leaders;
}

/** Before the application starts: two methods that lead one election, and classes that have no object which could lead. */
export function checkLeaders(modules: ModulesContainer, connection: LockConnection): void {
  for (const wrapper of wrappersOf(modules)) {
    if (wrapper.isDependencyTreeStatic()) continue;
    for (const sample of objectsOf([wrapper]))
      for (const { where } of methodsOf(sample, connection, 'leader')) throw refusals.requestScoped(where);
  }
  leadersOf(modules, connection);
}

/** A test may replace a connection: then two modules know it. */
const started = new WeakSet<LockConnection>();

/** Lets the application stand for the elections of its methods. */
export function startLeaders(modules: ModulesContainer, connection: LockConnection): void {
  if (started.has(connection)) return;
  started.add(connection);
  for (const [election, [instance, { where, property, lease, candidate }]] of leadersOf(modules, connection)) {
    const lead = (leadership: Leadership): unknown =>
      // Found at each call: a library or a test may have wrapped it.
      (instance as Record<string | symbol, (leadership: Leadership) => unknown>)[property]!(leadership);
    void connection
      .election(election)
      .campaign(lead, { lease, candidate: candidate && (() => candidate.call(instance)) }, where);
  }
  for (const object of objectsOf(wrappersOf(modules)))
    for (const { election, where } of methodsOf(object, connection, 'leader only'))
      connection.election(election).standIn(where);
}
