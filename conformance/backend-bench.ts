import { randomUUID } from 'node:crypto';
import type { BackendCapabilities } from 'nestjs-redis-lock/backend';
import type { ConformanceTarget, TargetOptions } from './target.js';
import { inTime, realTime, type SuiteTime } from './time.js';
import { Party } from './party.js';
import type { TestFramework } from './test-framework.js';

/** The tools of the guarantees of a backend. */
export class BackendBench {
  readonly describe: TestFramework['describe'];
  readonly it: TestFramework['it'];
  /** For guarantees that need the order of the queue. Skipped where the backend does not promise it. */
  readonly inOrder: TestFramework['it'];
  /** For guarantees of a release that grants the lock to a waiter. Skipped where it only wakes waiters. */
  readonly inQueue: TestFramework['it'];
  /** For guarantees of tokens that are made from the backend's time. Skipped where they are counted. */
  readonly dated: TestFramework['it'];
  target!: ConformanceTarget;
  /** The clients of the running test. */
  readonly parties: Party[] = [];

  constructor(
    open: () => Promise<ConformanceTarget>,
    { describe, it, beforeAll, afterEach, afterAll }: TestFramework,
    readonly capabilities: BackendCapabilities,
  ) {
    this.describe = describe;
    this.it = (title, body) => it(title, () => this.time.until(body()));
    this.inOrder = capabilities.fifo ? this.it : () => undefined;
    this.inQueue = capabilities.queue ? this.it : () => undefined;
    this.dated = capabilities.dated ? this.it : () => undefined;
    beforeAll(async () => {
      this.target = await open();
    });
    afterEach(async () => {
      await Promise.all(this.parties.splice(0).map((party) => party.backend.close()));
    });
    afterAll(() => this.target.close());
  }

  get time(): SuiteTime {
    return this.target.clock ?? realTime;
  }

  /** One more client. */
  readonly join = async (options?: TargetOptions): Promise<Party> => {
    const party = new Party(inTime(this.target.backend(options), this.time), this.time);
    this.parties.push(party);
    return party.start();
  };

  /** One more client, already subscribed to its messages. */
  readonly joinHearing = async (options?: TargetOptions): Promise<Party> => (await this.join(options)).reachable();

  readonly unique = (): string => `conformance:${randomUUID()}`;
}
