import type { Actor } from '../actor.js';
import type { Verdict } from '../exhibit.js';
import type { Stage } from '../stage.js';

/** The holder is dead: does the next caller get the lock? */
export async function afterTheCrash(stage: Stage, next: Actor, key: string, command: string): Promise<Verdict> {
  const caller = next.call();
  const asksInVain = stage.isWaiting(caller, command);
  const outcome = await stage.first({
    served: () => caller.isInside,
    forEver: async () => asksInVain() && (await stage.endOf(key)) === -1,
  });
  if (outcome === 'forEver') {
    await stage.step(`${caller.name} asks again and again. The key has no expiry, and its owner is dead.`, {
      at: command,
      mood: 'bad',
    });
    return { broken: true, text: 'locked forever' };
  }
  await stage.step(`The lease of the dead process has ended: ${caller.name} has the lock and works.`, { mood: 'good' });
  caller.leave();
  await stage.until(() => caller.isOver);
  return { broken: false, text: 'free when the lease ends' };
}
