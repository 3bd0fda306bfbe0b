import type { LockFinding } from '../core/lock-finding.js';
import { isLeaderOnly } from '../leader/elected-methods.js';
import type { ProvidedMethod } from '../method/method-wrapper.js';
import { metadataKeys } from '../nest/metadata-keys.js';
import { applicationFindings } from './doctor.messages.js';
import { waitText } from './http-timeout.check.js';

/** What each process calls by itself, at the same time as the others. A job of a queue is called in one process. */
const everywhere = {
  [metadataKeys.scheduledJob]: 'a job of @nestjs/schedule',
  [metadataKeys.queueListener]: 'a listener to the events of a queue',
};

/**
 * Locked methods that each process calls, where the lock does not prevent that each one runs them: with a wait they run one after the other, and
 * without `minHold` a quick run is over before a late process asks.
 * @param defaultWait of the connection
 */
export function findScheduled(
  { instance, prototype, property, method }: ProvidedMethod,
  defaultWait: number,
): LockFinding[] {
  const { options, written } = method.settings;
  // Permits and readers run beside each other, and the leader runs alone.
  if (options.limit !== undefined || options.shared || isLeaderOnly(prototype, property)) return [];
  const standing: unknown = Reflect.get(instance, property);
  if (typeof standing !== 'function') return [];
  const [, caller] = Object.entries(everywhere).find(([key]) => Reflect.hasMetadata(key, standing)) ?? [];
  if (caller === undefined) return [];
  const wait = method.ownWait ?? defaultWait;
  const key = typeof written.key === 'string' ? `'${written.key}'` : '…';
  if (wait > 0) return [applicationFindings.eachProcessInTurn(method.where, caller, waitText(wait), key)];
  return options.minHold === undefined ? [applicationFindings.lateProcess(method.where, caller, key)] : [];
}
