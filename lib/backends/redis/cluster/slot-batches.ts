import { type Batch, CallBatches } from '../call-batches.js';
import type { CommandConnection } from '../command-connection.js';
import type { ClusterKeySpace } from './cluster-keys.js';

/** One command is about one slot: the calls of one turn are put together by slots, and written together. */
export class SlotBatches extends CallBatches {
  /** The last batch of this turn for each slot. */
  private readonly latest = new Map<number, Batch>();

  constructor(
    connection: CommandConnection,
    private readonly slots: ClusterKeySpace,
    patience: number,
  ) {
    super(connection, slots, patience, undefined);
  }

  protected override lastFor(name: string): Batch | undefined {
    // Another turn has begun.
    if (this.batches.length === 0) this.latest.clear();
    return this.latest.get(this.slots.slotOf(name));
  }

  protected override open(batch: Batch, name: string): void {
    this.latest.set(this.slots.slotOf(name), batch);
    super.open(batch, name);
  }
}
