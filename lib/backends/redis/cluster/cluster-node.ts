import type { LockBackendEvents } from '../../../core/lock-backend.js';
import { inRoot } from '../../../core/root-context.js';
import { RedisBackend, type RedisBackendOptions } from '../redis-backend.js';
import type { ClusterKeySpace } from './cluster-keys.js';
import { listenOn, ShardSubscriber } from './shard-subscriber.js';
import { SlotBatches } from './slot-batches.js';

/** A node of the cluster with slots: a Redis server with its own form of keys and of messages. */
export class ClusterNode {
  readonly backend: RedisBackend;
  /** Settles when it can be used, or after its first attempt has failed. */
  started: Promise<void> = Promise.resolve();

  /**
   * @param home one of its slots
   * @param onDown called when its connection is lost
   */
  constructor(
    readonly address: string,
    public home: number,
    options: RedisBackendOptions,
    clusterKeys: ClusterKeySpace,
    onDown: () => void,
  ) {
    const keys = clusterKeys.at(() => this.home);
    this.backend = new RedisBackend(options, {
      keys: () => keys,
      calls: (connection, patience) => new SlotBatches(connection, keys, patience),
      listener: (connect, clientId, patience, events) =>
        new ShardSubscriber(connect, keys, clientId, this.backend.commandTimeout, patience, events),
      subscribe: listenOn,
      wentDown: onDown,
    });
  }

  get usable(): boolean {
    return this.backend.connection.usable;
  }

  start(clientId: string, events: LockBackendEvents): void {
    inRoot(() => {
      this.started = this.backend.start(clientId, events);
      this.started.catch(() => undefined);
    });
  }
}
