import { kindRefusals } from '../around/around.messages.js';
import { metadataKeys } from '../base/metadata-keys.js';
import { lockedMethodsOf } from '../method/method-wrapper.js';

const callers = {
  [metadataKeys.scheduledJob]: 'a job of @nestjs/schedule',
  [metadataKeys.eventListener]: 'a listener of @nestjs/event-emitter',
  [metadataKeys.workerListener]: 'a listener of @nestjs/bullmq',
  [metadataKeys.queueListener]: 'a listener of @nestjs/bullmq',
};

/**
 * Refuses locked Observables and iterables of schedulers, event emitters and queues. Those await a promise, and neither subscribe nor
 * iterate: the method would never run, without any sign of it.
 * @throws LockConfigurationError
 */
export function refuseUnsubscribed(instance: object): void {
  for (const [property, { kind, where }] of lockedMethodsOf(instance)) {
    if (kind === 'promise') continue;
    const caller = frameworkOf(instance, property);
    if (caller) throw kindRefusals.neverRuns(where, kind, caller);
  }
}

function frameworkOf(instance: object, property: string | symbol): string | undefined {
  const method: unknown = (instance as Record<string | symbol, unknown>)[property];
  const mark = Object.entries(callers).find(
    ([key]) => typeof method === 'function' && Reflect.hasMetadata(key, method),
  );
  if (mark) return mark[1];
  const isProcessor = property === 'process' && Reflect.hasMetadata(metadataKeys.processor, instance.constructor);
  return isProcessor ? 'a processor of @nestjs/bullmq' : undefined;
}
