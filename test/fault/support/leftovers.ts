import { afterEach, beforeEach, expect } from '@jest/globals';
import { until } from './conditions.js';

const count = (): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) {
    if (kind === 'Timeout' || kind === 'TCPSocketWrap' || kind === 'TCPConnectWrap')
      counts[kind] = (counts[kind] ?? 0) + 1;
  }
  counts['listeners of the process'] = process
    .eventNames()
    .reduce((sum, event) => sum + process.listenerCount(event), 0);
  return counts;
};

/** I4 and I5 of every test in the file that calls this: after a test the process has no more timers, sockets and listeners than before, and no promise
 * was rejected unhandled.
 */
export function expectNoLeftovers(): void {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  let before: Record<string, number>;
  beforeEach(() => {
    process.on('unhandledRejection', note);
    before = count();
  });
  afterEach(async () => {
    await until(
      `timers, sockets and listeners as before (${JSON.stringify(before)})`,
      () => Object.entries(count()).every(([kind, now]) => now <= (before[kind] ?? 0)),
      15_000,
    ).catch((error: unknown) => {
      throw new Error(`left: ${JSON.stringify(count())}`, { cause: error });
    });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled.splice(0)).toEqual([]);
  });
}
