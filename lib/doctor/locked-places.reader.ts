import type { ModulesContainer } from '@nestjs/core';
import type { LockedMethod } from '../interceptor/locked-method.js';
import { lockedMethodsOf } from '../interceptor/method-wrapper.js';
import { objectsOf, wrappersOf } from '../nest-instances.reader.js';

/** A locked method of something that the application provides. */
export interface LockedPlace {
  /** The provider or controller; of what is made for each request, the object that Nest keeps in its place. */
  readonly instance: object;
  /** Where the decorator stands: the instance's class, or one that it inherits from. */
  readonly prototype: object;
  readonly property: string | symbol;
  readonly method: LockedMethod;
}

/** The locked methods of one connection, in the whole application. */
export function* lockedPlaces(application: ModulesContainer, connection: string): Iterable<LockedPlace> {
  for (const instance of new Set(objectsOf(wrappersOf(application)))) {
    for (const [property, method, prototype] of lockedMethodsOf(instance)) {
      if (method.settings.connection === connection) yield { instance, prototype, property, method };
    }
  }
}
