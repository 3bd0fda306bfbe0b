import {
  MemoryLockBackend,
  type MemoryLockBackendOptions,
  type MemoryLockServer,
} from '../../lib/backends/memory/index.js';
import { aroundPromise } from '../../lib/connection/around-promise.js';
import type { LockBackendEvents } from '../../lib/core/lock-backend.js';
import { LockClient } from '../../lib/core/lock-client.js';
import { LockHandle } from '../../lib/core/lock-handle.js';
import type { LockLog } from '../../lib/core/lock-log.js';
import type { Lock } from '../../lib/core/lock.js';
import { MultiLock } from '../../lib/core/multi-lock.js';
import { lockDefaults, resolveOptions } from '../../lib/core/options.js';
import type { Hold } from '../../lib/core/hold.js';
import type { Row } from './row.js';
import type { Job, Settings } from './scene.js';

class Backend extends MemoryLockBackend {
  clientId = '';
  /** Timers of this process that keep it running. A dead process leaves its own in the clock. */
  timers = 0;

  constructor(options: MemoryLockBackendOptions) {
    super(options);
    const timer = this.clock.timer.bind(this.clock);
    this.clock.timer = (delay, fn, isBackground = false) => {
      let left = isBackground ? 0 : 1;
      this.timers += left;
      const end = (): void => {
        this.timers -= left;
        left = 0;
      };
      const run = (): void => {
        end();
        fn();
      };
      const stop = timer(delay, run, isBackground);
      return () => {
        end();
        stop();
      };
    };
  }

  override start(clientId: string, events: LockBackendEvents): Promise<void> {
    this.clientId = clientId;
    return super.start(clientId, events);
  }
}

/** The story tells what a log would. */
export const silence: LockLog = { log() {}, warn() {}, error() {} };

/** Thrown by work that came too late. */
class TooLate extends Error {
  readonly code = 'refused';
}

/** What the process reports of its work. */
export interface Teller {
  /** The row refused or took its write, or lost another one by it. */
  wrote(who: string, key: string, token: number, result: 'taken' | 'refused' | 'late' | 'lost update'): void;
  ended(who: string, outcome: string): void;
}

/** A process with the real client, and one job at a time. */
export class LabProcess {
  readonly client: LockClient;
  state: 'running' | 'stopped' | 'dead' = 'running';
  /** The locks of its job. */
  readonly locks: LockHandle[] = [];
  job: Job | undefined;
  /** When it continued the last time. */
  wokeAt: number | undefined;
  readonly outcomes: string[] = [];
  private readonly backend: Backend;
  private inFlight = 0;

  constructor(
    readonly name: string,
    readonly connection: string,
    server: MemoryLockServer,
    private readonly settings: Settings,
    private readonly rowOf: (key: string) => Row,
    private readonly teller: Teller,
  ) {
    this.backend = new Backend({ server, label: name });
    this.client = new LockClient(this.backend, { defaults: lockDefaults, maxWaiters: 1000, connection }, silence);
  }

  get clientId(): string {
    return this.backend.clientId;
  }

  /** Its holds, as the engine knows them. To read a lock itself could end it: the process may be stopped. */
  get holds(): readonly Hold[] {
    return this.locks.map((lock) => LockHandle.holdOf(lock));
  }

  /** Timers that are set, without those of its work. */
  get timers(): number {
    return this.backend.timers - this.inFlight;
  }

  start(): Promise<void> {
    return this.client.start();
  }

  stop(): void {
    this.state = 'stopped';
    this.backend.stop();
  }

  /** Returns what its locks say before its first `await`. */
  continue(): readonly boolean[] {
    this.state = 'running';
    this.wokeAt = this.backend.clock.now();
    this.backend.continue();
    return this.locks.map(({ isHeld }) => isHeld);
  }

  kill(): void {
    this.state = 'dead';
    this.job = undefined;
    this.backend.kill();
  }

  /** Begins a job. Each process does one after the other. */
  async run(job: Job): Promise<void> {
    this.job = job;
    let outcome = 'done';
    try {
      if (job.nested) await this.inside(job.keys, job, []);
      else await this.inside([job.keys], job, []);
    } catch (error) {
      outcome = (error as { code?: string }).code ?? String(error);
    }
    this.job = undefined;
    this.locks.length = 0;
    this.outcomes.push(outcome);
    this.teller.ended(this.name, outcome);
  }

  /** Takes the first of these locks, and inside it the others. As `using` of RedisLockService does it. */
  private inside(
    keys: ReadonlyArray<string | readonly string[]>,
    job: Job,
    outer: readonly LockHandle[],
  ): Promise<void> {
    const [first, ...others] = keys;
    const key = first!.length === 1 ? first![0]! : first!;
    const { lease, renew } = this.settings;
    const kind = job.kind === 'shared' ? { shared: true } : job.kind;
    const options = resolveOptions({ lease, renew, wait: job.wait, ...kind }, lockDefaults);
    return aroundPromise(
      () => this.client.enter(key, options),
      async ({ lock }) => {
        const handles = [...outer, ...partsOf(lock)];
        this.locks.push(...partsOf(lock));
        if (others.length === 0) return this.work(job, handles);
        await this.sleep(job.work);
        return this.inside(others, job, handles);
      },
    );
  }

  private async work({ keys, work, kind }: Job, locks: readonly LockHandle[]): Promise<void> {
    // In the order of the job, as in its copy for a test. The locks of one call are in the order of their names.
    const rows = keys.map((key) => {
      const { fencingToken } = locks.find((lock) => lock.key === key)!;
      return { key, fencingToken, row: this.rowOf(key) };
    });
    for (const { key, fencingToken, row } of kind ? [] : rows) {
      if (row.claim(fencingToken)) continue;
      this.teller.wrote(this.name, key, fencingToken, 'late');
      throw new TooLate();
    }
    const read = rows.map(({ row }) => row.value);
    await this.sleep(work);
    if (kind) return;
    rows.forEach(({ key, fencingToken, row }, index) => {
      const { lost } = row;
      const isTaken = row.write(read[index]!, fencingToken);
      const result = !isTaken ? 'refused' : row.lost > lost ? 'lost update' : 'taken';
      this.teller.wrote(this.name, key, fencingToken, result);
      if (!isTaken) throw new TooLate();
    });
  }

  private async sleep(ms: number): Promise<void> {
    this.inFlight++;
    await new Promise<void>((resolve) => this.backend.clock.timer(ms, resolve));
    this.inFlight--;
  }
}

const partsOf = (lock: Lock): readonly LockHandle[] => (lock instanceof MultiLock ? lock.parts : [lock as LockHandle]);
