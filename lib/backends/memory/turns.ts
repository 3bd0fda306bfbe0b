// Bound here, once: fake timers replace the global, and an answer that waits for them would never come.
import { setImmediate } from 'node:timers';
import { memoryRefusals } from './memory.messages.js';

let underWay = 0;

/** Messages and answers that travel for longer than this many turns after each other go on without end. */
const endless = 100_000;

/** One way over the network: what is asked is answered in a later turn of the event loop, never inside the call. */
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
 * Settles when nothing travels any more in this process, and every promise job that came of it has run.
 * @throws Error when that does not come to an end: something asks on and on.
 */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < endless; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (underWay === 0) return;
  }
  throw memoryRefusals.endless();
}
