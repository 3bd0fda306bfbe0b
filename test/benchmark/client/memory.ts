import { setImmediate as turn } from 'node:timers/promises';

/** Bytes in use on the heap when all garbage is gone. Needs --expose-gc. */
export async function heapInUse(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await turn();
    globalThis.gc!();
  }
  return process.memoryUsage().heapUsed;
}
