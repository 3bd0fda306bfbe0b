/** What is measured of locks. Both adapters make their instruments from these, so one dashboard fits both. */
export interface LockInstrument {
  /** As in OpenTelemetry. Prometheus writes `_` for `.`, and adds the unit and `_total`. */
  readonly name: string;
  /** An `updowncounter` may be added up over processes, a `gauge` may not. Both are read when they are collected. */
  readonly kind: 'histogram' | 'counter' | 'updowncounter' | 'gauge';
  readonly unit: string;
  readonly description: string;
  /** Upper limits, of a histogram. */
  readonly buckets?: readonly number[];
  /** Of a gauge: which one of several worker processes of one application counts. */
  readonly ofWorkers?: 'min' | 'max';
  /** Names of all attributes that a measurement may have. */
  readonly attributes: readonly string[];
}

const lock = ['redis_lock.name', 'redis_lock.connection', 'redis_lock.kind'] as const;

/** Times are in seconds. An instrument of the unit '1' is a share. */
export const instruments = {
  waitTime: {
    name: 'redis_lock.wait_time',
    kind: 'histogram',
    unit: 's',
    description: 'Time from the request for a lock to the grant or the refusal.',
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
    attributes: [...lock, 'redis_lock.outcome', 'error.type', 'redis_lock.blocked_by'],
  },
  holdTime: {
    name: 'redis_lock.hold_time',
    kind: 'histogram',
    unit: 's',
    description: 'Time from the grant of a lock to the end of the work.',
    buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1800],
    attributes: [...lock, 'redis_lock.outcome'],
  },
  held: {
    name: 'redis_lock.held',
    kind: 'updowncounter',
    unit: '{lock}',
    description: 'Locks that this process holds now.',
    attributes: lock,
  },
  waiting: {
    name: 'redis_lock.waiting',
    kind: 'updowncounter',
    unit: '{caller}',
    description: 'Callers of this process that wait for a lock now.',
    attributes: lock,
  },
  leader: {
    name: 'redis_lock.leader',
    // Of all processes together there should be 1.
    kind: 'updowncounter',
    unit: '{leader}',
    description: 'Whether this process leads an election that it stands for: 1 or 0.',
    attributes: lock,
  },
  contentions: {
    name: 'redis_lock.contentions',
    kind: 'counter',
    unit: '{contention}',
    description: 'Requests that did not get their lock at once, counted when they end.',
    attributes: [...lock, 'redis_lock.blocked_by'],
  },
  lost: {
    name: 'redis_lock.lost',
    kind: 'counter',
    unit: '{lock}',
    description: 'Locks that were lost while their holder worked.',
    attributes: [...lock, 'redis_lock.reason'],
  },
  lastLost: {
    name: 'redis_lock.lost.timestamp',
    // It differs from loss to loss, also where the process restarted between two of them and its counter began again.
    kind: 'gauge',
    ofWorkers: 'max',
    unit: 's',
    description: 'When a lock was last lost while its holder worked, in seconds since 1970.',
    attributes: [...lock, 'redis_lock.reason'],
  },
  handOffs: {
    name: 'redis_lock.handoffs',
    kind: 'counter',
    unit: '{handoff}',
    description: 'Locks that one holder passed on to the next without a gap: inside a process, or to another one.',
    attributes: [...lock, 'redis_lock.scope'],
  },
  renewals: {
    name: 'redis_lock.renewals',
    kind: 'counter',
    unit: '{renewal}',
    description: 'Renewals of leases.',
    attributes: [...lock, 'redis_lock.outcome'],
  },
  leaseLeft: {
    name: 'redis_lock.lease.left',
    kind: 'histogram',
    // Leases of different lengths can have one label. Their shares can be added up.
    unit: '1',
    description:
      'The share of a lease that was left when the reply to its renewal came: about two thirds, and little before a loss.',
    buckets: [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
    attributes: [...lock, 'redis_lock.outcome'],
  },
  forceReleases: {
    name: 'redis_lock.force_releases',
    kind: 'counter',
    unit: '{lock}',
    description: 'Locks that `forceRelease` took from their holders, counted in the process that called it.',
    attributes: lock,
  },
  available: {
    name: 'redis_lock.available',
    kind: 'gauge',
    ofWorkers: 'min',
    // A gauge of the unit '1' would be a `_ratio` in Prometheus.
    unit: '{server}',
    description: 'Whether a connection to a server is ready for locks: 1 or 0.',
    attributes: ['redis_lock.connection', 'redis_lock.server'],
  },
} as const satisfies Record<string, LockInstrument>;

/** What is read when metrics are collected. */
export type LockGauge = (typeof instruments)['held' | 'waiting' | 'leader' | 'lastLost' | 'available'];
