import { setImmediate } from '../../diagnostics/platform.js';
import { memoryRefusals } from './memory.messages.js';

let underWay = 0;

/** Messages and replies that follow each other for more than this many turns never end. */
const endless = 100_000;

/** One way over the network: the reply comes in a later turn of the event loop, never inside the call. */
export function nextTurn(): Promise<void> {
  underWay++;
  return new Promise((resolve) => {
    setImmediate(() => {
      underWay--;
      resolve();
    });
  });
}

/**
 * Settles when no message is under way in this process, and all promise jobs that follow have run.
 * @throws Error when that does not end: a caller requests locks in an endless loop.
 */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < endless; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (underWay === 0) return;
  }
  throw memoryRefusals.endless();
}
