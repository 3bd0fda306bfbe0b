import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryLockBackend, MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { createLockClient, type LockOptions, type RedisLockClient } from '../../../lib/client/index.js';
import { LockTestBed } from '../../../lib/testing/index.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';
import { KeptLog } from '../../../conformance/kept-log.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

let clock: VirtualClock;
let log: KeptLog;
let locks: RedisLockClient;
let others: RedisLockClient;

beforeEach(() => {
  clock = new VirtualClock();
  log = new KeptLog();
  const server = new MemoryLockServer({ clock });
  const open = () => createLockClient({ backend: new MemoryLockBackend({ server }), log, activity: false });
  [locks, others] = [open(), open()];
});

/** What is no longer reachable is collected, and its callbacks have run: those of objects that are made here have. */
async function collected(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    let isCollected = false;
    const registry = new FinalizationRegistry(() => (isCollected = true));
    registry.register({}, undefined);
    await setImmediate();
    // The callbacks run in a turn of their own behind it.
    while (!isCollected) {
      collect();
      await setImmediate();
    }
  }
}

const warnings = (): string[] => log.lines.filter((line) => line.startsWith('warn '));
const isFree = async (name: string): Promise<boolean> => {
  const lock = await clock.until(others.tryAcquire(name));
  await lock?.release();
  return lock !== null;
};

describe('a handle that is collected while it holds', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['acquire', () => locks.acquire('a', { label: 'import 4711' })],
    ['tryAcquire', () => locks.tryAcquire('a', { label: 'import 4711' })],
    ['acquire of several names', () => locks.acquire(['b', 'a'], { label: 'import 4711' })],
    ['adopt', async () => locks.adopt(await (await others.acquire('a')).export(), { label: 'import 4711' })],
  ])('gets one warning with its caller, and the lock of %s ends with its lease', async (_call, take) => {
    await clock.until(take().then(() => undefined));
    await clock.advance('1m');
    expect(await isFree('a')).toBe(false);
    expect(warnings()).toEqual([]);
    await collected();
    expect(warnings()).toEqual([
      expect.stringMatching(/'a' \('import 4711'\).*await using lock = await locks\.acquire/),
    ]);
    expect(await isFree('a')).toBe(false);
    await clock.advance('30s');
    expect(await isFree('a')).toBe(true);
    expect(log.lines.slice(1)).toContainEqual(
      expect.stringMatching(/^error 'import 4711': Lock 'a' was lost: its handle/),
    );
    await clock.advance('1m');
    expect(warnings()).toHaveLength(1);
  });

  it('is one of any number in one line', async () => {
    await clock.until(
      Promise.all(Array.from({ length: 100 }, (_, index) => locks.acquire(String(`a:${index}`)))).then(() => 0),
    );
    await clock.advance('20s');
    await collected();
    expect(warnings()).toEqual([expect.stringMatching(/'a:\d+', .* 95 more\./)]);
    await clock.until(locks.acquire('b').then(() => 0));
    await clock.advance('20s');
    await collected();
    expect(warnings().slice(1)).toEqual([expect.stringMatching(/these locks were collected without a release: 'b'\./)]);
  });

  it('aborts the signal that its work still looks at', async () => {
    const take = async (): Promise<AbortSignal> => {
      const { signal } = await locks.acquire('a');
      return signal;
    };
    const signal = await clock.until(take());
    await clock.advance('20s');
    await collected();
    expect(signal.aborted).toBe(false);
    await clock.advance('30s');
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
  });

  it('of a re-entry gets a warning, and the lock is released with its outer work', async () => {
    const work = locks.using('a', async () => {
      await locks.acquire('a').then(() => undefined);
      await clock.sleep('20s');
      await collected();
      await clock.sleep('1m');
    });
    await clock.until(work);
    expect(warnings()).toHaveLength(1);
    expect(await isFree('a')).toBe(true);
  });
});

describe('no warning names a handle', () => {
  it.each<[string, (options: LockOptions) => Promise<unknown>]>([
    ['that was released', async (options) => (await locks.acquire('a', options)).release()],
    [
      'that was released late',
      async (options) => {
        const lock = await locks.acquire('a', options);
        await clock.sleep('1m');
        await lock.release();
      },
    ],
    [
      'that was released by `await using`',
      async (options) => {
        await using _lock = await locks.acquire('a', options);
        await clock.sleep('1m');
      },
    ],
    [
      'that was exported',
      async (options) => {
        const lock = await locks.acquire('a', options);
        await clock.sleep('1m');
        await lock.export();
      },
    ],
    ['of `using`', (options) => locks.using('a', options, () => clock.sleep('1m'))],
    ...(['1s', '20s'] as const).map((age): [string, (options: LockOptions) => Promise<unknown>] => [
      `of a re-entry that was released after ${age}, while the work around it goes on`,
      (options) => {
        const reenter = async (): Promise<void> => {
          const inner = await locks.acquire('a');
          await clock.sleep(age);
          await inner.release();
        };
        return locks.using('a', options, async () => {
          await reenter();
          await clock.sleep('20s');
          await collected();
          await clock.sleep('1m');
        });
      },
    ]),
  ])('%s', async (_what, use) => {
    await clock.until(use({}).then(() => undefined));
    await clock.advance('1s');
    await collected();
    expect(log.lines).toEqual([]);
  });

  it('of a lock that was lost before', async () => {
    await clock.until(locks.acquire('a').then(() => undefined));
    await clock.advance('11s');
    expect(await clock.until(others.forceRelease('a'))).toBe(true);
    await clock.advance('20s');
    expect(log.lines).toContainEqual(expect.stringMatching(/^error Lock 'a' was lost/));
    await collected();
    expect(warnings().filter((line) => line.includes('collected'))).toEqual([]);
  });

  it('in a test bed, where a test may let another process hold a lock without a variable for it', async () => {
    const bed = new LockTestBed();
    await bed.otherProcess().acquire('a');
    await bed.locks().acquire('b');
    await bed.advance('1m');
    await collected();
    await bed.advance('1m');
    expect([bed.inspect('a').holders.length, bed.inspect('b').holders.length]).toEqual([1, 1]);
  });

  it('that its caller keeps, for as long as it likes', async () => {
    const lock = await clock.until(locks.acquire('a'));
    await clock.advance('20s');
    await collected();
    await clock.advance('1h');
    expect(log.lines).toEqual([]);
    expect(lock.isHeld).toBe(true);
  });
});
