import type { Acts, Told } from './acts.js';
import type { Lane } from './lane.js';
import { isPace } from './pace.js';
import type { Act, PageOptions } from './page-server.js';
import type { Show } from './show.js';
import { endedByItself } from './story.js';

/** Of each sale: more would not fit on the page, nor on a small machine. */
const mostProcesses = 6;
const mostOnTheirWay = 1_000;
const moreBuyers = 20;

/** What the buttons of the page may do, and when. */
export function actsOfPage(show: Show, acts: Acts): PageOptions['acts'] {
  /** For what needs a buyer who has the lock. */
  const isOff = (): string | undefined =>
    show.isOpen ? (show.isRedisAway ? 'Bring Redis back first.' : undefined) : 'Open the sale first.';

  const ofLane =
    (
      name: string,
      refusal: (lane: Lane) => string | undefined,
      run: (lane: Lane, told: Told) => Promise<string>,
    ): Act =>
    ({ lane: id }) => {
      const lane = show.locked.lanes.find((one) => one.id === id);
      if (lane?.state !== 'serving') return 'There is no such process, or it does not serve.';
      return refusal(lane) ?? acts.start(name, (told) => run(lane, told));
    };
  const ofPurchase = (name: string, run: (lane: Lane, told: Told) => Promise<string>): Act =>
    ofLane(
      name,
      (lane) => isOff() ?? (lane.isCut ? 'Mend its link first.' : undefined),
      async (lane, told) => {
        const text = await run(lane, told);
        return lane.state === 'gone' ? endedByItself(lane.name) : text;
      },
    );
  /** Two clicks are one sale. */
  let opening: Promise<void> | undefined;

  return {
    open: async () => {
      if (acts.busy) return 'Wait for the end of what you did last.';
      if (show.sales.some(({ serving }) => serving.length === 0)) return 'No process serves.';
      opening ??= show.open().finally(() => (opening = undefined));
      await opening;
      return undefined;
    },
    buyers: () => {
      if (!show.isOpen) return 'Open the sale first.';
      show.toCome = Math.min(mostOnTheirWay, show.toCome + moreBuyers);
      return undefined;
    },
    process: async () => {
      if (show.processCount >= mostProcesses) return `${mostProcesses} processes are enough.`;
      await show.addProcess();
      return undefined;
    },
    pace: ({ pace }) => {
      if (!isPace(pace)) return 'There is no such pace.';
      show.pace = pace;
      show.options.onChange();
      return undefined;
    },
    stop: ofPurchase('stop', (lane, told) => acts.stop(lane, told)),
    cut: ofPurchase('cut', (lane, told) => acts.cut(lane, told)),
    mend: ofLane(
      'mend',
      (lane) => (lane.isCut ? undefined : 'Its link is whole.'),
      (lane, told) => acts.mend(lane, told),
    ),
    kill: ofLane(
      'kill',
      () => undefined,
      (lane, told) => acts.kill(lane, told),
    ),
    'delete-key': () => isOff() ?? acts.start('delete-key', (told) => acts.deleteKey(told)),
    'kill-redis': () =>
      show.isRedisAway ? 'Redis is gone.' : acts.start('kill-redis', (told) => acts.killRedis(told)),
    'start-redis': () =>
      show.isRedisAway ? acts.start('start-redis', (told) => acts.startRedis(told)) : 'Redis is there.',
  };
}
