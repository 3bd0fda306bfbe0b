import { type LockGauge, type LockInstrument, instruments } from './instruments.js';
import { listen } from './listen.js';
import { LockGauges, type LockReading } from './lock-gauges.js';
import { type LabelSet, type LockLabelOptions, LockLabels } from './lock-labels.js';

/** Gets each measurement of histograms and counters. */
interface LockSink {
  record(instrument: LockInstrument, value: number, labels: LabelSet): void;
}

export interface LockMetrics {
  /** A gauge as it is now. */
  read(gauge: LockGauge): Iterable<LockReading>;
  /** Ends the subscriptions. */
  stop(): void;
}

/** The mapping from channels to instruments. Subscribes until `stop`. */
export function observeLocks(sink: LockSink, options: LockLabelOptions = {}): LockMetrics {
  const labels = new LockLabels(options);
  const gauges = new LockGauges(labels);
  const stop = listen({
    'tracing:nestjs-redis-lock:acquire:asyncEnd': (request) => {
      const { outcome, error, waited = 0, contended, holder, handOff } = request;
      // The caller does not see this step of its call for several names.
      if (outcome === undefined || outcome === 'retried') return;
      const lock = labels.of(request);
      const blocked = contended ? labels.blockedBy(lock, holder?.method) : lock;
      const ended = blocked.with('redis_lock.outcome', outcome);
      sink.record(
        instruments.waitTime,
        waited / 1000,
        outcome === 'acquired' ? ended : labels.failedWith(ended, error),
      );
      if (contended) sink.record(instruments.contentions, 1, blocked);
      if (handOff) sink.record(instruments.handOffs, 1, lock.with('redis_lock.scope', handOff));
    },
    'tracing:nestjs-redis-lock:hold:asyncEnd': (hold) => {
      const { held = 0, outcome = 'released' } = hold;
      sink.record(instruments.holdTime, held / 1000, labels.of(hold).with('redis_lock.outcome', outcome));
    },
    'tracing:nestjs-redis-lock:hold:error': (hold) => {
      const lost = labels.of(hold).with('redis_lock.reason', hold.error!.reason);
      sink.record(instruments.lost, 1, lost);
      gauges.lost(lost);
    },
    'nestjs-redis-lock:renewed': (renewal) => {
      const ended = labels.of(renewal).with('redis_lock.outcome', renewal.outcome);
      sink.record(instruments.renewals, 1, ended);
      if (!renewal.provisional) sink.record(instruments.leaseLeft, renewal.leaseLeft / renewal.lease, ended);
    },
    'nestjs-redis-lock:force-released': (release) => {
      sink.record(instruments.forceReleases, 1, labels.of(release));
    },
  });
  return { read: (gauge) => gauges.read(gauge), stop };
}
