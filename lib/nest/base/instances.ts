import type { ModulesContainer } from '@nestjs/core';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';

/** Everything that the modules of an application provide, as Nest keeps it. */
export function* wrappersOf(modules: ModulesContainer): Iterable<InstanceWrapper> {
  for (const { providers, controllers, injectables } of modules.values()) {
    yield* providers.values();
    yield* controllers.values();
    yield* injectables.values();
  }
}

/** Every object that lives as long as the application. */
export function* instancesOf(modules: ModulesContainer): Iterable<object> {
  for (const wrapper of wrappersOf(modules)) {
    if (wrapper.isTransient) yield* objectsOf(wrapper.getStaticTransientInstances());
    else if (wrapper.isDependencyTreeStatic()) yield* objectsOf([wrapper]);
  }
}

/** Also the object that Nest keeps for a class whose instances are made for each request. */
export function* objectsOf(hosts: Iterable<{ instance?: unknown } | undefined>): Iterable<object> {
  for (const host of hosts) {
    const instance = host && instanceOf(host);
    if (typeof instance === 'object' && instance !== null) yield instance;
  }
}

/** Nest 11.0 calls itself without an end for a provider that has no instance, because its application failed to start. */
function instanceOf(host: { instance?: unknown }): unknown {
  try {
    return host.instance;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
