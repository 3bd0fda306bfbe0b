import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Command, Redis } from 'ioredis';
import { callScript } from '../../lib/backends/redis/script-command.js';
import { scripts } from '../../lib/backends/redis/scripts.generated.js';

/** Keeps what it is told to send. */
class Recorder extends Redis {
  readonly sent: Command[] = [];

  constructor() {
    super({ lazyConnect: true });
  }

  override sendCommand(command: Command): Promise<unknown> {
    this.sent.push(command);
    return Promise.resolve(null);
  }
}

const bytesOf = (command: Command): string => Buffer.from(command.toWritable({}) as string).toString('hex');

describe('a script call', () => {
  it('is the same bytes on the wire as by evalsha of ioredis, whatever text is in it', async () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }));
    const argument = fc.oneof(text, fc.nat(), fc.constant(1_763_712_345_678_901));
    await fc.assert(
      fc.asyncProperty(fc.array(argument, { minLength: 1, maxLength: 20 }), fc.nat(20), async (args, keys) => {
        const ours = new Recorder();
        const theirs = new Recorder();
        await callScript(ours, 'acquire', keys, args);
        await theirs.evalsha(scripts.acquire.sha1, keys, ...args);
        expect(bytesOf(ours.sent[0]!)).toBe(bytesOf(theirs.sent[0]!));
      }),
    );
  });

  it('shows tracers which script it is, and no lock names', async () => {
    const redis = new Recorder();
    await callScript(redis, 'release', 1, ['lock:{secret}']);
    expect([redis.sent[0]!.name, redis.sent[0]!.args]).toEqual(['evalsha', [scripts.release.sha1]]);
  });

  it('goes by evalsha where the client is of another copy of ioredis', async () => {
    const calls: unknown[][] = [];
    const stranger = { evalsha: (...args: unknown[]) => Promise.resolve(calls.push(args)) } as unknown as Redis;
    await callScript(stranger, 'renew', 2, ['a', 'b', 7]);
    expect(calls).toEqual([[scripts.renew.sha1, 2, 'a', 'b', 7]]);
  });
});
