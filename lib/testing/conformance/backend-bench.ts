import { randomUUID } from 'node:crypto';
import type { BackendCapabilities } from '../../core/lock-backend.js';
import type { LockPlace, PlaceOptions } from './lock-place.js';
import { Party } from './party.js';
import type { TestFramework } from './test-framework.js';

/** What the guarantees of a backend are tested with. */
export class BackendBench {
  readonly describe: TestFramework['describe'];
  readonly it: TestFramework['it'];
  /** For what rests on the order of the queue: left out where the backend does not promise it. */
  readonly inOrder: TestFramework['it'];
  place!: LockPlace;
  /** Those who joined in the running test. */
  readonly parties: Party[] = [];

  constructor(
    open: () => Promise<LockPlace>,
    { describe, it, beforeAll, afterEach, afterAll }: TestFramework,
    readonly capabilities: BackendCapabilities,
  ) {
    this.describe = describe;
    this.it = it;
    this.inOrder = capabilities.fifo ? it : () => undefined;
    beforeAll(async () => {
      this.place = await open();
    });
    afterEach(async () => {
      await Promise.all(this.parties.splice(0).map((party) => party.backend.close()));
    });
    afterAll(() => this.place.close());
  }

  /** One more client. */
  readonly join = async (options?: PlaceOptions): Promise<Party> => {
    const party = new Party(this.place.backend(options));
    this.parties.push(party);
    return party.start();
  };

  /** One more client, which messages reach already. */
  readonly joinHearing = async (options?: PlaceOptions): Promise<Party> => (await this.join(options)).reachable();

  readonly unique = (): string => `conformance:${randomUUID()}`;
}
