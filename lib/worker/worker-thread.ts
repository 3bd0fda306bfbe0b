// oxlint-disable-next-line unicorn/prefer-node-protocol -- webpack makes a file for the thread only with this name of the module
import { Worker } from 'worker_threads';
import type { ResolvedConnectionOptions } from '../connection/resolve-connection.js';
import { systemClock } from '../core/clock.js';
import { errorText } from '../errors/describe.js';
import type { Hold } from '../core/hold.js';
import type { LockLog } from '../core/lock-log.js';
import type { RenewalWorker, RenewalWorkerEvents } from '../core/renewal-worker.js';
import { inRoot } from '../core/root-context.js';
import { SignOfLife } from './lease-memory.js';
import { SharedClock } from './shared-clock.js';
import { WatchedLease } from './worker-lease.js';
import { workerLines, workerRefusals } from './worker.messages.js';
import type { WatchMessage, WorkerMessage, WorkerStart } from './worker-messages.js';
import { cloneableOptions } from './cloneable-options.js';

/** The most time (ms) between two signs of life, and how many there are within `stallLimit` at least. */
const longestSilence = 1_000;
const signsWithinLimit = 4;
/** Pauses (ms) before another worker takes the place of one that has died: twice the last one, unless it lived for longer than the longest. */
const shortestPause = 1_000;
const longestPause = 60_000;

/** Settles when the thread runs. @throws LockConfigurationError where there can be none */
export async function startRenewalWorker(
  options: ResolvedConnectionOptions,
  log: LockLog,
  events: RenewalWorkerEvents,
): Promise<RenewalWorker> {
  const worker = new WorkerThread(cloneableOptions(options), options.stallLimit, log, events);
  await worker.start();
  return worker;
}

/** The worker of one connection. While it runs, or another one is to take its place, this thread renews all leases as without it. */
class WorkerThread implements RenewalWorker {
  private readonly time = new SharedClock(systemClock);
  private readonly signOfLife = new SignOfLife();
  /** The holds that it watches over, in this thread's order. */
  private readonly leases = new Map<number, WatchedLease>();
  private lastKey = 0;
  /** Leases that have ended since the last message. */
  private ended: number[] = [];
  /** Runs while there are leases. */
  private pulse: NodeJS.Timeout | undefined;
  private thread: Worker | undefined;
  private pause = shortestPause;
  private begunAt = 0;
  private stopPause: (() => void) | undefined;
  private closed = false;

  constructor(
    private readonly options: WorkerStart['options'],
    private readonly stallLimit: number,
    private readonly log: LockLog,
    private readonly events: RenewalWorkerEvents,
  ) {}

  /** Settles when the thread runs. @throws LockConfigurationError */
  start(): Promise<void> {
    this.begunAt = systemClock.now();
    return inRoot(
      () =>
        new Promise((resolve, reject) => {
          let failure: unknown;
          let isReady = false;
          const thread = newThread({
            options: this.options,
            stallLimit: this.stallLimit,
            signOfLife: this.signOfLife.buffer,
          });
          thread.on('error', (error) => (failure = error));
          thread.on('message', (message: WorkerMessage) => {
            if (message.kind !== 'ready') return this.received(message);
            isReady = true;
            this.begin(thread);
            resolve();
          });
          thread.on('exit', (code) => {
            if (!isReady) return reject(refusalOf(failure ?? `exit code ${code}`));
            this.died(failure ?? `exit code ${code}`);
          });
        }),
    );
  }

  watch(hold: Hold): void {
    const lease = new WatchedLease(++this.lastKey, hold, this.time, (over) => this.over(over));
    this.leases.set(lease.key, lease);
    hold.watchedBy(lease);
    this.beat();
    this.pulse ??= inRoot(() =>
      setInterval(
        () => {
          this.beat();
          if (this.ended.length > 0) this.post(undefined);
          if (this.leases.size > 0) return;
          clearInterval(this.pulse);
          this.pulse = undefined;
        },
        Math.min(longestSilence, this.stallLimit / signsWithinLimit),
      ).unref(),
    );
    this.post(lease);
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.pulse);
    this.stopPause?.();
    await this.thread?.terminate();
  }

  private beat(): void {
    this.signOfLife.at = this.time.now();
  }

  /** Also of the leases that have ended since the last message. */
  private post(lease: WatchedLease | undefined): void {
    const { ended, thread } = this;
    this.ended = [];
    const message: WatchMessage = lease
      ? {
          ended,
          watch: { key: lease.key, request: lease.hold.renewal(0), memory: lease.memory.buffer },
        }
      : { ended };
    thread?.postMessage(message);
  }

  private over(lease: WatchedLease): void {
    this.leases.delete(lease.key);
    this.ended.push(lease.key);
  }

  private begin(thread: Worker): void {
    // Closed in the meantime.
    if (this.closed) return void thread.terminate();
    // From here on it keeps no process running.
    thread.unref();
    this.thread = thread;
    this.ended = [];
    for (const lease of this.leases.values()) this.post(lease);
  }

  private received(message: Exclude<WorkerMessage, { kind: 'ready' }>): void {
    if (message.kind === 'line') return this.log[message.level](workerLines.said(message.text));
    for (const { key, outcome, left } of message.holds) {
      const hold = this.leases.get(key)?.hold;
      if (!hold) continue;
      this.events.renewed(hold, outcome, left);
      // The loss, if there is one, is noticed now.
      hold.leaseLeft();
    }
  }

  private died(reason: unknown): void {
    this.thread = undefined;
    if (this.closed) return;
    const pause = systemClock.now() - this.begunAt > longestPause ? shortestPause : this.pause;
    this.pause = Math.min(2 * pause, longestPause);
    this.log.warn(workerLines.ended(errorText(reason), pause));
    this.stopPause = systemClock.timer(
      pause,
      () => {
        this.start().catch((error: unknown) => this.died(error));
      },
      true,
    );
  }
}

function newThread(workerData: WorkerStart): Worker {
  // No preloaded modules: what instruments the application must not instrument it a second time in here. Yarn's Plug'n'Play is one.
  const { NODE_OPTIONS: preloads, ...environment } = process.env;
  const env = process.versions['pnp'] === undefined ? environment : { ...environment, NODE_OPTIONS: preloads };
  try {
    // In one expression: webpack finds the file by it.
    return new Worker(new URL('./renewal-worker.js', import.meta.url), {
      workerData,
      env,
      execArgv: [],
      name: 'nestjs-redis-lock',
    });
  } catch (error) {
    throw refusalOf(error);
  }
}

const isMissing = (reason: unknown): boolean =>
  ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND', 'ERR_INVALID_URL', 'ERR_INVALID_ARG_TYPE', 'ERR_WORKER_PATH'].includes(
    String((reason as { code?: unknown } | null)?.code),
  );

const refusalOf = (reason: unknown): Error =>
  isMissing(reason) ? workerRefusals.noFile(errorText(reason)) : workerRefusals.notStarted(errorText(reason));
