import { kindRefusals } from './interceptor.messages.js';
import { lockedMethodsOf } from './method-wrapper.js';

/** What other packages write on the methods that they call. Not imported: they are optional. */
const marks = {
  SCHEDULER_TYPE: 'a job of @nestjs/schedule',
  EVENT_LISTENER_METADATA: 'a listener of @nestjs/event-emitter',
  'bullmq:worker_events_metadata': 'a listener of @nestjs/bullmq',
  'bullmq:queue_events_metadata': 'a listener of @nestjs/bullmq',
};
/** On the class: its method `process` is called. */
const processorMark = 'bullmq:processor_metadata';

/**
 * A locked Observable or iterable begins when it is subscribed to or iterated. Schedulers, event emitters and queues await a promise and do
 * neither: the method would never run, and nobody would notice.
 * @throws LockConfigurationError
 */
export function refuseUnsubscribed(instance: object): void {
  for (const [property, { kind, where }] of lockedMethodsOf(instance)) {
    if (kind === 'promise') continue;
    const caller = callerOf(instance, property);
    if (caller) throw kindRefusals.neverRuns(where, kind, caller);
  }
}

function callerOf(instance: object, property: string | symbol): string | undefined {
  const method: unknown = (instance as Record<string | symbol, unknown>)[property];
  const mark = Object.entries(marks).find(([key]) => typeof method === 'function' && Reflect.hasMetadata(key, method));
  if (mark) return mark[1];
  const isProcessor = property === 'process' && Reflect.hasMetadata(processorMark, instance.constructor);
  return isProcessor ? 'a processor of @nestjs/bullmq' : undefined;
}
