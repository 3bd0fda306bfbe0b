import { describe } from './describe.js';
import { type Duration, parseDuration } from './duration.js';
import { exclusive, type LockDemand } from './lock-backend.js';
import { inputRefusals } from './refusals.js';

/** What can be said at every acquisition, by call or by decorator. */
export type LockOptions = LockTerms & KindOptions;

/** How many hold the lock at once. Left out: one. */
export type KindOptions = ShareOptions | PermitOptions;

export interface ShareOptions {
  /**
   * A read lock: any number hold the name at once, while nobody holds it without `shared`, which is its write lock. First come, first
   * served over both. The callers of one process queue one by one, as with `fairness: 'strict'`.
   * @default false
   */
  shared?: boolean;
  limit?: undefined;
  permits?: undefined;
}

export interface PermitOptions {
  /**
   * How many permits the name has, for at most so many holders at once; at least 1. The same at every place: the latest call counts for all.
   * A name is used with `limit` or without, not both. The callers of one process queue one by one, as with `fairness: 'strict'`.
   * @default none: the lock is for one, or shared
   */
  limit: number;
  /**
   * How many permits this call takes at once; at least 1, at most `limit`.
   * @default 1
   */
  permits?: number;
  shared?: false;
}

export interface LockTerms {
  /**
   * How long the lock is granted when nothing renews it, i.e. how long the others wait after a crash.
   * Left out: the module's `lease`, renewed every third of it until the work ends. Given: fixed, the work must end within it, unless `renew: true`.
   * @default '30s', renewed
   */
  lease?: Duration;
  /**
   * The longest time in the queue. 0 = one try. `Infinity` = as long as it takes.
   * @default '10s'
   */
  wait?: Duration;
  /**
   * Whether a watchdog renews the lease while the work runs.
   * @default true when `lease` is left out, false when it is given
   */
  renew?: boolean;
  /**
   * The longest time a hold may last, renewed or not: then its signal aborts, renewal stops and the lease runs out.
   * A hung method must not hold a lock for ever.
   * @default none
   */
  maxHold?: Duration;
  /**
   * The shortest time from the grant in which nobody else gets the lock, also when the work was done sooner. The rest of it is left to the
   * backend: the call returns, the process may end. A job that every process starts at about the same time so runs once.
   * Work that lasts longer, and a crash (there the lease counts), are not held up by it.
   * @default 0: the lock is free as soon as the work is done
   */
  minHold?: Duration;
  /** Gives up waiting: the call rejects with `signal.reason`. Does not end a lock that is already held. */
  signal?: AbortSignal;
  /**
   * `handoff`: the callers of one process queue up inside it and stand in Redis as one; cheap, and fair between processes.
   * `strict`: every caller queues in Redis; first come, first served over all processes.
   * @default 'handoff'
   */
  fairness?: Fairness;
  /**
   * What happens when the work ended well although the lock was lost on the way: `throw` a LockLostError, or only `warn` in the log.
   * @default 'throw'
   */
  onLost?: OnLost;
}

export type Fairness = 'handoff' | 'strict';
export type OnLost = 'throw' | 'warn';

/** What can be said when a lock is adopted. What is left out is as for an acquisition. */
export interface AdoptOptions extends Pick<LockTerms, 'lease' | 'renew' | 'maxHold' | 'onLost'> {
  /**
   * For how long it is tried again while Redis does not answer. Nobody is waited for.
   * @default '10s'
   */
  wait?: Duration;
}

const adoptOptionNames = ['lease', 'wait', 'renew', 'maxHold', 'onLost'] as const;

/** Defaults of every acquisition, from the module's options. */
export interface LockDefaults {
  lease?: Duration;
  wait?: Duration;
  maxHold?: Duration;
  fairness?: Fairness;
  onLost?: OnLost;
}

/** LockOptions with every default filled in, in milliseconds. */
export interface ResolvedLockOptions extends LockDemand {
  readonly lease: number;
  readonly wait: number;
  readonly renew: boolean;
  readonly maxHold: number;
  readonly minHold: number;
  readonly signal: AbortSignal | undefined;
  readonly fairness: Fairness;
  readonly onLost: OnLost;
  /** Class and method that ask, for messages. */
  readonly where?: string;
  /** The same as the end of a claim's id (`methodSuffix`), made once for a method. */
  readonly method?: string;
}

/** The one place of the defaults; `docs/options.md` is compared with it by a test. */
export const lockDefaults: ResolvedLockOptions = {
  lease: 30_000,
  wait: 10_000,
  renew: true,
  maxHold: Number.POSITIVE_INFINITY,
  minHold: 0,
  signal: undefined,
  fairness: 'handoff',
  onLost: 'throw',
  ...exclusive,
};

/** Smallest lease in milliseconds: below, the round trip to Redis eats it up. */
export const minLease = 10;

/** Of a call. */
export const lockOptionNames = [
  'lease',
  'wait',
  'renew',
  'maxHold',
  'minHold',
  'signal',
  'fairness',
  'onLost',
  'shared',
  'limit',
  'permits',
] as const;
const defaultNames = ['lease', 'wait', 'maxHold', 'fairness', 'onLost'] as const;

/** The module's defaults over the library's. @throws LockConfigurationError naming the wrong option. */
export function resolveDefaults(defaults: LockDefaults): ResolvedLockOptions {
  const resolved = resolveOptions(pick(defaults, defaultNames), lockDefaults);
  // A lease that is given here only sets the default length; renewal is decided at the call.
  return { ...resolved, renew: true };
}

/**
 * One call's options over the defaults. Every property is read exactly once.
 * @throws LockConfigurationError naming the wrong option, and for an unknown one the nearest known.
 */
export function resolveOptions(options: LockOptions | undefined, defaults: ResolvedLockOptions): ResolvedLockOptions {
  if (options === undefined) return defaults;
  const { lease, wait, renew, maxHold, minHold, signal, fairness, onLost, ...kind } = readOptions(
    'options',
    options,
    lockOptionNames,
  );
  const demand = demandOf(kind);
  return {
    lease: lease === undefined ? defaults.lease : parseDuration('lease', lease, { min: minLease }),
    wait: wait === undefined ? defaults.wait : parseDuration('wait', wait, { min: 0, infinite: true }),
    renew: renew === undefined ? lease === undefined && defaults.renew : oneOf('renew', renew, [true, false]),
    maxHold: maxHold === undefined ? defaults.maxHold : parseDuration('maxHold', maxHold, { min: 1, infinite: true }),
    minHold: minHold === undefined ? defaults.minHold : parseDuration('minHold', minHold, { min: 0 }),
    signal: signal === undefined ? defaults.signal : abortSignal(signal),
    fairness: fairnessOf(demand, fairness, defaults),
    onLost: onLost === undefined ? defaults.onLost : oneOf('onLost', onLost, ['throw', 'warn']),
    kind: demand.kind,
    permits: demand.permits,
    limit: demand.limit,
  };
}

/** The same for an adoption, which knows fewer options. @throws LockConfigurationError */
export function resolveAdoption(options: AdoptOptions | undefined, defaults: ResolvedLockOptions): ResolvedLockOptions {
  if (options === undefined) return defaults;
  return resolveOptions(readOptions('options', options, adoptOptionNames) as LockOptions, defaults);
}

/** What the options say of the kind. @throws LockConfigurationError for what does not go together. */
function demandOf({ shared, limit, permits }: { [P in keyof PermitOptions]?: unknown }): LockDemand {
  const isShared = shared !== undefined && oneOf('shared', shared, [true, false]);
  if (limit === undefined) {
    if (permits !== undefined) throw inputRefusals.permitsWithoutLimit();
    return isShared ? { kind: 'shared', permits: 1, limit: 0 } : exclusive;
  }
  if (isShared) throw inputRefusals.sharedPermits();
  const count = wholeNumber('limit', limit, 1);
  const wanted = permits === undefined ? 1 : wholeNumber('permits', permits, 1);
  if (wanted > count) throw inputRefusals.tooManyPermits(wanted, count);
  return { kind: 'permits', permits: wanted, limit: count };
}

/** Who shares a lock has a claim of its own: there is nothing to pass on inside a process. */
function fairnessOf({ kind }: LockDemand, given: unknown, defaults: ResolvedLockOptions): Fairness {
  const fairness = given === undefined ? defaults.fairness : oneOf('fairness', given, ['handoff', 'strict']);
  return kind === 'exclusive' ? fairness : 'strict';
}

/** @throws LockConfigurationError unless it is a whole number, and large enough. */
export function wholeNumber(option: string, value: unknown, min: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return value;
  throw inputRefusals.noWholeNumber(option, value, min);
}

/**
 * A plain copy of an options object, each property read once, with unknown names refused.
 * @throws LockConfigurationError for anything but an object and for a name that is not in `known`.
 */
export function readOptions<const K extends string>(
  what: string,
  options: unknown,
  known: readonly K[],
): { [P in K]?: unknown } {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw inputRefusals.noObject(what, options);
  }
  const copy: { [P in K]?: unknown } = {};
  for (const name of Object.keys(options)) {
    if (!(known as readonly string[]).includes(name)) {
      throw inputRefusals.unknownOption(what, name, suggestion(name, known));
    }
    copy[name as K] = (options as Record<string, unknown>)[name];
  }
  return copy;
}

/** @throws LockConfigurationError unless `value` is one of `choices`. */
export function oneOf<const T>(option: string, value: unknown, choices: readonly T[]): T {
  if (choices.includes(value as T)) return value as T;
  throw inputRefusals.noChoice(option, value, choices.map((choice) => describe(choice)).join(' or '));
}

function abortSignal(value: unknown): AbortSignal {
  if (value instanceof AbortSignal) return value;
  throw inputRefusals.noSignal(value);
}

function pick<K extends string>(source: object, names: readonly K[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of names) {
    const value = (source as Record<string, unknown>)[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

/** 'Did you mean …?' for a misspelt name, else the list of names. Also used for parameter names in templates. */
export function suggestion(name: string, known: readonly string[]): string {
  const nearest = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  if (nearest && nearest.distance <= Math.max(1, Math.floor(name.length / 3)))
    return `Did you mean '${nearest.candidate}'?`;
  return known.length === 0 ? '' : `Known: ${known.join(', ')}.`;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
