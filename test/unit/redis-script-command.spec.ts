import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Command, Redis } from 'ioredis';
import { callScript } from '../../lib/backends/redis/script-command.js';
import { scripts } from '../../lib/backends/redis/scripts.generated.js';

/** Records the commands that it sends. */
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
  it('has the same bytes on the wire as evalsha of ioredis, with any text in it', async () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }));
    const argument = fc.oneof(text, fc.nat(), fc.constant(1_763_712_345_678_901));
    await fc.assert(
      fc.asyncProperty(fc.array(argument, { minLength: 1, maxLength: 20 }), fc.nat(20), async (args, keys) => {
        const ours = new Recorder();
        const theirs = new Recorder();
        await callScript(ours, scripts.acquire, keys, args);
        await theirs.evalsha(scripts.acquire.sha1, keys, ...args);
        expect(bytesOf(ours.sent[0]!)).toBe(bytesOf(theirs.sent[0]!));
      }),
    );
  });

  it('shows tracers the name of the script, and no lock names', async () => {
    const redis = new Recorder();
    await callScript(redis, scripts.release, 1, ['lock:{secret}']);
    expect([redis.sent[0]!.name, redis.sent[0]!.args]).toEqual(['evalsha', [scripts.release.sha1]]);
  });
});
