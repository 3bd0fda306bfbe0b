import { channel } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryLockBackend, MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { createLockClient } from '../../../lib/client/index.js';
import type { LockLog } from '../../../lib/core/lock-log.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { watch } from './virtual-client.js';

const failures: ReadonlyArray<readonly [how: string, line: () => void]> = [
  [
    'throws',
    () => {
      throw new Error('the disk is full');
    },
  ],
  ['rejects', async () => Promise.reject(new Error('the disk is full'))],
];

let warned: jest.SpiedFunction<typeof process.emitWarning>;

beforeEach(() => {
  warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
});

afterEach(() => {
  jest.restoreAllMocks();
});

function world(log: LockLog) {
  const clock = new VirtualClock();
  const server = new MemoryLockServer({ clock });
  const open = () => createLockClient({ backend: new MemoryLockBackend({ server }), log, shutdownTimeout: 500 });
  return { clock, server, open };
}

describe.each(failures)('with a log that %s', (_how, line) => {
  const log = { log: line, warn: line, error: line };

  it('a lost lock aborts its signal, the caller behind it is served, and a warning of the process has the line', async () => {
    const { clock, open } = world(log);
    const locks = open();
    const lock = await clock.until(locks.acquire('a', { lease: '1s' }));
    const { signal } = lock;
    const next = watch(locks.acquire('a'));
    await clock.advance('2s');
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(next.state).toBe('resolved');
    expect(warned.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^The log of the application has failed: the disk is full\. Its line was: Lock 'a' was lost/,
        ),
        { code: 'LOCK_LOG_FAILED' },
      ],
    ]);
  });

  it('a shutdown waits for running work, aborts it, releases its lock, and settles', async () => {
    const { clock, open } = world(log);
    const [locks, others] = [open(), open()];
    const lock = await clock.until(locks.acquire('a'));
    const { signal } = lock;
    await clock.until(locks.close());
    expect(signal.reason).toMatchObject({ reason: 'shutdown' });
    await expect(clock.until(others.tryAcquire('a'))).resolves.toMatchObject({ key: 'a' });
  });

  it('a leader leads, loses, steps down and leads again', async () => {
    const { clock, server, open } = world(log);
    const locks = open();
    const epochs: number[] = [];
    const lost: unknown[] = [];
    void locks.election('scheduler').campaign(
      async ({ signal, epoch }) => {
        epochs.push(epoch);
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        lost.push(signal.reason);
      },
      {
        onElected() {
          throw new Error('a hook that throws');
        },
        async onStepDown() {
          throw Object.defineProperty(new Error(), 'stack', {
            get() {
              throw new Error('an error that cannot be read');
            },
          });
        },
      },
    );
    await clock.advance('1s');
    server.faults.lose('scheduler');
    await clock.advance('1m');
    expect(lost).toMatchObject([{ code: 'LOCK_LOST', reason: 'revoked' }]);
    expect(epochs).toHaveLength(2);
    expect(warned.mock.calls.map(([text]) => text)).toContainEqual(
      expect.stringContaining('an error that cannot be read'),
    );
  });
});

describe('a subscriber of the request channel', () => {
  it('that sets anything in place of a span disturbs neither the lock nor the queue', async () => {
    const { clock, open } = world(new KeptLog());
    const locks = open();
    const spoil = (message: unknown): void => void Object.assign(message as object, { trace: Symbol('span') });
    channel('tracing:nestjs-redis-lock:acquire:start').subscribe(spoil);
    try {
      for (let call = 0; call < 2; call++) await (await clock.until(locks.acquire('a'))).release();
    } finally {
      channel('tracing:nestjs-redis-lock:acquire:start').unsubscribe(spoil);
    }
  });
});
