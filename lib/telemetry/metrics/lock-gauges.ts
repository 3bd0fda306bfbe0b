import type { LockSubject } from '../../diagnostics/channels.js';
import type { LiveConnection } from '../../diagnostics/live-connections.js';
import { type LockGauge, instruments } from './instruments.js';
import type { LabelSet, LockAttributes, LockLabels } from './lock-labels.js';

export interface LockReading {
  value: number;
  readonly attributes: LockAttributes;
}

/** As in live-connections.ts, which is not imported: it would load the library, and with it what is to be instrumented first. */
const place = Symbol.for('nestjs-redis-lock.connections');
const liveConnections = (): Iterable<LiveConnection> => (globalThis as { [place]?: Set<LiveConnection> })[place] ?? [];

/** Reads live state, so the values never drift. Of losses the time is kept. */
export class LockGauges {
  private readonly losses = new Map<LabelSet, LockReading>();
  /** What had a value before. */
  private readonly seen = new Set<LabelSet>();

  constructor(private readonly labels: LockLabels) {}

  lost(labels: LabelSet): void {
    this.losses.set(labels, { value: Date.now() / 1000, attributes: labels.attributes });
  }

  /** What had a value before has 0: a series that only ends would be drawn with its last value for minutes. */
  read(gauge: LockGauge): Iterable<LockReading> {
    if (gauge === instruments.available) return this.servers();
    if (gauge === instruments.lastLost) return this.losses.values();
    return gauge === instruments.leader ? this.leaders() : this.locks(gauge);
  }

  private locks(gauge: LockGauge): Iterable<LockReading> {
    const connections = [...liveConnections()];
    const open = new Set(connections.map(({ connection }) => connection));
    const readings = new Map<LabelSet, LockReading>();
    for (const labels of this.seen) {
      const { attributes } = labels;
      if (open.has(attributes['redis_lock.connection']!)) readings.set(labels, { value: 0, attributes });
    }
    for (const lock of connections.flatMap((connection) => [...locksOf(connection, gauge)])) {
      const labels = this.labels.of(lock);
      this.seen.add(labels);
      readings.set(labels, { value: (readings.get(labels)?.value ?? 0) + 1, attributes: labels.attributes });
    }
    return readings.values();
  }

  private leaders(): Iterable<LockReading> {
    const readings = new Map<LabelSet, LockReading>();
    for (const connection of liveConnections()) {
      for (const [lock, isLeader] of connection.candidacies()) {
        const labels = this.labels.of(lock);
        const value = (readings.get(labels)?.value ?? 0) + (isLeader ? 1 : 0);
        readings.set(labels, { value, attributes: labels.attributes });
      }
    }
    return readings.values();
  }

  /** Two connections of one name: a server is available when it is for both. */
  private servers(): Iterable<LockReading> {
    const readings = new Map<string, LockReading>();
    for (const live of liveConnections()) {
      for (const [server, isAvailable] of live.availability()) {
        const attributes = { 'redis_lock.connection': live.connection, 'redis_lock.server': server };
        const key = JSON.stringify(attributes);
        readings.set(key, { value: Math.min(readings.get(key)?.value ?? 1, isAvailable ? 1 : 0), attributes });
      }
    }
    return readings.values();
  }
}

const locksOf = (connection: LiveConnection, gauge: LockGauge): Iterable<LockSubject> =>
  gauge === instruments.held ? connection.heldLocks() : connection.waitingCallers();
