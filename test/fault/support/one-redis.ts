import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { expectNoLeftovers } from './leftovers.js';
import { ServerView } from './server-view.js';

/** A Redis that tests may break, and their own connection to it. */
interface ViewedRedis {
  readonly redis: RedisServer;
  readonly view: ServerView;
}

/** One Redis for all tests of the describe. Each test leaves nothing behind, neither there nor in this process. */
export function oneRedis(started: (there: ViewedRedis) => void): void {
  let redis: RedisServer | undefined;
  let view: ServerView | undefined;

  beforeAll(async () => {
    redis = await startRedis();
    view = await ServerView.of(redis);
    started({ redis, view });
  });
  afterAll(async () => {
    await view?.[Symbol.asyncDispose]();
    await redis?.stop();
  });
  expectNoLeftovers();
  afterEach(() => view?.expectNothingLeft());
}

/** Starts a Redis for one test, with arguments of its own. It is stopped after the test, which leaves nothing behind, neither there nor in this process. */
export function redisOfEachTest(): (args?: string[]) => Promise<ViewedRedis> {
  let redis: RedisServer | undefined;
  let view: ServerView | undefined;

  beforeEach(() => {
    redis = view = undefined;
  });
  afterEach(async () => {
    try {
      await view?.expectNothingLeft();
    } finally {
      await view?.[Symbol.asyncDispose]();
      await redis?.stop();
    }
  });
  // After the hook above: the test's own connection is no leftover.
  expectNoLeftovers();

  return async (args = []) => {
    redis = await startRedis({ args });
    view = await ServerView.of(redis);
    return { redis, view };
  };
}
