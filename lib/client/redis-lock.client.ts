import { Locks } from '../connection/locks.js';
import type { LockConnection } from '../connection/lock.connection.js';
import { refusals } from '../core/refusals.js';
import { located } from '../errors/configuration.js';
import { connectionOf, type LockClientOptions } from './connection-of.js';

/** Locks without Nest, from `createLockClient`. It has the calls of `RedisLockService`, and shares locks with applications that use it. */
export class RedisLockClient extends Locks implements AsyncDisposable {
  readonly #connection: LockConnection;
  #wasRefused = false;

  /** @internal */
  constructor(connection: LockConnection) {
    super(connection, 'RedisLockClient');
    this.#connection = connection;
  }

  /**
   * Connects now instead of with the first call. After a rejection the client keeps trying in the background: called again, it says whether
   * locks are available now.
   * @throws LockUnavailableError when Redis does not answer or the client was closed, LockConfigurationError when it refuses the credentials or a permission.
   */
  async connect(): Promise<void> {
    if (this.#connection.isClosing) throw refusals.shuttingDown();
    // What the start has met may be over.
    if (this.#wasRefused) return this.#connection.check();
    const failure = await this.#connection.start();
    if (!failure) return;
    this.#wasRefused = true;
    throw failure;
  }

  /**
   * Ends the client: rejects the callers that wait, gives running work up to `shutdownTimeout`, releases what is still held, and
   * disconnects. A client that is not closed keeps its process alive.
   */
  close(): Promise<void> {
    return this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Locks without Nest: for scripts, and for workers that share locks with a Nest application. It connects at the first call, or with
 * `connect()`. Close it at the end: `close()`, or `await using locks = createLockClient(…)`.
 * @param options left out: a Redis on this machine, and the defaults. Processes share their locks when they use the same Redis and
 * `keyPrefix`.
 * @throws LockConfigurationError at once for a wrong or unknown option.
 */
export function createLockClient(options: LockClientOptions = {}): RedisLockClient {
  return new RedisLockClient(located('createLockClient', () => connectionOf(options)));
}
