import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { Engine, unique } from './engine.js';

function compute(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

describe('a lock and the event loop', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  it('lets other work run while callers that never wait pass the lock on inside the process', async () => {
    await using engine = await Engine.start({ redis: server.url });
    const name = unique();
    const callers = 40;
    let inside = 0;
    let turnsInBetween = 0;
    const count = (): void => {
      if (inside === callers) return;
      if (inside > 0) turnsInBetween++;
      setImmediate(count);
    };
    setImmediate(count);
    await Promise.all(
      Array.from({ length: callers }, async () => {
        const lock = await engine.acquire(name, { wait: Infinity });
        inside++;
        compute(6);
        await lock.release();
      }),
    );
    // Two callers fill a slice of the event loop; without slices, all of them run in one turn.
    expect(turnsInBetween).toBeGreaterThan(callers / 4);
  });
});
