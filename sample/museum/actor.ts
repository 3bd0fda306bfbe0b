import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker } from '../../test/support/worker.js';
import type { Lane, LaneState, Side } from './exhibit.js';

const program = fileURLToPath(new URL('./actor-process.js', import.meta.url));

/** The environment of an actor's process: one variable with all of it. */
export interface Part {
  readonly exhibit: string;
  readonly side: Side;
  /** A URL, or ioredis' options as JSON. */
  readonly connection: string;
  readonly database: string;
}

/** From an actor's process. */
export type Report =
  | { readonly event: 'ready' }
  | { readonly event: 'command'; readonly name: string; readonly values: readonly string[] }
  | { readonly event: 'stopped'; readonly at: string }
  /** The library tells that one of the callers does not get the lock at once. */
  | { readonly event: 'waits' }
  | { readonly event: 'lost' | 'inside' | 'done'; readonly call: number; readonly token?: number }
  | { readonly event: 'failed'; readonly call: number; readonly message: string };

/** To an actor's process. */
export type Order =
  | { readonly do: 'call'; readonly call: number; readonly args: readonly string[] }
  | { readonly do: 'leave'; readonly call: number }
  | { readonly do: 'break'; readonly at: string; readonly skip: number }
  | { readonly do: 'continue' };

/** One call of the exhibit's function in an actor's process. */
export class Call {
  state: LaneState = 'asks';
  isLost = false;
  token: number | undefined;
  error = '';

  constructor(
    readonly name: string,
    private readonly actor: Actor,
    readonly id: number,
  ) {}

  get isInside(): boolean {
    return this.state === 'works';
  }

  get isOver(): boolean {
    return this.state === 'done' || this.state === 'refused';
  }

  /** Ends its work. */
  leave(): void {
    this.actor.order({ do: 'leave', call: this.id });
  }

  get lane(): Lane {
    const { pid, isKilled, isPaused, stoppedAt } = this.actor;
    const isStopped = (isPaused || stoppedAt !== undefined) && !this.isOver;
    const error = this.error.split('. ', 1)[0];
    return {
      name: this.name,
      pid,
      ...(error && { error }),
      state: isKilled ? 'killed' : isStopped ? 'stopped' : this.isInside && this.isLost ? 'lost' : this.state,
    };
  }
}

/** A real process that runs one side of an exhibit, and waits inside the lock until it gets the order to leave. */
export class Actor {
  readonly calls: Call[] = [];
  isKilled = false;
  isPaused = false;
  /** The breakpoint at which it stands. */
  stoppedAt: string | undefined;
  /** Random ids that it sent. */
  readonly values = new Set<string>();
  private readonly commands = new Map<string, number>();
  private worker!: Worker;

  /** Resolves when it can be called. */
  readonly ready: Promise<void>;

  constructor(
    readonly name: string,
    part: Part,
  ) {
    const child = fork(program, {
      env: { ...process.env, NODE_OPTIONS: '', MUSEUM: JSON.stringify(part) },
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.ready = new Promise((resolve, reject) => {
      this.worker = new Worker(child, (message) => {
        const report = message as Report;
        if (report.event === 'ready') resolve();
        else this.hear(report);
      });
      void this.worker.exited.then(() => {
        reject(new Error(`The process of ${name} ended at its start:\n${this.worker.output}`));
      });
    });
    // Also when no one waits for it any more.
    this.ready.catch(() => undefined);
  }

  get pid(): number {
    return this.worker.pid;
  }

  /** Calls the function of the exhibit. @param name another one than the actor's, when a process has several callers */
  call(args: readonly string[] = [], name = this.name): Call {
    const call = new Call(name, this, this.calls.length);
    this.calls.push(call);
    this.order({ do: 'call', call: call.id, args });
    return call;
  }

  /** The process halts before the next command, or step, of this name. @param skip so many go on before it */
  breakBefore(at: string, skip = 0): void {
    this.order({ do: 'break', at, skip });
  }

  /** Past the breakpoint at which it stands. */
  continue(): void {
    this.stoppedAt = undefined;
    this.order({ do: 'continue' });
  }

  /** How often it has sent this command, by hand. */
  sent(command: string): number {
    return this.commands.get(command) ?? 0;
  }

  order(order: Order): void {
    this.worker.send(order);
  }

  pause(): void {
    this.worker.pause();
    this.isPaused = true;
  }

  resume(): void {
    this.worker.resume();
    this.isPaused = false;
  }

  async kill(): Promise<void> {
    await this.worker.kill();
    this.isKilled = true;
  }

  private hear(report: Exclude<Report, { event: 'ready' }>): void {
    if (report.event === 'command') {
      this.commands.set(report.name, this.sent(report.name) + 1);
      for (const value of report.values) this.values.add(value);
      return;
    }
    if (report.event === 'stopped') {
      this.stoppedAt = report.at;
      return;
    }
    if (report.event === 'waits') {
      const call = this.calls.find(({ state }) => state === 'asks');
      if (call) call.state = 'waits';
      return;
    }
    const call = this.calls[report.call]!;
    if (report.event === 'failed') Object.assign(call, { state: 'refused', error: report.message });
    else if (report.event === 'lost') call.isLost = true;
    else if (report.event === 'inside') Object.assign(call, { state: 'works', token: report.token });
    else call.state = report.event;
  }
}
