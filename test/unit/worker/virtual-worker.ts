import type { Hold } from '../../../lib/core/hold.js';
import type { LockHandle } from '../../../lib/core/lock-handle.js';
import { LockClient } from '../../../lib/core/lock-client.js';
import { type LockOptions, type RenewFrom, lockDefaults, resolveOptions } from '../../../lib/core/options.js';
import type { RenewalWorker, RenewalWorkerEvents } from '../../../lib/core/renewal-worker.js';
import { SignOfLife } from '../../../lib/worker/lease-memory.js';
import { SharedClock } from '../../../lib/worker/shared-clock.js';
import { WatchedLease } from '../../../lib/worker/worker-lease.js';
import type { WorkerMessage } from '../../../lib/worker/worker-messages.js';
import { WorkerRenewal } from '../../../lib/worker/worker-renewal.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { BlockableClock } from '../../support/blockable-clock.js';
import { ScriptedBackend } from '../../support/scripted-backend.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const signs = 250;

/** The worker of a client in virtual time: all of it but the thread. It shares no timers with the client. */
class VirtualWorker implements RenewalWorker {
  private readonly signOfLife = new SignOfLife();
  private readonly leases = new Map<number, WatchedLease>();
  private readonly time: SharedClock;
  private readonly renewal: WorkerRenewal;
  private keys = 0;
  private messages: WorkerMessage[] = [];
  isClosed = false;

  constructor(
    private readonly clock: VirtualClock,
    private readonly main: BlockableClock,
    backend: ScriptedBackend,
    stallLimit: number,
    private readonly events: RenewalWorkerEvents,
  ) {
    this.time = new SharedClock(clock, () => clock.now());
    this.renewal = new WorkerRenewal(backend, clock, this.time, this.signOfLife, stallLimit, (message) => {
      this.messages.push(message);
      if (!main.isBlocked) this.deliver();
    });
  }

  watch(hold: Hold): void {
    const lease = new WatchedLease(++this.keys, hold, this.time, ({ key }) => {
      this.leases.delete(key);
      this.renewal.received({ ended: [key] });
    });
    if (this.leases.size === 0) this.beat();
    this.leases.set(lease.key, lease);
    hold.watchedBy(lease);
    const watch = { key: lease.key, request: hold.renewal(0), memory: lease.memory.buffer };
    this.renewal.received({ ended: [], watch });
  }

  deliver(): void {
    for (const message of this.messages.splice(0)) {
      if (message.kind !== 'renewed') continue;
      for (const { key, outcome, left } of message.holds) {
        const hold = this.leases.get(key)?.hold;
        if (hold) this.events.renewed(hold, outcome, left);
      }
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  private beat(): void {
    this.signOfLife.at = this.time.now();
    this.main.timer(signs, () => {
      if (this.leases.size > 0) this.beat();
    });
  }
}

/** A client with a worker, in virtual time: `block` stops the client's timers, and not those of the worker. */
export class ClientWithWorker {
  readonly clock = new VirtualClock();
  readonly main = new BlockableClock(this.clock);
  /** What the client sends, and what the worker sends. */
  readonly backend = new ScriptedBackend(this.main);
  readonly workerBackend = new ScriptedBackend(this.clock);
  readonly log = new KeptLog();
  readonly client: LockClient;
  worker: VirtualWorker | undefined;

  /**
   * @param renewFrom of calls that say nothing else
   * @param begin settles when the thread runs
   */
  constructor({
    stallLimit = 120_000,
    renewFrom = 'worker',
    begin = async () => undefined,
  }: { stallLimit?: number; renewFrom?: RenewFrom; begin?: () => Promise<unknown> } = {}) {
    this.client = new LockClient(
      this.backend,
      {
        defaults: { ...lockDefaults, lease: 9_000, renewFrom },
        maxWaiters: 100,
        startWorker: async (events) => {
          await begin();
          return (this.worker = new VirtualWorker(this.clock, this.main, this.workerBackend, stallLimit, events));
        },
      },
      this.log,
      this.main,
    );
  }

  async start(): Promise<this> {
    await this.client.start();
    return this;
  }

  acquire(name: string, options?: LockOptions): Promise<LockHandle> {
    return this.client.acquire(name, resolveOptions(options, this.client.defaults));
  }

  /** The client's event loop stands still for so long. Then nothing of it has run yet. */
  async blocked(milliseconds: number): Promise<void> {
    this.main.block();
    await this.clock.advance(milliseconds);
  }

  /** Now it runs again. */
  unblock(): void {
    this.main.unblock();
    this.worker?.deliver();
  }
}
