import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ChildGroup } from '../../lib/cli/child-group.js';
import { Supervision } from '../../lib/cli/supervision.js';
import type { Lock } from '../../lib/core/lock.js';

const grace = 1_000;

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** A lock whose certain end can be moved, and a command that ends when the test says so, or by SIGKILL. */
function scene(certainFor: number) {
  const start = performance.now();
  const lost = new AbortController();
  const signals: string[] = [];
  let endsAt = certainFor;
  let lives = true;
  let exit!: (code: number) => void;
  const exited = new Promise<number>((resolve) => (exit = resolve));
  let end!: () => void;
  const gone = new Promise<void>((resolve) => (end = resolve));
  const now = () => Math.round(performance.now() - start);
  const send = (signal: string): boolean => {
    if (lives) signals.push(`${signal} at ${now()}`);
    return lives;
  };
  const died = (code: number): void => {
    lives = false;
    exit(code);
    end();
  };
  const group = {
    exited,
    gone: async () => {
      await gone;
      return [];
    },
    send,
    kill: () => {
      const had = send('SIGKILL');
      died(137);
      return had;
    },
  } as unknown as ChildGroup;
  const lock = {
    keys: ['a'],
    signal: lost.signal,
    get leaseLeft() {
      return lost.signal.aborted ? 0 : Math.max(0, endsAt - now());
    },
  } as unknown as Lock;
  const lines: string[] = [];
  const code = new Supervision(lock, group, grace, (line) => lines.push(line)).end();
  return {
    signals,
    lines,
    code,
    died,
    /** The command itself; what it has started works on. */
    exit,
    renew: (until: number) => (endsAt = until),
    lose: (reason: string) => lost.abort({ reason }),
  };
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

describe('the supervision of a command', () => {
  it('sends SIGTERM `grace` before the certain end of the lock, and SIGKILL while a fifth of it is left', async () => {
    const { signals, lines, code } = scene(5_000);
    await pass(10_000);
    expect(signals).toEqual(['SIGTERM at 4000', 'SIGKILL at 4800']);
    expect(lines).toEqual([
      expect.stringMatching(/^Lock 'a' cannot be kept: .* SIGKILL in 800 ms\.$/),
      expect.stringMatching(/gets SIGKILL\.$/),
    ]);
    expect(await code).toBe(76);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('does neither while the lock is renewed, and ends with the code of the command', async () => {
    const { signals, lines, renew, died, lose, code } = scene(5_000);
    for (let at = 3_000; at < 30_000; at += 3_000) {
      await pass(3_000);
      renew(at + 5_000);
    }
    died(7);
    expect(await code).toBe(7);
    // Its release.
    lose('released');
    expect([signals, lines]).toEqual([[], []]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('sends SIGKILL at once when the certain end is nearer than a fifth of `grace`, as after a stop of this program', async () => {
    const { signals, lines, renew } = scene(5_000);
    renew(3_150);
    await pass(10_000);
    // The timer was set for 4,000.
    expect(signals).toEqual(['SIGKILL at 4000']);
    expect(lines).toEqual([expect.stringMatching(/gets SIGKILL\.$/)]);
  });

  it('gives a command whose lock was taken away four fifths of `grace`', async () => {
    const { signals, lines, lose, code } = scene(5_000);
    await pass(1_000);
    lose('revoked');
    await pass(10_000);
    expect(signals).toEqual(['SIGTERM at 1000', 'SIGKILL at 1800']);
    expect(lines[0]).toMatch(/^Lock 'a' was lost: /);
    expect(await code).toBe(76);
  });

  it('gives none to a command whose lease has ended', async () => {
    const { signals, lose } = scene(5_000);
    await pass(1_000);
    lose('expired');
    await pass(10_000);
    expect(signals).toEqual(['SIGKILL at 1000']);
  });

  it('ends what the command leaves behind: SIGTERM, and SIGKILL after four fifths of `grace`', async () => {
    const { signals, exit, code } = scene(50_000);
    await pass(2_000);
    exit(4);
    await pass(10_000);
    expect(signals).toEqual(['SIGTERM at 2000', 'SIGKILL at 2800']);
    expect(await code).toBe(4);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('leaves what the command leaves behind no longer than the lock is certain', async () => {
    const { signals, exit, renew, code } = scene(3_000);
    await pass(1_900);
    exit(4);
    renew(2_300);
    await pass(201);
    expect(jest.getTimerCount()).toBe(0);
    expect(signals).toEqual(['SIGTERM at 1900', 'SIGTERM at 2000', 'SIGKILL at 2100']);
    expect(await code).toBe(76);
  });

  it('leaves no timer behind a command that obeys', async () => {
    const { signals, died, code } = scene(5_000);
    await pass(4_100);
    died(143);
    expect(await code).toBe(76);
    expect(signals).toEqual(['SIGTERM at 4000']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('signals a lost command once, however often it looks', async () => {
    const { signals, lose, exit } = scene(5_000);
    await pass(4_000);
    lose('expired');
    exit(1);
    await pass(10_000);
    expect(signals).toEqual(['SIGTERM at 4000', 'SIGKILL at 4800']);
  });
});
