import type { Redis } from 'ioredis';
import type { LockBackendEvents } from '../../../core/lock-backend.js';
import { inRoot } from '../../../core/root-context.js';
import { ChannelSubscriber, type Unsubscribe } from '../channel-subscriber.js';
import { RedisBackend, type RedisBackendOptions, type RedisDialect } from '../redis-backend.js';
import { isRefused } from '../redis-errors.js';
import type { ClusterKeySpace } from './cluster-keys.js';
import { SlotBatches } from './slot-batches.js';

/** A node of the cluster with slots: a Redis server with its own form of keys and of messages. */
export class ClusterNode {
  readonly backend: RedisBackend;
  /** Settles when it can be used, or after its first attempt has failed. */
  started: Promise<void> = Promise.resolve();

  /**
   * @param home one of its slots
   * @param onDown called when its connection is lost
   * @param format @default the library's own
   */
  constructor(
    readonly address: string,
    public home: number,
    options: RedisBackendOptions,
    clusterKeys: ClusterKeySpace,
    onDown: () => void,
    format?: RedisDialect,
  ) {
    const keys = clusterKeys.at(() => this.home);
    this.backend = new RedisBackend(options, () => ({
      listener: (connect, clientId, patience, events) =>
        new ChannelSubscriber(
          connect,
          {
            of: (name) => keys.channelsOf(keys.slotOf(name)) + clientId,
            subscribe: listenOn,
            idle: patience,
            received: (_channel, message) => events.message(message),
          },
          this.backend.commandTimeout,
          events,
        ),
      subscribe: listenOn,
      ...format,
      keys,
      calls: (connection, patience) => new SlotBatches(connection, keys, patience),
      wentDown: onDown,
    }));
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

/** Subscribes to a channel of a slot: by sharded messages where the server and the ACL have them, else with SUBSCRIBE at the same server. */
async function listenOn(redis: Redis, channel: string): Promise<Unsubscribe> {
  try {
    await redis.ssubscribe(channel);
    return () => redis.sunsubscribe(channel);
  } catch (error) {
    if (!isRefused(error) && !/unknown command/i.test((error as Error).message)) throw error;
    await redis.subscribe(channel);
    return () => redis.unsubscribe(channel);
  }
}
