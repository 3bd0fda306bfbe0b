import { describe, expect, it } from '@jest/globals';
import { KeptLog } from '../../conformance/kept-log.js';
import { createLockClient } from '../../lib/client/index.js';
import { DistributedLock, type LockError, LockUnavailableError, type RedisLockService } from '../../lib/index.js';
import { LockTestBed } from '../../lib/testing/index.js';
import { ScriptedBackend } from '../support/scripted-backend.js';
import { VirtualClock } from '../support/virtual-clock.js';

/** The application. Jest maps the frames to the sources, and leaves out that they are `async`. */
class Orders {
  constructor(private readonly locks: RedisLockService) {}

  @DistributedLock({ key: 'order:1', wait: 10 })
  async pay(): Promise<void> {}

  @DistributedLock({ key: 'order:1', wait: 10 })
  async *lines(): AsyncGenerator<number> {}

  @DistributedLock({ key: 'parcel', lease: 10 })
  async pack(work: () => Promise<void>): Promise<void> {
    await work();
  }

  async place(call: (locks: RedisLockService, orders: this) => Promise<unknown>): Promise<void> {
    await call(this.locks, this);
  }

  async placeAll(...calls: Array<(locks: RedisLockService) => Promise<unknown>>): Promise<void> {
    await Promise.all(calls.map((call) => call(this.locks)));
  }
}

/** The error of one call while another process has the lock. */
async function errorOf(run: (orders: Orders, bed: LockTestBed) => Promise<unknown>): Promise<LockError> {
  const bed = new LockTestBed();
  await bed.otherProcess().acquire('order:1');
  const orders = bed.connect(new Orders(bed.locks()));
  return bed.until(
    run(orders, bed).then(
      () => Promise.reject(new Error('the call succeeded')),
      (error: unknown) => error as LockError,
    ),
  );
}

const framesOf = ({ stack }: Error): string[] => stack!.split('\n').filter((line) => /^\s+at /.test(line));

describe('the error of a call that gets no lock', () => {
  it.each([
    ['acquire, one try', 'LOCK_CONTENDED', (locks) => locks.acquire('order:1', { wait: 0 })],
    ['acquire', 'LOCK_WAIT_TIMEOUT', (locks) => locks.acquire('order:1', { wait: 10 })],
    ['acquire of several names', 'LOCK_WAIT_TIMEOUT', (locks) => locks.acquire(['order:1', 'b'], { wait: 10 })],
    ['using, one try', 'LOCK_CONTENDED', (locks) => locks.using('order:1', { wait: 0 }, () => 1)],
    ['using', 'LOCK_WAIT_TIMEOUT', (locks) => locks.using('order:1', { wait: 10 }, () => 1)],
  ] as ReadonlyArray<[string, string, (locks: RedisLockService) => Promise<unknown>]>)(
    'of %s has the frame of its caller on top, and names its method',
    async (_call, code, call) => {
      const error = await errorOf((orders) => orders.place((locks) => call(locks)));
      expect(error).toMatchObject({ code, message: expect.stringMatching(/^Orders\.place: Lock 'order:1' /) });
      expect(framesOf(error)[0]).toMatch(/^ {4}at (async )?Orders\.place \(.*caller-stack\.spec\.ts:\d+:\d+\)$/);
      expect(error.stack).toMatch(new RegExp(`^${error.name}: Orders\\.place: Lock`));
    },
  );

  it('of tryAcquire has the frame of its caller on top', async () => {
    const error = await errorOf((orders, bed) => {
      bed.faults.unavailable('1m');
      return orders.place((locks) => locks.tryAcquire('order:1'));
    });
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(framesOf(error)[0]).toMatch(/at (async )?Orders\.place /);
  });

  it.each([
    ['method', (orders) => orders.place((_locks, own) => own.pay())],
    [
      'generator',
      (orders) =>
        orders.place(async (_locks, own) => {
          await own.lines().next();
        }),
    ],
  ] as ReadonlyArray<[string, (orders: Orders) => Promise<unknown>]>)(
    'of a decorated %s has the frame of its caller, and names the decorated method',
    async (kind, call) => {
      const error = await errorOf(call);
      expect(error.message).toMatch(kind === 'method' ? /^Orders\.pay: Lock/ : /^Orders\.lines: Lock/);
      expect(framesOf(error).some((frame) => frame.includes(' Orders.place ('))).toBe(true);
      expect(framesOf(error)[0]).toContain('caller-stack.spec.ts');
    },
  );

  it('has the label behind the method', async () => {
    const call = (locks: RedisLockService) => locks.using('order:1', { wait: 0, label: 'import 4711' }, () => 1);
    const error = await errorOf((orders) => orders.place(call));
    expect(error.message).toMatch(/^Orders\.place 'import 4711': Lock 'order:1' /);
  });

  it('names the caller of the work around it, where the work is the call itself', async () => {
    const error = await errorOf((orders) =>
      orders.place((locks) => locks.using('parcel', () => locks.acquire('order:1', { wait: 0 }))),
    );
    expect(error.message).toMatch(/^Orders\.place: Lock 'order:1'/);
    expect(framesOf(error)[0]).toMatch(/at (async )?Orders\.place /);
  });

  it('names the method behind Promise.all', async () => {
    const error = await errorOf((orders) => orders.placeAll((locks) => locks.acquire('order:1', { wait: 0 })));
    expect(error.message).toMatch(/^Orders\.placeAll: Lock/);
  });

  it('has whole milliseconds', async () => {
    const bed = new LockTestBed();
    await bed.otherProcess().acquire('order:1', { lease: '1s' });
    await bed.advance(1);
    const error = await bed.until(
      bed
        .locks()
        .acquire('order:1', { wait: 0 })
        .catch((reason: unknown) => reason),
    );
    expect(error).toMatchObject({ code: 'LOCK_CONTENDED', leaseLeft: expect.any(Number) });
    expect(Number.isInteger((error as { leaseLeft: number }).leaseLeft)).toBe(true);
  });

  it('is its own for each caller, although one failure refused them all', async () => {
    const clock = new VirtualClock();
    const backend = new ScriptedBackend(clock);
    const cause = new Error('the network is gone');
    backend.onAcquire = () => Promise.reject(new LockUnavailableError('Redis is away.', { cause, uncertain: true }));
    const client = createLockClient({ backend: Object.assign(backend, { clock }), log: new KeptLog() });
    async function first(): Promise<unknown> {
      return await client.acquire('a');
    }
    async function second(): Promise<unknown> {
      return await client.acquire('a');
    }
    const errors = (await Promise.allSettled([first(), second()])).map(
      (end) => (end as PromiseRejectedResult).reason as LockUnavailableError,
    );
    expect(errors).toMatchObject(Array(2).fill({ code: 'LOCK_UNAVAILABLE', uncertain: true, cause }));
    expect(errors.map((error) => framesOf(error)[0])).toEqual([
      expect.stringContaining(' first ('),
      expect.stringContaining(' second ('),
    ]);
  });
});

it('a caller without a frame is not named as a function of the library', async () => {
  const error = await errorOf((_orders, bed) => {
    const locks = bed.locks();
    return locks.using('order:2', () => locks.using('order:1', { wait: 0 }, () => 1));
  });
  expect(error.message).toMatch(/^Lock 'order:1' /);
});

describe('the error of a lock that was lost', () => {
  it('has the frame of the caller of the work', async () => {
    const error = await errorOf((orders, bed) => orders.place((_locks, own) => own.pack(() => bed.sleep(20))));
    expect(error).toMatchObject({ code: 'LOCK_LOST', message: expect.stringMatching(/^Orders\.pack: Lock/) });
    expect(framesOf(error).some((frame) => frame.includes(' Orders.place ('))).toBe(true);
  });

  it('has the frame of assertHeld() where that found it, and stays the reason of the signal', async () => {
    const bed = new LockTestBed();
    const lock = await bed.until(bed.locks().acquire('a', { lease: 10 }));
    await bed.advance(10);
    function write(): void {
      lock.assertHeld();
    }
    expect(write).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
    expect(framesOf(lock.signal.reason as Error)[0]).toMatch(/at write /);
    const again = await Promise.resolve()
      .then(write)
      .catch((error: unknown) => error);
    expect(again).toBe(lock.signal.reason);
  });
});

it('what the application does to stacks hides no error', async () => {
  const { prepareStackTrace } = Error;
  const error = errorOf((orders) => {
    Error.prepareStackTrace = () => {
      throw new Error('no stacks here');
    };
    return orders.place((locks) => locks.acquire('order:1', { wait: 0 }));
  });
  try {
    await expect(error).resolves.toMatchObject({ code: 'LOCK_CONTENDED' });
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
  }
});
