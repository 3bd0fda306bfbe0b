import type { ContenderConfiguration } from '../support/workers/contender.js';
import { forkWorker, type Worker } from '../support/worker.js';
import { beat, type Happening, type Touched } from './history.js';
import { alone, names, programme, type ProgrammeOptions } from './programme.js';
import type { Touch } from './resources.js';

/** The clock of the history: the machine's monotonic one, in milliseconds. */
export const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Shorter than in production, so that a few seconds see much. */
export const commandTimeout = 400;
export const poll = 1000;

export interface ContenderOptions
  extends Pick<ProgrammeOptions, 'seed' | 'flows'>, Pick<ContenderConfiguration, 'redis' | 'log' | 'broken'> {
  readonly touch: (touch: Touch) => Touched;
  readonly record: (happening: Happening) => void;
}

type Message =
  { readonly touch: Touch & { readonly id: number } } | { readonly finished: true } | { readonly left: Left };

interface Left {
  readonly unhandled: readonly string[];
  readonly open: readonly string[];
}

/** One process with one lock client: test/support/workers/contender.ts. */
export class Contender {
  readonly worker: Worker;
  /** It has held a lock, or has ended. */
  readonly working: Promise<unknown>;
  #onTouched!: () => void;
  #onFinished!: () => void;
  readonly #finished = new Promise<void>((resolve) => (this.#onFinished = resolve));
  #left: Left | undefined;

  /** @param label of the process, unlike any other's of the run */
  constructor(
    readonly label: string,
    private readonly options: ContenderOptions,
  ) {
    const { seed, flows, redis, log, broken } = options;
    const configuration: ContenderConfiguration = {
      ...{ redis, label, log, commandTimeout, poll, beat, broken },
      last: names.map((name) => ({ name, mode: alone(name) })),
      programme: programme({ seed, process: label, flows }),
    };
    this.worker = forkWorker('contender', {
      env: { CONTENDER: JSON.stringify(configuration) },
      onMessage: (message) => this.#take(message as Message),
    });
    const touched = new Promise<void>((resolve) => (this.#onTouched = resolve));
    this.working = Promise.race([touched, this.worker.exited]);
  }

  /** Nothing of it runs for so many ms. */
  block(milliseconds: number): void {
    this.worker.send({ block: milliseconds });
  }

  /**
   * All is well: lets every flow end its call, and take every lock once. Settles when they have, when their process has ended,
   * or when they should have long ago: `leave()` reports the calls that are still pending.
   */
  async finish(wait: number): Promise<void> {
    this.worker.send({ finish: { wait } });
    let stop: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (stop = setTimeout(resolve, 2 * wait)));
    await Promise.race([this.#finished, this.worker.exited, late]);
    clearTimeout(stop);
  }

  /** Ends the client; its process has to end by itself. */
  async leave(): Promise<void> {
    this.worker.send({ leave: true });
    const stuck = setTimeout(() => void this.worker.kill(), 20_000);
    const { code } = await this.worker.exited;
    clearTimeout(stuck);
    const { unhandled, open } = this.#left ?? { unhandled: ['it did not leave'], open: [] };
    const output = this.worker.output === '' ? [] : [this.worker.output];
    this.options.record({ event: 'exited', process: this.label, code, unhandled: [...unhandled, ...output], open });
  }

  #take(message: Message): void {
    if ('touch' in message) {
      this.#onTouched();
      const { id, ...touch } = message.touch;
      const { accepted } = this.options.touch(touch);
      this.worker.send({ answer: { id, accepted } });
    } else if ('left' in message) this.#left = message.left;
    else if ('finished' in message) this.#onFinished();
  }
}
