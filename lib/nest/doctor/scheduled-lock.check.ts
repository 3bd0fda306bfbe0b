import { least } from '../../core/defaults.js';
import { parseDuration } from '../../core/duration.js';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { isLeaderOnly } from '../leader/elected-methods.js';
import type { ProvidedMethod } from '../method/method-wrapper.js';
import { metadataKeys } from '../base/metadata-keys.js';
import { applicationFindings } from './doctor.messages.js';
import { waitText } from './http-timeout.check.js';

/** What each process calls by itself, at the same time as the others. A job of a queue is called in one process. */
const everywhere = {
  [metadataKeys.scheduledJob]: 'a job of @nestjs/schedule',
  [metadataKeys.queueListener]: 'a listener to the events of a queue',
};

/**
 * Locked methods that each process calls, where the lock does not prevent that each one runs them: with a wait they run one after the other, and
 * without `minHold` a quick run is over before a late process asks. With one that is as long as the period, the next runs are skipped.
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
  const period = periodOf(standing);
  const advised = advisedMinHold(standing, period);
  if (wait > 0) return [applicationFindings.eachProcessInTurn(method.where, caller, waitText(wait), key, advised)];
  if (options.minHold === undefined) return [applicationFindings.lateProcess(method.where, caller, key, advised)];
  const minHold = parseDuration('minHold', options.minHold, { min: least.minHold });
  if (period === undefined || minHold < period) return [];
  return [applicationFindings.skippedRuns(method.where, period, minHold, advised)];
}

/** Milliseconds between two runs of a job; undefined where they are not known, or differ. */
function periodOf(job: object): number | undefined {
  const interval = optionsOf(metadataKeys.intervalOptions, job)['timeout'];
  if (interval !== undefined) return Number.isSafeInteger(interval) ? (interval as number) : undefined;
  const fields = cronFields(job);
  // From the seconds: all are numbers, one is a star, and behind it are only stars.
  const [, stars] = /^(?:\d+ )*(\*(?:\/\d+)?(?: \*)*)$/.exec(fields.join(' ')) ?? [];
  if (stars === undefined) return undefined;
  const step = Number(/\d+/.exec(stars)?.[0] ?? 1);
  const unit = units[fields.length - stars.split(' ').length];
  // With a step of 7 the last run of a minute is followed sooner.
  return unit && unit.count % step === 0 ? unit.milliseconds * step : undefined;
}

/** What stars of cron stand for; a step of days does not divide a month. */
const units = [
  { milliseconds: 1_000, count: 60 },
  { milliseconds: 60_000, count: 60 },
  { milliseconds: 3_600_000, count: 24 },
  { milliseconds: 86_400_000, count: 1 },
];

/** As it stands in the code. Long enough for clocks that differ and late starts, and shorter than the period. */
function advisedMinHold(job: object, period: number | undefined): string {
  if (period !== undefined) {
    const most = Math.floor((period * 5) / 6);
    if (most >= 50_000) return "'50s'";
    return most > 0 ? String(most) : '…';
  }
  const [seconds] = cronFields(job);
  return seconds !== undefined && /^\d+$/.test(seconds) ? "'50s'" : '…';
}

/** From the seconds, which may be left out; none for a date and for a name such as `@daily`. */
function cronFields(job: object): string[] {
  const pattern = optionsOf(metadataKeys.cronOptions, job)['cronTime'];
  const fields = typeof pattern === 'string' ? pattern.trim().split(/\s+/) : [];
  if (fields.length === 5) return ['0', ...fields];
  return fields.length === 6 ? fields : [];
}

const optionsOf = (key: string, job: object): Partial<Record<string, unknown>> =>
  (Reflect.getMetadata(key, job) ?? {}) as Partial<Record<string, unknown>>;
