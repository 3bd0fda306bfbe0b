import { type Clock, pauseFor } from '../core/clock.js';
import { describe, errorText } from '../errors/describe.js';
import type { LockHandle } from '../core/lock-handle.js';
import type { LockLog } from '../core/lock-log.js';
import type { ResolvedLockOptions } from '../core/options.js';
import { electionLines as lines, stepDowns } from './leader.messages.js';
import type { CampaignOptions, Leadership } from './leadership.js';
import { Term } from './term.js';

/** Milliseconds: how often `candidate` is called. */
const fitnessCheck = 1_000;
/** Milliseconds: the first pause before another attempt, and the longest. A random half of each pause is left out. */
const [firstPause, longestPause] = [1_000, 30_000];

/** What a campaign needs from its election. */
export interface CampaignHost {
  readonly name: string;
  readonly clock: Clock;
  readonly log: LockLog;
  acquire(options: ResolvedLockOptions): Promise<LockHandle>;
  /** Of all campaigns of this election. */
  readonly pace: Pace;
  /** A term of this campaign begins, or has ended and its lock is released. */
  turned(): void;
}

/**
 * The pauses between the attempts of one process for one election. A campaign that is stopped and begun again in a loop must not be faster
 * than one that fails again and again.
 */
export class Pace {
  /** Attempts in a row that were short: failed, stopped, or with a term that ended early. */
  private shortAttempts = 0;
  /** `Clock.now()` from which the next one may begin. */
  notBefore = Number.NEGATIVE_INFINITY;

  /** @param wasStopped by the application, which may begin another campaign at once, one time */
  attempted(begunAt: number, now: number, wasStopped: boolean): void {
    if (now - begunAt >= longestPause) this.shortAttempts = 0;
    const most = Math.min(longestPause, firstPause * 2 ** this.shortAttempts++);
    if (!wasStopped || this.shortAttempts > 1) this.notBefore = now + (most * (1 + Math.random())) / 2;
  }
}

/**
 * One candidate: it joins the line, leads, steps down, pauses, and joins the line again, until it is stopped. A new attempt begins only when
 * all work of the last term has settled.
 */
export class Campaign {
  /** From the election until the lock is released. */
  term: Term | undefined;
  private attempt: AbortController | undefined;
  private isStopped = false;
  private endPause: (() => void) | undefined;
  private endChecks: (() => void) | undefined;
  private endLingering: (() => void) | undefined;
  /** What was logged last of a failure, or of `candidate`. */
  private toldFailure: string | undefined;
  private toldUnclear: string | undefined;

  /** @param terms of the lock, without the signal */
  constructor(
    private readonly host: CampaignHost,
    readonly terms: ResolvedLockOptions,
    private readonly lead: (leadership: Leadership) => unknown,
    private readonly options: Pick<CampaignOptions, 'candidate' | 'onElected' | 'onStepDown'>,
  ) {}

  /** Of its request for the lock. */
  get signal(): AbortSignal | undefined {
    return this.attempt?.signal;
  }

  /** Settles when the campaign was stopped and its last work has settled. Never rejects. */
  async run(): Promise<void> {
    const { clock, pace } = this.host;
    if (this.isStopped) return this.endInTime();
    while (!this.isStopped) {
      const rest = pace.notBefore - clock.now();
      if (rest > 0 || !this.isFit()) {
        await this.pause(rest > 0 ? rest : fitnessCheck);
        continue;
      }
      const begunAt = clock.now();
      // By `candidate`.
      if (!this.isStopped) await this.stand();
      pace.attempted(begunAt, clock.now(), this.isStopped);
    }
  }

  /** It was stopped before it began. A loop that begins the next one must not keep the process from all else, such as its shutdown. */
  private async endInTime(): Promise<void> {
    const { clock, pace } = this.host;
    const rest = pace.notBefore - clock.now();
    if (rest > 0) await new Promise<void>((resolve) => clock.timer(rest, resolve, true));
    const now = clock.now();
    pace.attempted(now, now, true);
  }

  stop(reason: unknown): void {
    this.isStopped = true;
    this.leave(reason);
    // A function that ignores its signal must not keep timers.
    this.endPause?.();
    this.endChecks?.();
    this.endLingering?.();
  }

  /** One attempt: from the end of the line to the end of the term. */
  private async stand(): Promise<void> {
    const attempt = (this.attempt = new AbortController());
    const { signal } = attempt;
    this.checkFitness();
    const begunAt = this.host.clock.now();
    try {
      const lock = await this.host.acquire({ ...this.terms, signal });
      try {
        // Much may have changed since the process joined the line, and `candidate` may change more.
        if (this.isFit() && !signal.aborted && lock.isHeld) await this.govern(lock);
      } finally {
        await lock.release();
        this.term = undefined;
        this.host.turned();
      }
    } catch (error) {
      if (!signal.aborted) this.failed(error as Error, begunAt);
    } finally {
      this.endChecks?.();
    }
  }

  private async govern(lock: LockHandle): Promise<void> {
    const { name, clock, log } = this.host;
    const term = new Term(
      lock,
      () => stepDowns.resigned(name),
      (reason) => this.steppedDown(lock, reason),
    );
    const { leadership } = term;
    const { signal, epoch } = leadership;
    this.term = term;
    this.toldFailure = undefined;
    log.log(lines.elected(name, epoch));
    this.host.turned();
    const { onElected } = this.options;
    if (onElected) this.callHook('onElected', () => onElected(leadership));
    const begunAt = clock.now();
    try {
      // The hook may have resigned.
      if (term.isLeading) await term.run(async () => this.lead(leadership));
      if (term.isLeading && clock.now() - begunAt < firstPause) log.warn(lines.short(name));
    } catch (error) {
      if (!isEndBy(signal, error)) log.error(lines.failed(name, error));
    }
    term.end(stepDowns.finished(name));
    await term.settled();
    this.endLingering?.();
  }

  private steppedDown(lock: LockHandle, reason: unknown): void {
    const { name, clock, log } = this.host;
    const { lease } = this.terms;
    log.log(lines.steppedDown(name, lock.fencingToken, reason));
    this.endLingering = clock.timer(lease, () => log.warn(lines.lingers(name, lease)));
    const { onStepDown } = this.options;
    if (onStepDown) this.callHook('onStepDown', () => onStepDown(reason));
  }

  /** Out of the line, or of the office. */
  private leave(reason: unknown): void {
    this.attempt?.abort(reason);
    this.term?.end(reason);
  }

  private isFit(): boolean {
    const { candidate } = this.options;
    if (!candidate) return true;
    let problem: string;
    try {
      const given: unknown = candidate();
      if (typeof given === 'boolean') {
        this.toldUnclear = undefined;
        return given;
      }
      // An async function: its error must not end the process.
      Promise.resolve(given).catch(() => undefined);
      problem = `it returned ${describe(given)}`;
    } catch (error) {
      problem = `it threw ${errorText(error)}`;
    }
    if (this.toldUnclear !== problem) this.host.log.error(lines.unclear(this.host.name, problem));
    this.toldUnclear = problem;
    return false;
  }

  private checkFitness(): void {
    if (!this.options.candidate) return;
    this.endChecks = this.host.clock.timer(fitnessCheck, () => {
      if (!this.isFit()) this.leave(stepDowns.unfit(this.host.name));
      if (!this.isStopped) this.checkFitness();
    });
  }

  private failed({ message }: Error, begunAt: number): void {
    const { name, clock, log } = this.host;
    // It was in the line for long: this is another failure than the last one.
    if (clock.now() - begunAt >= longestPause) this.toldFailure = undefined;
    if (this.toldFailure !== message) log.warn(lines.unavailable(name, message));
    this.toldFailure = message;
  }

  private callHook(hook: string, call: () => unknown): void {
    const failed = (error: unknown): void => this.host.log.error(lines.hookFailed(this.host.name, hook, error));
    try {
      // An async function must not end the process either.
      Promise.resolve(call()).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  private async pause(ms: number): Promise<void> {
    await pauseFor(this.host.clock, ms, (end) => (this.endPause = end));
    this.endPause = undefined;
  }
}

/** True for an error of work that ended because the signal aborted. */
function isEndBy(signal: AbortSignal, error: unknown): boolean {
  try {
    return signal.aborted && (error === signal.reason || (Object(error) as Error).name === 'AbortError');
  } catch {
    // A getter of the application's error.
    return false;
  }
}
