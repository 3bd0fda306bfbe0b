import { closeSync, openSync, readSync } from 'node:fs';

/** The thread of the event loop, as Linux counts for it (https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat). */
export function loopThread(): { /** Milliseconds of CPU so far. */ computed(): number; close(): void } {
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const text = Buffer.alloc(32);
  return {
    computed() {
      const length = readSync(file, text, 0, text.length, 0);
      return Number.parseInt(text.toString('latin1', 0, length), 10) / 1e6;
    },
    close: () => closeSync(file),
  };
}
