import { describe, expect, it } from '@jest/globals';
import { LockClient } from '../../lib/core/lock-client.js';
import type { LockBackendEvents } from '../../lib/core/lock-backend.js';
import { type LockOptions, lockDefaults, resolveOptions } from '../../lib/core/options.js';
import { writeTicket } from '../../lib/core/ticket.js';
import { LockConnection } from '../../lib/connection/lock.connection.js';
import { RedisLockService } from '../../lib/connection/redis-lock.service.js';
import { KeptLog } from '../../conformance/kept-log.js';
import { ScriptedBackend, deferred } from '../support/scripted-backend.js';
import { settled, VirtualClock } from '../support/virtual-clock.js';
import { watch } from './core/virtual-client.js';

/** A connection whose start takes as long as the test says. */
class SlowStart {
  readonly clock = new VirtualClock();
  readonly log = new KeptLog();
  readonly start = deferred<void>();
  readonly backend: ScriptedBackend;
  readonly connection: LockConnection;
  readonly service: RedisLockService;

  constructor() {
    const { start } = this;
    this.backend = new (class extends ScriptedBackend {
      override async start(client: string, events: LockBackendEvents): Promise<void> {
        await super.start(client, events);
        await start.promise;
      }
    })(this.clock);
    const client = new LockClient(this.backend, { defaults: lockDefaults, maxWaiters: 10 }, this.log, this.clock);
    this.connection = new LockConnection(client, { name: 'default', strict: false, shutdownTimeout: 1_000 });
    this.service = new RedisLockService(this.connection);
  }

  acquire(options: LockOptions) {
    return watch(this.connection.acquire('a', resolveOptions(options, lockDefaults)));
  }
}

describe('a call before the application has started', () => {
  it('connects, and continues when the connection is ready', async () => {
    const slow = new SlowStart();
    const calls = [slow.acquire({ wait: 500 }), watch(slow.service.using('b', async () => 'worked'))];
    await slow.clock.advance(400);
    expect(slow.backend.acquired).toEqual([]);
    slow.start.resolve();
    await settled();
    expect(calls.map(({ state }) => state)).toEqual(['resolved', 'resolved']);
  });

  it('rejects at once when its signal aborts', async () => {
    const slow = new SlowStart();
    const abort = new AbortController();
    const calls = [
      slow.acquire({ signal: abort.signal }),
      watch(slow.service.using(['b', 'c'], { signal: abort.signal }, async () => 'worked')),
    ];
    await slow.clock.advance(50);
    const reason = new Error('the client has gone');
    abort.abort(reason);
    await settled();
    expect(calls.map((call) => call.reason)).toEqual([reason, reason]);
    expect(slow.acquire({ signal: abort.signal })).toMatchObject({ state: 'pending' });
    slow.start.resolve();
    await settled();
    expect(slow.backend.log).toEqual([]);
    expect(slow.clock.pending).toBe(0);
  });

  it('rejects when its wait is over, a single try after `commandTimeout`; nothing is sent for it later', async () => {
    const slow = new SlowStart();
    const [waiting, trying] = [slow.acquire({ wait: 200 }), slow.acquire({ wait: 0 })];
    const adopting = watch(
      slow.service.adopt(
        writeTicket({
          ...{ kind: 'exclusive', permits: 1, limit: 0 },
          holds: [{ name: 'a', claim: 'abc.host.1:0', fencingToken: 1 }],
        }),
        { wait: 200 },
      ),
    );
    await slow.clock.advance(199);
    expect([waiting.state, trying.state, adopting.state]).toEqual(['pending', 'pending', 'pending']);
    await slow.clock.advance(1);
    const notReady = { code: 'LOCK_UNAVAILABLE', uncertain: false };
    expect(waiting.reason).toMatchObject({ ...notReady, key: 'a' });
    expect(adopting.reason).toMatchObject(notReady);
    expect(trying.state).toBe('pending');
    await slow.clock.advance(slow.backend.commandTimeout - 200);
    expect(trying.reason).toMatchObject(notReady);
    slow.start.resolve();
    await settled();
    expect(slow.backend.log).toEqual([]);
    expect(slow.clock.pending).toBe(0);
  });

  it('has the rest of its wait when the connection is ready', async () => {
    const slow = new SlowStart();
    slow.backend.onAcquire = () => ({ status: 'queued', askAt: slow.clock.now() + 5_000 });
    const waiting = slow.acquire({ wait: 500 });
    await slow.clock.advance(400);
    slow.start.resolve();
    await slow.clock.advance(99);
    expect(waiting.state).toBe('pending');
    await slow.clock.advance(1);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
  });
});
