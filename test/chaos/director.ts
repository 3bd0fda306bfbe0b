import { setTimeout as sleep } from 'node:timers/promises';
import { monotonic } from './contender.js';
import { names } from './programme.js';
import { type Fault, type LinkFault, nameOf, type ProcessFault, type ServerFault, type Target } from './schedule.js';
import type { Slot, Stage } from './stage.js';

/** How long (ms) a fault that is meant for a holder waits for one. */
const longestLookout = 1000;

/** Makes things go wrong on a stage, at their times, and puts them right again. */
export class Director {
  /** Faults that were skipped: their target had a fault already. */
  skipped = 0;
  /** What is in trouble: 'server', 'process 0', 'link 0' and so on. */
  readonly #trouble = new Set<string>();

  /** How many locks were deleted: each name has its turn. */
  #deleted = 0;

  constructor(private readonly stage: Stage) {}

  /** Settles when every fault is over. */
  async run(faults: readonly Fault[]): Promise<void> {
    const start = performance.now();
    const running: Array<Promise<void>> = [];
    const failures: unknown[] = [];
    for (const fault of faults) {
      await sleep(Math.max(0, start + fault.at - performance.now()));
      running.push(this.#happen(fault).catch((error: unknown) => void failures.push(error)));
    }
    // After any failure: nothing may go on when the stage has gone, above all no process may start.
    await Promise.all(running);
    if (failures.length > 0) throw new AggregateError(failures, 'a fault could not be made to happen');
  }

  async #happen(fault: Fault): Promise<void> {
    const what = nameOf(fault);
    const note = (phase: 'begins' | 'over' | 'skipped'): void =>
      this.stage.record({ event: 'fault', at: monotonic(), what, phase });
    const slot = fault.on === 'server' ? undefined : await this.#slot(fault.who);
    const victim = fault.on === 'server' ? 'server' : slot && `${fault.on} ${slot.number}`;
    if (victim === undefined || this.#trouble.has(victim)) {
      this.skipped += 1;
      return note('skipped');
    }
    note('begins');
    this.#trouble.add(victim);
    if (fault.on === 'server') await this.#server(fault.what, fault.lasts);
    else if (fault.on === 'process') await this.#process(slot!, fault.what, fault.lasts);
    else await this.#link(slot!, fault.what, fault.lasts, fault.by);
    this.#trouble.delete(victim);
    note('over');
  }

  async #slot(who: Target): Promise<Slot | undefined> {
    return who === 'holder' ? this.stage.nextHolder(longestLookout) : this.stage.slots[who];
  }

  async #process(slot: Slot, what: ProcessFault, lasts: number): Promise<void> {
    const { contender } = slot;
    if (what === 'pause') {
      contender.worker.pause();
      await sleep(lasts);
      contender.worker.resume();
    } else if (what === 'block') {
      contender.block(lasts);
      await sleep(lasts);
    } else {
      await (what === 'kill' ? contender.worker.kill() : contender.leave());
      await sleep(lasts);
      this.stage.start(slot);
    }
  }

  async #link({ proxy }: Slot, what: LinkFault, lasts: number, by: number): Promise<void> {
    if (what === 'reset') return proxy.reset();
    if (what === 'refuse') {
      await proxy.refuse();
      proxy.reset();
    } else if (what === 'swallow') proxy.swallow();
    else if (what === 'drop-replies') proxy.dropReplies();
    else if (what === 'drop-commands') proxy.dropCommands();
    else proxy.delay(by);
    await sleep(lasts);
    if (what === 'late') {
      // What was sent by then arrives in its time, when its senders have long given it up and ask on new connections.
      proxy.hangUp();
      return proxy.delay(0);
    }
    // A connection that has lost bytes in its middle does not live on: TCP has no such thing.
    if (what !== 'delay') proxy.reset();
    return proxy.heal();
  }

  async #server(what: ServerFault, lasts: number): Promise<void> {
    const { stage } = this;
    const { server, admin } = stage;
    const down = async (empty: boolean): Promise<void> => {
      await server.kill();
      await sleep(lasts);
      await server.restart({ empty });
    };
    switch (what) {
      case 'restart':
        return down(false);
      case 'restart-empty':
        return stage.wiped(() => down(true));
      case 'flush':
        return stage.wiped(() => admin.flushall());
      case 'delete':
        return this.#delete(names[this.#deleted++ % names.length]!);
      case 'evict':
        return stage.wiped(() => this.#outOfMemory(lasts));
      case 'script-flush':
        return void (await admin.script('FLUSH'));
      case 'kill-clients':
        return void (await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
      case 'kill-subscriptions':
        return void (await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
      case 'client-pause':
        return void (await admin.call('CLIENT', 'PAUSE', lasts, 'ALL'));
      case 'stop':
        server.pause();
        await sleep(lasts);
        server.resume();
    }
  }

  #delete(name: string): Promise<void> {
    const { stage } = this;
    return stage.wiped(() => stage.admin.del(stage.recordKey(name)), name);
  }

  /** Redis throws away every key that it has, and refuses what needs memory. */
  async #outOfMemory(lasts: number): Promise<void> {
    const { admin } = this.stage;
    await admin.config('SET', 'maxmemory-policy', 'allkeys-random');
    await admin.config('SET', 'maxmemory', '1');
    await sleep(lasts);
    await admin.config('SET', 'maxmemory', '0');
  }
}
