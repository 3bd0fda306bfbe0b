import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { LockChannels, LockHoldContext } from '../../../lib/diagnostics/channels.js';
import { callerSuffix } from '../../../lib/core/claim-id.js';
import { liveConnections } from '../../../lib/diagnostics/live-connections.js';
import { LockHandle } from '../../../lib/core/lock-handle.js';
import { lockDefaults } from '../../../lib/core/options.js';
import { compileKey } from '../../../lib/key/key.resolver.js';
import { lockName } from '../../../lib/key/lock-name.tag.js';
import { settled } from '../../support/virtual-clock.js';
import type { RenewReply } from '../../../lib/core/lock-backend.js';
import { deferred, unanswered } from '../../support/scripted-backend.js';
import { VirtualClient } from './virtual-client.js';

/** The code has a text of this form: names that fit it have a label. */
void lockName`product:${42}`;

const prefix = /^(tracing:)?nestjs-redis-lock:/;
let stops: Array<() => void> = [];
afterEach(() => {
  for (const stop of stops) stop();
  stops = [];
});

function on<K extends keyof LockChannels>(channel: K, listener: (message: LockChannels[K]) => void): void {
  subscribe(channel, listener as ChannelListener);
  stops.push(() => unsubscribe(channel, listener as ChannelListener));
}

/** What is published on these channels, each as it was at that moment. */
function seen(...names: Array<keyof LockChannels>): Array<[channel: string, message: Record<string, unknown>]> {
  const messages: ReturnType<typeof seen> = [];
  for (const name of names) on(name, (message) => messages.push([name.replace(prefix, ''), { ...message }]));
  return messages;
}

const requests = () =>
  seen(
    'tracing:nestjs-redis-lock:acquire:start',
    'tracing:nestjs-redis-lock:acquire:error',
    'tracing:nestjs-redis-lock:acquire:asyncEnd',
    'nestjs-redis-lock:contended',
  );
const holds = () =>
  seen(
    'tracing:nestjs-redis-lock:hold:start',
    'tracing:nestjs-redis-lock:hold:error',
    'tracing:nestjs-redis-lock:hold:asyncEnd',
  );

const subject = {
  key: 'product:42',
  template: 'product:*',
  connection: 'default',
  kind: 'exclusive',
  method: undefined,
};
/** Another process, as Redis names it. */
const elsewhere = { id: 'abcdefghij.web-1.4711:1.x:Shop.buy', fencingToken: 7, heldFor: 20.5 };
const holder = { client: 'abcde', host: 'web-1', pid: 4711, method: 'Shop.buy', fencingToken: 7, heldFor: 20 };

describe('the channels of a request', () => {
  it('show it from the call to the grant', async () => {
    const messages = requests();
    const v = new VirtualClient();
    const lock = await v.acquire('product:42');
    const { fencingToken } = lock;
    expect(messages).toMatchObject([
      ['acquire:start', { ...subject, contended: false, outcome: undefined }],
      ['acquire:asyncEnd', { ...subject, contended: false, outcome: 'acquired', waited: 0, fencingToken }],
    ]);
  });

  it('show who held the lock, and how long the caller waited', async () => {
    const messages = requests();
    const v = new VirtualClient();
    v.backend.onAcquire = () => ({ status: 'queued', askAt: v.clock.now() + 5_000, holder: elsewhere });
    const lock = v.acquire('product:42');
    // It asks again on the way, and the second reply says the same.
    await v.clock.advance(5_300);
    expect(v.backend.acquired).toHaveLength(2);
    v.push();
    await lock;
    expect(messages).toMatchObject([
      ['acquire:start', { contended: false }],
      ['contended', { ...subject, holder }],
      ['acquire:asyncEnd', { outcome: 'acquired', contended: true, waited: 5_300, handOff: 'remote', holder }],
    ]);
  });

  it('show a caller of the same process as the holder, and a hand-off from it', async () => {
    const messages = requests();
    const v = new VirtualClient();
    const first = await v.acquire('product:42');
    await v.clock.advance(40);
    const second = v.acquire('product:42');
    const own = {
      pid: process.pid,
      host: hostname(),
      method: undefined,
      fencingToken: first.fencingToken,
      heldFor: 40,
    };
    expect(messages.at(-1)).toMatchObject(['contended', { ...subject, holder: own }]);
    await first.release();
    await second;
    // The first release gives the lock back: nothing was reserved for hand-offs yet.
    const third = v.acquire('product:42');
    await (await second).release();
    await third;
    expect(messages.at(-1)).toMatchObject(['acquire:asyncEnd', { outcome: 'acquired', handOff: 'local' }]);
    expect(messages.filter(([channel]) => channel === 'contended')).toHaveLength(2);
  });

  it('show the label of the call, and that of the holder', async () => {
    const messages = seen('nestjs-redis-lock:contended', 'tracing:nestjs-redis-lock:acquire:asyncEnd');
    const hold = seen('tracing:nestjs-redis-lock:hold:start');
    const v = new VirtualClient();
    const lock = await v.acquire('a', { label: 'import 1' });
    await v.acquire('a', { wait: 0, label: 'import 2' }).catch(() => undefined);
    expect(messages).toMatchObject([
      ['acquire:asyncEnd', { label: 'import 1', outcome: 'acquired' }],
      ['contended', { label: 'import 2', holder: { label: 'import 1' } }],
      ['acquire:asyncEnd', { label: 'import 2', holder: { label: 'import 1' } }],
    ]);
    expect(hold).toMatchObject([['hold:start', { label: 'import 1' }]]);
    await lock.release();
    v.backend.onAcquire = () => ({
      status: 'contended',
      leaseLeft: 5,
      holder: { ...elsewhere, id: `${elsewhere.id}:x%20y` },
    });
    await v.acquire('a', { wait: 0 }).catch(() => undefined);
    expect(messages.at(-1)).toMatchObject(['acquire:asyncEnd', { label: undefined, holder: { label: 'x y' } }]);
  });

  it('show the one of several callers that gets the lock at once, and the others as contended behind it', async () => {
    const messages = seen('nestjs-redis-lock:contended');
    const v = new VirtualClient();
    const called = (where: string) =>
      v.client.acquire('a', {
        ...lockDefaults,
        method: where,
        label: `for ${where}`,
        callerSuffix: callerSuffix(where),
      });
    const [first, second] = [called('Shop.buy'), called('Shop.sell')];
    await first;
    expect(messages).toMatchObject([['contended', { method: 'Shop.sell', holder: { method: 'Shop.buy' } }]]);
    const third = called('Shop.count');
    await (await first).release();
    await (await second).release();
    await third;
    // The claim is the one of the second caller.
    void called('Shop.sort').catch(() => undefined);
    expect(messages.at(-1)).toMatchObject([
      'contended',
      { method: 'Shop.sort', holder: { method: 'Shop.count', label: 'for Shop.count' } },
    ]);
  });

  it.each([
    ['contended', { wait: 0 }, 'LOCK_CONTENDED', 0],
    ['timeout', { wait: 200 }, 'LOCK_WAIT_TIMEOUT', 200],
  ] as const)('end with the outcome %s, after the error', async (outcome, options, code, waited) => {
    const messages = requests();
    const v = new VirtualClient();
    v.backend.onAcquire = ({ enqueue }) =>
      enqueue
        ? { status: 'queued', askAt: v.clock.now() + 5_000, holder: elsewhere }
        : { status: 'contended', leaseLeft: 500, holder: elsewhere };
    const failure = v.acquire('product:42', options).catch((error: unknown) => error);
    await v.clock.advance(200);
    const error = await failure;
    const heldFor = holder.heldFor + waited;
    expect(error).toMatchObject({ code, holder: { ...holder, heldFor } });
    expect(messages).toMatchObject([
      ['acquire:start', {}],
      ['contended', { holder }],
      ['acquire:error', { outcome, waited, error }],
      ['acquire:asyncEnd', { outcome, waited, error }],
    ]);
  });

  it('end with the outcome aborted, queue_full or unavailable', async () => {
    const messages = seen('tracing:nestjs-redis-lock:acquire:asyncEnd');
    const v = new VirtualClient({ maxWaiters: 1 });
    const first = await v.acquire('a');
    const abort = new AbortController();
    const ends = [v.acquire('a', { signal: abort.signal }), v.acquire('a')].map((end) => end.catch(() => undefined));
    await settled();
    abort.abort();
    await Promise.all(ends);
    await first.release();
    v.backend.onAcquire = () => Promise.reject(unanswered());
    await v.acquire('b').catch(() => undefined);
    expect(messages.map(([, { outcome }]) => outcome)).toEqual(['acquired', 'queue_full', 'aborted', 'unavailable']);
  });

  it('show a caller that stands behind the first waiter of its process as contended, however its call ends', async () => {
    const messages = seen('tracing:nestjs-redis-lock:acquire:asyncEnd');
    const v = new VirtualClient({ maxWaiters: 3 });
    v.backend.onAcquire = () => ({ status: 'queued', askAt: v.clock.now() + 5_000, holder: elsewhere });
    const leave = new AbortController();
    const first = v.acquire('a', { signal: leave.signal });
    await settled();
    const ends = [first, v.acquire('a', { wait: 200 }), v.acquire('a', { wait: 2_000 })];
    for (const end of ends) end.catch(() => undefined);
    await settled();
    await v.acquire('a').catch(() => undefined);
    await v.clock.advance(200);
    leave.abort();
    v.push();
    await ends[2];
    expect(messages.map(([, { outcome, contended, holder: by }]) => [outcome, contended, by])).toMatchObject([
      ['queue_full', true, { method: 'Shop.buy' }],
      ['timeout', true, { method: 'Shop.buy' }],
      ['aborted', true, { method: 'Shop.buy' }],
      ['acquired', true, { method: 'Shop.buy' }],
    ]);
  });

  it('keep the last known holder when a later reply names none', async () => {
    const messages = seen('tracing:nestjs-redis-lock:acquire:asyncEnd');
    const v = new VirtualClient();
    v.backend.onAcquire = ({ again }) => ({
      status: 'queued',
      askAt: v.clock.now() + 5_000,
      holder: again ? undefined : elsewhere,
    });
    const lock = v.acquire('a');
    await v.clock.advance(5_300);
    v.push();
    await lock;
    expect(messages).toMatchObject([['acquire:asyncEnd', { outcome: 'acquired', holder: { method: 'Shop.buy' } }]]);
  });

  it('name the same holder as the error of a wait that ended after the lock went to another caller', async () => {
    const messages = seen('tracing:nestjs-redis-lock:acquire:asyncEnd');
    const v = new VirtualClient();
    const first = await v.acquire('a');
    const second = v.acquire('a');
    const late = v.acquire('a', { wait: 200 }).catch((error: unknown) => error);
    await v.clock.advance(100);
    await first.release();
    await second;
    await v.clock.advance(100);
    const { holder: told } = (await late) as { holder: object };
    expect(told).toMatchObject({ fencingToken: (await second).fencingToken });
    expect(messages.at(-1)).toMatchObject(['acquire:asyncEnd', { outcome: 'timeout', holder: told }]);
  });

  it('show each key of a call for several, and the tries before the last as retried', async () => {
    const messages = seen('tracing:nestjs-redis-lock:acquire:asyncEnd');
    const v = new VirtualClient();
    v.backend.onAcquire = ({ name, enqueue, lease }) =>
      name === 'b' && !enqueue ? { status: 'contended', leaseLeft: 500 } : v.backend.grant(lease);
    await v.acquireAll(['a', 'b']);
    expect(messages.map(([, { key, outcome }]) => [key, outcome])).toEqual([
      ['a', 'acquired'],
      ['b', 'retried'],
      ['b', 'acquired'],
    ]);
  });

  it('count the wait for each key of a call for several from the call', async () => {
    const messages = seen('tracing:nestjs-redis-lock:acquire:asyncEnd');
    const v = new VirtualClient();
    v.backend.onAcquire = ({ name, enqueue, lease }) => {
      if (name !== 'b') return v.backend.grant(lease);
      return enqueue ? { status: 'queued', askAt: v.clock.now() + 5_000 } : { status: 'contended', leaseLeft: 500 };
    };
    const all = v.acquireAll(['a', 'b', 'c']);
    await v.clock.advance(300);
    v.push();
    await all;
    expect(messages.map(([, { key, outcome, waited }]) => [key, outcome, waited])).toEqual([
      ['a', 'acquired', 0],
      ['b', 'retried', 0],
      ['c', 'acquired', 0],
      ['b', 'acquired', 300],
      ['c', 'acquired', 300],
    ]);
  });

  it('show no re-entry: the flow has the lock', async () => {
    const messages = requests();
    const v = new VirtualClient();
    const scope = await v.enter('a');
    messages.length = 0;
    await scope.run(() => v.acquire('a'));
    expect(messages).toEqual([]);
  });

  it('label a request with the template that made its key, else with *', async () => {
    const messages = seen('tracing:nestjs-redis-lock:acquire:start');
    const v = new VirtualClient();
    const labelled = (key: string, ...templates: string[]) =>
      v.client.acquire(key, { ...lockDefaults, templates }).catch(() => undefined);
    compileKey(['a:#{id}', 'b:#{product.id}'], undefined, ['id', 'product']);
    await labelled('a:1', 'a:#{id}');
    await labelled('b:alice@example.com', 'a:#{id}', 'b:#{product.id}');
    await labelled('c:1', 'a:#{id}', 'b:#{product.id}');
    await labelled('d', '#{name}');
    expect(messages.map(([, { template }]) => template)).toEqual(['a:#{id}', 'b:#{product.id}', '*', '#{name}']);
  });
});

describe('the channels of a hold', () => {
  it('show it from the grant to the end of the work, with its request', async () => {
    const messages = holds();
    const v = new VirtualClient();
    const lock = await v.acquire('product:42');
    await v.clock.advance(70);
    await lock.release();
    const { fencingToken } = lock;
    expect(messages).toMatchObject([
      ['hold:start', { ...subject, fencingToken, request: { outcome: 'acquired' }, outcome: undefined }],
      ['hold:asyncEnd', { ...subject, fencingToken, outcome: 'released', held: 70 }],
    ]);
  });

  it('show a loss when it happens, and the end of the work after it', async () => {
    const messages = holds();
    const v = new VirtualClient();
    const lock = await v.acquire('a', { lease: 1_000 });
    await v.clock.advance(1_000);
    expect(messages.at(-1)).toMatchObject(['hold:error', { error: { reason: 'expired' }, outcome: undefined }]);
    await v.clock.advance(500);
    await lock.release();
    expect(messages.at(-1)).toMatchObject([
      'hold:asyncEnd',
      { error: { reason: 'expired' }, outcome: 'lost', held: 1_500 },
    ]);
  });

  it('show a loss that is found between the grant and the start of the hold', async () => {
    const v = new VirtualClient();
    on('tracing:nestjs-redis-lock:acquire:asyncEnd', ({ outcome }) => {
      if (outcome !== 'acquired') return;
      v.clock.stall(1_000);
      // Another call looks at the lock first.
      v.acquire('a', { wait: 0 }).catch(() => undefined);
    });
    const messages = holds();
    const lock = await v.acquire('a', { lease: 1_000 });
    await lock.release();
    expect(messages).toMatchObject([
      ['hold:start', { error: undefined }],
      ['hold:error', { error: { reason: 'expired' } }],
      ['hold:asyncEnd', { error: { reason: 'expired' }, outcome: 'lost' }],
    ]);
  });

  it('show a lock that another process revoked as lost, though only the release tells', async () => {
    const messages = holds();
    const v = new VirtualClient();
    const lock = await v.acquire('a');
    v.backend.onRelease = () => 'absent';
    await lock.release();
    expect(messages.map(([channel]) => channel)).toEqual(['hold:start', 'hold:error', 'hold:asyncEnd']);
    expect(messages.at(-1)).toMatchObject(['hold:asyncEnd', { error: { reason: 'revoked' }, outcome: 'lost' }]);
  });

  it('show an exported lock as ended, and an adopted one as begun without a request', async () => {
    const messages = holds();
    const v = new VirtualClient();
    const lock = await v.acquire('a');
    await lock.export();
    expect(messages.at(-1)).toMatchObject(['hold:asyncEnd', { key: 'a', outcome: 'exported', held: 0 }]);
    const ticket = {
      holds: [{ name: 'a', claim: 'x:1', fencingToken: 3 }],
      kind: 'exclusive',
      permits: 1,
      limit: 0,
    } as const;
    await v.client.adopt(ticket, lockDefaults);
    expect(messages.at(-1)).toMatchObject(['hold:start', { key: 'a', fencingToken: 3, request: undefined }]);
  });

  it('let a subscriber run the work, once for all that runs inside the hold', async () => {
    const ran: string[] = [];
    on('tracing:nestjs-redis-lock:hold:start', (context: LockHoldContext) => {
      context.run = (work) => {
        ran.push(context.key);
        return work();
      };
    });
    const v = new VirtualClient();
    const outer = await v.enter(['a', 'b']);
    const inner = await outer.run(() => v.enter('a'));
    expect(outer.run(() => inner.run(() => 'done'))).toBe('done');
    // Of both keys: once to take the inner lock, once to run inside it.
    expect(ran.toSorted()).toEqual(['a', 'a', 'b', 'b']);
  });

  it('build nothing without a subscriber', async () => {
    const v = new VirtualClient();
    on('nestjs-redis-lock:acquired', () => undefined);
    expect(LockHandle.holdOf(await v.acquire('other')).context).toBeUndefined();
    for (const stop of stops) stop();
    const lock = await v.acquire('a');
    expect(LockHandle.holdOf(lock)).toMatchObject({ context: undefined, options: lockDefaults });
    expect(LockHandle.holdOf(lock).options).not.toHaveProperty('request');
  });
});

describe('the channel of renewals', () => {
  it('says what was left of the lease when the reply came', async () => {
    const messages = seen('nestjs-redis-lock:renewed');
    const v = new VirtualClient();
    await v.acquire('product:42', { lease: 900, renew: true });
    await v.clock.advance(300);
    v.backend.onRenew = (all) => all.map(() => 'unanswered');
    await v.clock.advance(300);
    v.backend.onRenew = (all) => all.map(() => 'lost');
    await v.clock.advance(300);
    const told = { ...subject, lease: 900 };
    // Certain are 900 ms, less 0.1 % and 2 ms. A third of the lease has gone by, and before the repeated one 75 ms more.
    expect(messages.map(([, message]) => message)).toMatchObject([
      { ...told, outcome: 'renewed', leaseLeft: expect.closeTo(597.1) },
      { ...told, outcome: 'unanswered', leaseLeft: expect.closeTo(597.1) },
      { ...told, outcome: 'lost', leaseLeft: expect.closeTo(522.1) },
    ]);
  });

  it('is silent on a hold that has ended before the reply came: nothing of its lease matters any more', async () => {
    const messages = seen('nestjs-redis-lock:renewed');
    const v = new VirtualClient();
    const reply = deferred<RenewReply[]>();
    v.backend.onRenew = () => reply.promise;
    const lock = await v.acquire('a', { lease: 900, renew: true });
    await v.clock.advance(300);
    await lock.release();
    reply.resolve([v.backend.renewal(900)]);
    await settled();
    expect(messages).toEqual([]);
  });

  it('says what was left of the lease, also when maxHold ends before', async () => {
    const messages = seen('nestjs-redis-lock:renewed');
    const v = new VirtualClient();
    await v.acquire('a', { lease: 900, renew: true, maxHold: 350 });
    await v.clock.advance(300);
    expect(messages).toMatchObject([['renewed', { outcome: 'renewed', leaseLeft: expect.closeTo(597.1) }]]);
  });

  it('tells the confirmation of a grant by message from a renewal: what was left then is not of the lease', async () => {
    const messages = seen('nestjs-redis-lock:renewed');
    const v = new VirtualClient();
    v.letWait();
    const pushed = v.acquire('a', { lease: '60s', renew: true });
    await settled();
    v.push();
    await pushed;
    await v.clock.advance(21_000);
    expect(messages).toMatchObject([
      ['renewed', { outcome: 'renewed', provisional: true, leaseLeft: 2_000 }],
      ['renewed', { outcome: 'renewed', provisional: false, leaseLeft: expect.closeTo(39_938) }],
    ]);
  });

  it('does not lose a lock that would be kept without a subscriber', async () => {
    seen('nestjs-redis-lock:renewed');
    const v = new VirtualClient();
    const reply = deferred<RenewReply[]>();
    v.backend.onRenew = () => reply.promise;
    const lock = await v.acquire('a', { lease: 900, renew: true });
    await v.clock.advance(300);
    const renewal = v.backend.renewal(900);
    // The event loop stands still beyond the first lease, and reads the reply before its timers run.
    v.clock.stall(700);
    reply.resolve([renewal]);
    await settled();
    expect(lock.isHeld).toBe(true);
  });
});

describe('the connections of a process, for gauges', () => {
  it('have their holds and their waiting callers, until the connection has closed', async () => {
    const before = new Set(liveConnections);
    const v = new VirtualClient();
    const [own] = [...liveConnections].filter((connection) => !before.has(connection));
    const held = await v.acquire('product:1');
    v.letWait();
    const asking = v.acquire('c');
    expect([...own!.waitingCallers()]).toEqual([]);
    await settled();
    expect([...own!.waitingCallers()].map(({ key }) => key)).toEqual(['c']);
    v.push();
    await (await asking).release();
    v.backend.onAcquire = ({ lease }) => v.backend.grant(lease);
    const waiting = v.acquire('product:1');
    const single = v.acquire('b', { fairness: 'strict' });
    await settled();
    expect([...own!.heldLocks()].map(({ key }) => key)).toEqual(['product:1', 'b']);
    expect([...own!.waitingCallers()]).toEqual([{ ...subject, key: 'product:1' }]);
    expect([...own!.availability()]).toEqual([['backend', true]]);
    await held.release();
    await (await waiting).release();
    await (await single).release();
    expect([[...own!.heldLocks()], [...own!.waitingCallers()]]).toEqual([[], []]);
    await v.close();
    expect(liveConnections.has(own!)).toBe(false);
  });
});
