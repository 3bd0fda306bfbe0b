import { partyOf } from '../core/claim-id.js';
import type { Hold } from '../core/hold.js';
import type { LockClient } from '../core/lock-client.js';
import type { LockFinding } from '../diagnostics/lock-finding.js';
import { Turns } from '../diagnostics/turns.js';
import { LockConfigurationError } from '../errors/lock-errors.js';
import {
  brief,
  decodeActivity,
  encodeActivity,
  type Listed,
  type LockIncident,
  type ProcessActivity,
  shortened,
} from './activity-record.js';
import type { LockHealthReason } from './health.js';
import { HotNames } from './hot-names.js';
import type { LiveLocks, LiveWaits } from './live-locks.js';
import type { ForceRelease } from './lock-views.js';
import { operatorLines, viewRefusals } from './operators.messages.js';

/** Milliseconds between two samples, and between two reports of a process whose callers wait. */
const samplePause = 1_000;
const reportPause = 5_000;
/** Between two reports while nothing changes, such as during a long hold: a report that is not repeated expires. */
const repeatPause = 30_000;
/** A sample of very many locks takes at most this part of the time. */
const share = 1 / 50;
/** A report lasts for so many of its pauses: a process that stands still for a moment stays known. */
const pausesKept = 3;
/** How many incidents are remembered, and for how long (ms). */
const mostIncidents = 20;
const incidentMemory = 15 * 60_000;
const mostFindings = 10;
const longestMessage = 400;
/** Entries of a list in a sample. */
const most = 10;
/** Names that follow in short. */
const mostFurther = 100;

/** What the processes of a fleet tell. */
export interface FleetActivity {
  /** How many processes have something to tell. */
  readonly total: number;
  readonly processes: ReadonlyArray<ProcessActivity & { /** ms since it told */ readonly age: number }>;
}

/** To read a text is like so many small steps. */
const textWeight = 64;

const noWaits: LiveWaits = { contended: { first: [], more: 0 }, callers: new Map() };

/**
 * What operators see of a fleet: each process writes one small record of its own, and only while there is something to tell. It samples
 * live state now and then. Taking and releasing a lock does not know of it.
 */
export class Activity {
  private readonly hot = new HotNames();
  private incidents: Array<Omit<LockIncident, 'ago'> & { readonly at: number }> = [];
  private findings: LockFinding[] = [];
  private waits = noWaits;
  private sampledAt: number;
  private reportedAt = Number.NEGATIVE_INFINITY;
  /** What the last report was about; undefined when there is none. */
  private reported: string | undefined;
  private stopTimer: (() => void) | undefined;
  private isStopped = false;

  /** Hidden: loggers reach this object from a connection, and the client has its id. */
  readonly #client: LockClient;

  /** @param problems what is wrong with its connection */
  constructor(
    client: LockClient,
    readonly live: LiveLocks,
    private readonly problems: () => readonly LockHealthReason[],
  ) {
    this.#client = client;
    this.sampledAt = client.clock.now();
  }

  /** True while it tells other processes. */
  get isStarted(): boolean {
    return this.stopTimer !== undefined && !this.isStopped;
  }

  /** Samples and reports from now on, until `stop`. */
  start(): void {
    this.arm(samplePause);
  }

  stop(): void {
    this.isStopped = true;
    this.stopTimer?.();
  }

  lost({ name: key, fencingToken, lost, options }: Hold): void {
    const { template: name, method, label } = this.#client.observation.subjectOf(key, options);
    this.remember({ type: 'lost', at: this.now, key, name, fencingToken, lost: lost!.reason, method, label });
  }

  forced({ key, template: name, holders: [holder], actor, reason }: ForceRelease): void {
    const { method, label, fencingToken } = holder!;
    this.remember({ type: 'forced', at: this.now, key, name, fencingToken, method, label, actor, reason });
  }

  found(finding: LockFinding): void {
    if (this.findings.length < mostFindings)
      this.findings.push({ ...finding, message: finding.message.slice(0, longestMessage) });
  }

  /** What this process would tell now. */
  async own(): Promise<ProcessActivity> {
    const waits = await this.sample();
    const { client, host: name, pid } = partyOf(this.#client.id);
    const now = this.now;
    this.incidents = this.incidents.filter(({ at }) => now - at < incidentMemory);
    return {
      client,
      host: name,
      pid,
      held: this.#client.counts.held,
      waiting: [...waits.callers.values()].reduce((sum, callers) => sum + callers, 0),
      contended: shortened(waits.contended, most),
      further: waits.contended.first.slice(most).map(brief),
      ...(await this.live.holds(most)),
      hot: this.hot.listed(now),
      incidents: whole(this.incidents.map(({ at, ...incident }) => ({ ...incident, ago: Math.floor(now - at) }))),
      findings: whole(this.findings),
      problems: this.problems(),
    };
  }

  /** @param processes how many at most, those with the longest waits; @param turns counts the work, without the wait for an answer */
  async fleet(processes: number, turns = new Turns()): Promise<FleetActivity> {
    const { backend } = this.#client;
    if (!backend.reports) throw viewRefusals.notProvided('The activity of the fleet');
    turns.interrupt();
    const { total, reports } = await backend.reports(processes).finally(() => turns.resume());
    const found: Array<FleetActivity['processes'][number]> = [];
    const read = ({ text, age }: (typeof reports)[number]): void => {
      const activity = decodeActivity(text);
      if (activity) found.push({ ...activity, age });
    };
    await turns.each(reports, read, textWeight);
    return { total, processes: found };
  }

  private get now(): number {
    return this.#client.clock.now();
  }

  /** In no request's async context. Never rejects. */
  private async turn(): Promise<void> {
    const begin = this.now;
    if (this.#client.counts.waiting > 0 || this.waits !== noWaits) await this.sample();
    const took = this.now - begin;
    if (!this.isStopped && this.now - this.reportedAt >= reportPause) await this.report();
    this.arm(Math.max(samplePause, took / share));
  }

  private arm(pause: number): void {
    if (!this.isStopped) this.stopTimer = this.#client.clock.timer(pause, () => void this.turn(), true);
  }

  private async sample(): Promise<LiveWaits> {
    const now = this.now;
    this.waits = this.#client.counts.waiting > 0 ? await this.live.waits(most + mostFurther) : noWaits;
    this.hot.add(now, this.waits.callers, Math.max(0, Math.min(now - this.sampledAt, reportPause)));
    this.sampledAt = now;
    return this.waits;
  }

  private async report(): Promise<void> {
    const { backend, log, observation } = this.#client;
    const { held, waiting: callers } = this.#client.counts;
    const isSilent = held + callers + this.incidents.length + this.findings.length === 0;
    if (!backend.report || (isSilent && this.hot.isEmpty && this.reported === undefined)) return;
    const activity = await this.own();
    const about = subjectsOf(activity);
    const isBusy = activity.contended.first.length > 0;
    if (about === undefined && this.reported === undefined) return;
    if (!isBusy && about === this.reported && this.now - this.reportedAt < repeatPause) return;
    this.reported = about;
    this.reportedAt = this.now;
    const { client, host, pid } = activity;
    const lasts = about === undefined ? 0 : pausesKept * (isBusy ? reportPause : repeatPause);
    const [waiting] = activity.contended.first;
    try {
      await backend.report({
        process: `${client}.${host}.${pid}`,
        text: about === undefined ? '' : encodeActivity(activity),
        rank: waiting ? waiting.longest : 0,
        lasts,
      });
    } catch (error) {
      // Locks go on. An outage is reported elsewhere.
      if (!(error instanceof LockConfigurationError)) return;
      log.warn(operatorLines.refused(observation.connection, error.message));
      this.stop();
    }
  }

  private remember(incident: (typeof this.incidents)[number]): void {
    this.incidents = [incident, ...this.incidents].slice(0, mostIncidents);
  }
}

const whole = <T>(first: readonly T[]): Listed<T> => ({ first, more: 0 });

/** What is worth a report, without what changes with time alone. Undefined: nothing is. */
function subjectsOf({ contended, leads, long, hot, incidents, findings }: ProcessActivity): string | undefined {
  const lists = [
    contended.first.map(({ key }) => key),
    [...leads.first, ...long.first].map(({ fencingToken }) => fencingToken),
    hot.first.map(({ name }) => name),
    incidents.first.length,
    findings.first.filter(({ remark }) => !remark).length,
  ];
  return lists.flat().some(Boolean) ? JSON.stringify(lists) : undefined;
}
