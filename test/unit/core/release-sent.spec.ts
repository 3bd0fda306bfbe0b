import { describe, expect, it } from '@jest/globals';
import type { ReleaseReply } from '../../../lib/core/lock-backend.js';
import { VirtualClient, watch } from './virtual-client.js';

/** A client whose backend answers a release when the test says so. */
function slowToRelease() {
  const v = new VirtualClient();
  let answer: (value: ReleaseReply) => void;
  const promise = new Promise<ReleaseReply>((resolve) => (answer = resolve));
  v.backend.onRelease = () => promise;
  return { v, answer: answer! };
}

describe("release: 'answered', the default", () => {
  it('goes on when the backend has answered the release', async () => {
    const { v, answer } = slowToRelease();
    const lock = await v.acquire('a');
    const released = watch(lock.release());
    await v.clock.advance(0);
    expect(released.state).toBe('pending');
    answer('released');
    await v.clock.advance(0);
    expect(released.state).toBe('resolved');
  });
});

describe("release: 'sent'", () => {
  it('goes on as soon as the release is sent', async () => {
    const { v } = slowToRelease();
    const lock = await v.acquire('a', { release: 'sent' });
    await lock.release();
    expect(v.backend.log).toEqual(['acquire a', 'release a']);
    expect(lock.isHeld).toBe(false);
  });

  it('passes the lock on to a caller of this process as ever', async () => {
    const v = new VirtualClient();
    const first = await v.acquire('a', { release: 'sent' });
    const second = v.acquire('a');
    await v.clock.advance(0);
    await first.release();
    expect((await second).isHeld).toBe(true);
  });

  it('logs a loss that only the answer tells, and work that succeeded does not fail by it', async () => {
    const { v, answer } = slowToRelease();
    const scope = await v.enter('a', { release: 'sent' });
    await scope.leave('worked');
    expect(v.log.lines).toEqual([]);
    answer('absent');
    await v.clock.advance(0);
    expect(v.log.lines).toEqual([expect.stringContaining("Lock 'a' was lost")]);
  });

  it('still fails work whose lock was lost before the release', async () => {
    const v = new VirtualClient();
    v.backend.onRenew = (holds) => holds.map(() => 'lost');
    const scope = await v.enter('a', { release: 'sent' });
    await v.clock.advance(11_000);
    await expect(scope.leave('worked')).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it('repeats a release without an answer, and the end of the application waits for it', async () => {
    const { v, answer } = slowToRelease();
    const lock = await v.acquire('a', { release: 'sent' });
    await lock.release();
    const closed = watch(v.client.shutdown(0));
    await v.clock.advance(0);
    expect(closed.state).toBe('pending');
    answer('released');
    await v.clock.advance(0);
    expect(closed.state).toBe('resolved');
  });
});
