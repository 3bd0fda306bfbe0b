import { describe, expect, it } from '@jest/globals';
import { LockTestBed } from '../../../lib/testing/index.js';

describe('a call inside a lock that another client of the process holds', () => {
  it.each([
    ['one try', 0, 'LOCK_CONTENDED'],
    ['a wait', 1_000, 'LOCK_WAIT_TIMEOUT'],
  ])('with %s says that it waits for itself', async (_what, wait, code) => {
    const bed = new LockTestBed();
    const [service, client] = [bed.locks(), bed.otherProcess()];
    const call = service.using('report', () => client.using('report', { wait }, () => 1));
    const error = await bed.until(call.catch((reason: unknown) => reason));
    expect(error).toMatchObject({
      code,
      message: expect.stringMatching(/so the call waits for itself.*RedisLockService/),
    });
  });

  it('says nothing of it where another caller holds the name, or the flow holds another name', async () => {
    const bed = new LockTestBed();
    const [service, client] = [bed.locks(), bed.otherProcess()];
    await bed.until(service.acquire('report'));
    const calls = [
      client.using('report', { wait: 0 }, () => 1),
      service.using('other', () => client.using('report', { wait: 0 }, () => 1)),
    ];
    const ends = await bed.until(Promise.allSettled(calls));
    expect(ends).toMatchObject(
      Array(2).fill({ reason: { code: 'LOCK_CONTENDED', message: expect.not.stringContaining('itself') } }),
    );
  });
});
