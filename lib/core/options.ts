import { defaults as library, least } from './defaults.js';
import { type Duration, parseDuration } from './duration.js';
import { callerSuffix } from './claim-id.js';
import { exclusive, type LockDemand } from './lock-backend.js';
import { inputRefusals } from '../errors/input.messages.js';
import { abortSignal, oneOf, readOptions, shortText, wholeNumber } from '../errors/read-options.js';

/** The options of an acquisition, by call or by decorator: its terms, and how many callers can hold the lock at once. */
export type LockOptions = LockTerms & LockSharing;

/** `shared`, or `limit` with `permits`, or none of them: one holder. */
export type LockSharing =
  | {
      /**
       * A read lock: any number of callers hold the name at once, while no caller holds it without `shared`, which is its write lock. First
       * come, first served over both. The callers of one process queue one by one, as with `fairness: 'strict'`.
       * @default false
       */
      shared?: boolean | undefined;
      limit?: undefined;
      permits?: undefined;
    }
  | {
      /**
       * How many permits the name has, and so the most holders at once; at least 1. The same at each call site: the latest call applies to
       * all. A name is used with `limit` or without, not both. The callers of one process queue one by one, as with `fairness: 'strict'`.
       * @default none: the lock is exclusive, or shared
       */
      limit: number;
      /**
       * How many permits this call takes at once; at least 1, at most `limit`.
       * @default 1
       */
      permits?: number | undefined;
      /** Left out, or false: a name has permits or is shared. */
      shared?: false | undefined;
    };

export interface LockTerms {
  /**
   * The time for which the lock is granted without a renewal: after a crash, the others wait for so long.
   * Left out: the module's `lease`, renewed after each third of it until the work ends. Given: fixed, the work must end within it, unless
   * `renew: true`.
   * @default '30s', renewed
   */
  lease?: Duration | undefined;
  /**
   * The longest time in the queue. 0 = one try. `Infinity` = without limit.
   * @default '10s'
   */
  wait?: Duration | undefined;
  /**
   * True: a watchdog renews the lease while the work runs.
   * @default true when `lease` is left out, false when it is given
   */
  renew?: boolean | undefined;
  /**
   * The longest time of a hold, renewed or not: then its signal aborts, renewal stops and the lease runs out.
   * A hung method must not hold a lock forever.
   * @default none
   */
  maxHold?: Duration | undefined;
  /**
   * The shortest time from the grant during which no other caller gets the lock, even if the work ends sooner. The backend enforces the
   * rest of it: the call returns, the process may end. So a job that all processes start at about the same time runs once.
   * Longer work is not delayed by it. After a crash the lease applies. A lease that is not renewed must not be shorter.
   * @default 0: the lock is free as soon as the work is done
   */
  minHold?: Duration | undefined;
  /** Stops waiting: the call rejects with `signal.reason`. Does not end a lock that is already held. */
  signal?: AbortSignal | undefined;
  /**
   * `handoff`: the callers of one process queue up inside it and share one place in Redis; cheap, and fair between processes.
   * `strict`: each caller queues in Redis; first come, first served over all processes.
   * @default 'handoff'
   */
  fairness?: Fairness | undefined;
  /**
   * What happens when the work succeeded but the lock was lost on the way: `throw` a LockLostError, or only `warn` in the log.
   * @default 'throw'
   */
  onLost?: OnLost | undefined;
  /**
   * When the call settles after its work: `answered`, when Redis has replied to the release; `sent`, a round trip sooner, when the release is
   * written to the connection. With `sent`, a loss that only the reply shows goes to the log and the channels, not to the caller; and a call
   * with `wait: 0` right after it may find the lock still held.
   * @default 'answered'
   */
  release?: ReleaseMode | undefined;
  /**
   * Which thread renews the lease. `worker`: a worker thread with a connection of its own renews it, too, when the event loop of the `main`
   * thread is blocked: for `stallLimit` at most. It matters only for a lease that is renewed.
   * @default 'main'
   */
  renewFrom?: RenewFrom | undefined;
  /**
   * What this work is, for people: 1 to 100 characters of any text. `inspect`, errors, log lines and diagnostics channels show it, in other
   * processes too; so it is no place for a secret. When a process passes the lock on inside, other processes see the label of its first
   * caller.
   * @default none
   */
  label?: string | undefined;
}

export type Fairness = 'handoff' | 'strict';
export type OnLost = 'throw' | 'warn';
export type ReleaseMode = 'answered' | 'sent';
export type RenewFrom = 'main' | 'worker';

/** The options of an adoption. Options that are left out are as for an acquisition. */
export interface AdoptOptions extends Pick<
  LockTerms,
  'lease' | 'renew' | 'maxHold' | 'onLost' | 'release' | 'renewFrom'
> {
  /**
   * For how long the adoption is repeated while Redis does not answer. It does not wait for other callers.
   * @default '10s'
   */
  wait?: Duration | undefined;
  /**
   * As for an acquisition.
   * @default the label with which the lock was taken
   */
  label?: string | undefined;
}

const adoptOptionNames = ['lease', 'wait', 'renew', 'maxHold', 'onLost', 'release', 'renewFrom', 'label'] as const;

/** Characters of a label. */
const longestLabel = 100;

/** Defaults of all acquisitions, from the module's options. */
export interface LockDefaults {
  lease?: Duration | (string & {}) | undefined;
  wait?: Duration | (string & {}) | undefined;
  maxHold?: Duration | (string & {}) | undefined;
  fairness?: Fairness | undefined;
  onLost?: OnLost | undefined;
  release?: ReleaseMode | undefined;
  renewFrom?: RenewFrom | undefined;
}

/** LockOptions with all defaults filled in, in milliseconds. */
export interface ResolvedLockOptions extends LockDemand {
  readonly lease: number;
  readonly wait: number;
  readonly renew: boolean;
  readonly maxHold: number;
  readonly minHold: number;
  readonly signal: AbortSignal | undefined;
  readonly fairness: Fairness;
  readonly onLost: OnLost;
  readonly release: ReleaseMode;
  readonly renewFrom: RenewFrom;
  /** Class and method of the caller, for messages. */
  readonly method?: string;
  /** For people. */
  readonly label?: string;
  /** Both as the end of a claim's id (`callerSuffix`), made once for a method. */
  readonly callerSuffix?: string;
  /** The templates of the decorator, as labels for metrics. */
  readonly templates?: readonly string[];
  /** True for a lock that its caller has to release (`acquire`): the handle may be forgotten. */
  readonly isByHand?: boolean | undefined;
  /** Where its caller is in the code, where nested locks are watched. */
  readonly site?: { readonly where: string };
}

/** The options of a call, and what one step of a call for several names adds. */
export interface CallOptions extends ResolvedLockOptions {
  /** `Clock.now()` from which `wait` counts. @default now */
  readonly calledAt?: number;
  /** With `wait` 0: for how long (ms) the one try may wait for an unavailable backend. @default not at all */
  readonly tryFor?: number;
}

/** The options of an acquisition when neither the call nor the module sets any. */
export const lockDefaults: ResolvedLockOptions = {
  lease: library.lease,
  wait: library.wait,
  renew: true,
  maxHold: library.maxHold,
  minHold: library.minHold,
  signal: undefined,
  fairness: library.fairness,
  onLost: library.onLost,
  release: library.release,
  renewFrom: library.renewFrom,
  ...exclusive,
  isByHand: undefined,
};

/** The options of a call. */
export const lockOptionNames = [
  'lease',
  'wait',
  'renew',
  'maxHold',
  'minHold',
  'signal',
  'fairness',
  'onLost',
  'release',
  'renewFrom',
  'shared',
  'limit',
  'permits',
  'label',
] as const;
export const defaultNames = ['lease', 'wait', 'maxHold', 'fairness', 'onLost', 'release', 'renewFrom'] as const;

/** The module's defaults over the library's. @throws LockConfigurationError naming the wrong option. */
export function resolveDefaults(defaults: LockDefaults): ResolvedLockOptions {
  const resolved = resolveOptions(pick(defaults, defaultNames), lockDefaults);
  // A lease that is given here only sets the default length; the call decides about renewal.
  return { ...resolved, renew: true };
}

/**
 * One call's options over the defaults. Each property is read exactly once.
 * @throws LockConfigurationError naming the wrong option, and for an unknown one the nearest known.
 */
export function resolveOptions(options: LockOptions | undefined, defaults: ResolvedLockOptions): ResolvedLockOptions {
  if (options === undefined) return defaults;
  const { lease, wait, renew, maxHold, minHold, signal, fairness, onLost, release, renewFrom, label, ...kind } =
    readOptions('options', options, lockOptionNames);
  const demand = demandOf(kind);
  const resolved: ResolvedLockOptions = {
    lease: lease === undefined ? defaults.lease : parseDuration('lease', lease, { min: least.lease }),
    wait: wait === undefined ? defaults.wait : parseDuration('wait', wait, { min: least.wait, infinite: true }),
    renew: renew === undefined ? lease === undefined && defaults.renew : oneOf('renew', renew, [true, false]),
    maxHold:
      maxHold === undefined
        ? defaults.maxHold
        : parseDuration('maxHold', maxHold, { min: least.maxHold, infinite: true }),
    minHold: minHold === undefined ? defaults.minHold : parseDuration('minHold', minHold, { min: least.minHold }),
    signal: signal === undefined ? defaults.signal : abortSignal(signal),
    fairness: fairnessOf(demand, fairness, defaults),
    onLost: onLost === undefined ? defaults.onLost : oneOf('onLost', onLost, ['throw', 'warn']),
    release: release === undefined ? defaults.release : oneOf('release', release, ['answered', 'sent']),
    renewFrom: renewFrom === undefined ? defaults.renewFrom : oneOf('renewFrom', renewFrom, ['main', 'worker']),
    kind: demand.kind,
    permits: demand.permits,
    limit: demand.limit,
    isByHand: defaults.isByHand,
  };
  // As it is declared, a method without a lease of its own does not know the module's yet.
  const isKnown = lease !== undefined || defaults !== lockDefaults;
  if (isKnown && !resolved.renew && resolved.minHold > resolved.lease)
    throw inputRefusals.leaseWithinMinHold(resolved.minHold, resolved.lease);
  return label === undefined ? resolved : withLabel(resolved, shortText('label', label, longestLabel));
}

/** The options of a caller of the service with a label. */
export const withLabel = (options: ResolvedLockOptions, label: string): ResolvedLockOptions => ({
  ...options,
  label,
  callerSuffix: callerSuffix(options.method, label),
});

/** The same for an adoption, which has fewer options. @throws LockConfigurationError */
export function resolveAdoption(options: AdoptOptions | undefined, defaults: ResolvedLockOptions): ResolvedLockOptions {
  if (options === undefined) return defaults;
  return resolveOptions(readOptions('options', options, adoptOptionNames) as LockOptions, defaults);
}

/** The kind of lock that the options describe. @throws LockConfigurationError for options that exclude each other. */
function demandOf({ shared, limit, permits }: { [P in keyof LockSharing]?: unknown }): LockDemand {
  const isShared = shared !== undefined && oneOf('shared', shared, [true, false]);
  if (limit === undefined) {
    if (permits !== undefined) throw inputRefusals.permitsWithoutLimit();
    return isShared ? { kind: 'shared', permits: 1, limit: 0 } : exclusive;
  }
  if (isShared) throw inputRefusals.sharedPermits();
  const count = wholeNumber('limit', limit, least.limit);
  const wanted = permits === undefined ? 1 : wholeNumber('permits', permits, least.permits);
  if (wanted > count) throw inputRefusals.tooManyPermits(wanted, count);
  return { kind: 'permits', permits: wanted, limit: count };
}

/** Each caller of a shared lock has a claim of its own: nothing can be passed on inside a process. */
function fairnessOf({ kind }: LockDemand, given: unknown, defaults: ResolvedLockOptions): Fairness {
  const fairness = given === undefined ? defaults.fairness : oneOf('fairness', given, ['handoff', 'strict']);
  return kind === 'exclusive' ? fairness : 'strict';
}

function pick<K extends string>(source: object, names: readonly K[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of names) {
    const value = (source as Record<string, unknown>)[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}
