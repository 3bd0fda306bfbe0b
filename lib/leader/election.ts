import { callerSuffix } from '../core/claim-id.js';
import type { Clock } from '../core/clock.js';
import { type Inspect, inspectCustom } from '../errors/describe.js';
import { parseDuration } from '../core/duration.js';
import type { LockClient } from '../core/lock-client.js';
import type { LockHandle } from '../core/lock-handle.js';
import type { LockHolderInfo } from '../core/lock-info.js';
import type { LockLog } from '../core/lock-log.js';
import type { LockScope } from '../core/lock.js';
import type { OwnElection } from '../operators/live-locks.js';
import type { SeenHolder } from '../operators/lock-views.js';
import { electionLabelOf } from '../diagnostics/name-kind.js';
import { onAbort } from '../core/on-abort.js';
import { type ResolvedLockOptions, resolveOptions } from '../core/options.js';
import { abortSignal, readOptions } from '../errors/read-options.js';
import { inRoot } from '../core/root-context.js';
import { located } from '../errors/configuration.js';
import { Campaign, type CampaignHost, Pace } from './campaign.js';
import { electionRefusals as refusals, stepDowns } from './leader.messages.js';
import { LeaderWatch, type LeaderWatchHost } from './leader-watch.js';
import type { CampaignOptions, Election, Leadership, ObserveOptions } from './leadership.js';

/** Milliseconds. */
const defaultPoll = 5_000;
const leastPoll = 100;

const campaignOptions = ['signal', 'candidate', 'lease', 'onElected', 'onStepDown'] as const;

/** What it needs from its connection. */
interface ElectionHost {
  readonly client: LockClient;
  acquire(name: string, options: ResolvedLockOptions): Promise<LockHandle>;
  holder(name: string): Promise<SeenHolder | undefined>;
}

/** The elections of one client, one of each name: all modules of an application share them. */
export class Elections {
  readonly byName = new Map<string, LocalElection>();

  constructor(private readonly host: ElectionHost) {}

  of(name: string): LocalElection {
    let election = this.byName.get(name);
    if (!election) this.byName.set(name, (election = new LocalElection(name, this.host)));
    return election;
  }

  /** Ends all campaigns: the process steps down where it leads, and leaves the lines. */
  close(): void {
    for (const election of this.byName.values()) election.close();
  }
}

/** One election on one client. */
export class LocalElection implements Election, OwnElection, CampaignHost, LeaderWatchHost {
  private campaigning: Campaign | undefined;
  /** True when the campaign runs for methods with `@LeaderOnly`, and gives way to another one. */
  private isStandIn = false;
  /** Settles when no campaign runs. */
  private ended: Promise<void> = Promise.resolve();
  /** A campaign of the application's own was here: the methods with `@LeaderOnly` are its. */
  private hasOwn = false;
  private closed = false;
  /** Of its lock, in the latest campaign. */
  terms: ResolvedLockOptions | undefined;
  /** Those whose callers wait for the next leader. */
  readonly watches = new Set<LeaderWatch>();
  readonly pace = new Pace();
  /** Terms of this process that have begun or ended. */
  turns = 0;
  /** Hidden from loggers: behind it are passwords. */
  readonly #host: ElectionHost;

  constructor(
    readonly name: string,
    host: ElectionHost,
  ) {
    this.#host = host;
  }

  get clock(): Clock {
    return this.#host.client.clock;
  }

  get log(): LockLog {
    return this.#host.client.log;
  }

  get isClosed(): boolean {
    return this.closed || this.#host.client.isClosing;
  }

  get isLeader(): boolean {
    return this.campaigning?.term?.isLeading ?? false;
  }

  async leader(): Promise<LockHolderInfo | undefined> {
    return (await this.holder())?.holder;
  }

  observe(options: ObserveOptions = {}): AsyncIterableIterator<LockHolderInfo | undefined> {
    const { signal, poll } = located('Election.observe', () => {
      const given = readOptions('options', options, ['signal', 'poll']);
      return {
        signal: given.signal === undefined ? undefined : abortSignal(given.signal),
        poll: given.poll === undefined ? defaultPoll : parseDuration('poll', given.poll, { min: leastPoll }),
      };
    });
    return new LeaderWatch(this, poll, signal);
  }

  /** @param where class and method, for people */
  campaign(lead: (leadership: Leadership) => unknown, options?: CampaignOptions, where?: string): Promise<void> {
    const { signal, terms, hooks } = located('Election.campaign', () => {
      const checked = this.resolve(lead, options, where);
      if (this.campaigning && !this.isStandIn) throw refusals.campaigning(this.name);
      return checked;
    });
    this.hasOwn = true;
    const before = this.ended;
    this.campaigning?.stop(stepDowns.withdrawn(this.name));
    this.isStandIn = false;
    return this.begin(new Campaign(this, terms, lead, hooks), before, signal);
  }

  /** Makes the process a candidate, unless the application has a campaign of its own. */
  standIn(where: string): void {
    if (this.hasOwn || this.campaigning || this.isClosed) return;
    const { terms } = this.resolve(untilTheEnd, undefined, where);
    this.isStandIn = true;
    void this.begin(new Campaign(this, terms, untilTheEnd, {}), this.ended, undefined);
  }

  /**
   * Enters the lock of the leader's term: the next leader is elected when it was left.
   * @returns undefined where another process leads
   */
  enter(): LockScope | undefined {
    const term = this.campaigning?.term;
    if (!term?.isLeading) return undefined;
    return term.enter(this.#host.client.current(this.name)?.fencingToken === term.leadership.epoch);
  }

  close(): void {
    this.closed = true;
    this.campaigning?.stop(stepDowns.shutdown(this.name));
    for (const watch of this.watches) watch.end();
  }

  isCandidate({ signal }: ResolvedLockOptions): boolean {
    return signal !== undefined && signal === this.campaigning?.signal;
  }

  acquire(options: ResolvedLockOptions): Promise<LockHandle> {
    return this.#host.acquire(this.name, options);
  }

  holder(): Promise<SeenHolder | undefined> {
    return this.#host.holder(this.name);
  }

  turned(): void {
    this.turns++;
    for (const watch of this.watches) watch.turned();
  }

  toJSON(): object {
    return { name: this.name, isLeader: this.isLeader };
  }

  [inspectCustom](_depth: number, options: object, inspect: Inspect): string {
    return `Election ${inspect(this.toJSON(), options)}`;
  }

  private begin(campaign: Campaign, before: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    this.campaigning = campaign;
    this.terms = campaign.terms;
    const withdraw = (): void => campaign.stop(signal!.reason);
    const run = async (): Promise<void> => {
      await before;
      if (this.isClosed) campaign.stop(stepDowns.shutdown(this.name));
      else if (signal?.aborted) withdraw();
      const stopListening = signal && onAbort(signal, withdraw);
      await campaign.run();
      stopListening?.();
      if (this.campaigning === campaign) this.campaigning = undefined;
    };
    // The caller may be a request, or hold a lock.
    return (this.ended = inRoot(run));
  }

  private resolve(lead: unknown, options: CampaignOptions | undefined, where: string | undefined) {
    if (typeof lead !== 'function') throw refusals.noWork(lead);
    const { signal, lease, ...hooks } = readOptions('options', options ?? {}, campaignOptions) as CampaignOptions;
    for (const [option, hook] of Object.entries(hooks))
      if (hook !== undefined && typeof hook !== 'function') throw refusals.noFunction(option, hook);
    const { defaults } = this.#host.client;
    const unbounded = {
      wait: Infinity,
      maxHold: Infinity,
      minHold: 0,
      renew: true,
      onLost: 'warn',
      release: 'answered',
    } as const;
    const resolved = resolveOptions({ lease: lease ?? defaults.lease, ...unbounded }, defaults);
    const caller = where === undefined ? {} : { method: where, callerSuffix: callerSuffix(where) };
    return {
      signal: signal === undefined ? undefined : abortSignal(signal),
      terms: { ...resolved, ...caller, templates: [electionLabelOf(this.name)] },
      hooks,
    };
  }
}

/** Leads for methods with `@LeaderOnly`. */
const untilTheEnd = ({ signal }: Leadership): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
