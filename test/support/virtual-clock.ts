import { settled } from '../../lib/backends/memory/turns.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';

export { settled, VirtualClock };

/** Its timers fire this much (ms) before their time, as those of Node may. */
export class EarlyClock extends VirtualClock {
  earlyBy = 0;

  override timer(delay: number, fn: () => void, isBackground?: boolean): () => void {
    return super.timer(Math.max(Math.min(delay, 1), delay - this.earlyBy), fn, isBackground);
  }
}

/** Time passes also while messages are under way. */
export class HastyClock extends VirtualClock {
  override settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }
}

/** Waits also for the work that a hand-off leaves to the next turn of the event loop. */
export class PatientClock extends VirtualClock {
  override async settle(): Promise<void> {
    await settled();
    await new Promise(setImmediate);
    await settled();
  }
}
