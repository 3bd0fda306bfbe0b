import type { Acts, Told } from './acts.js';
import type { Lane } from './lane.js';
import { isPace } from './pace.js';
import type { Act, PageOptions } from './page-server.js';
import type { Show } from './show.js';

/** Of each sale: more would not fit on the page, nor on a small machine. */
const mostProcesses = 6;
const mostOnTheirWay = 1_000;
const moreBuyers = 20;

/** What the buttons of the page may do, and when. */
export function actsOfPage(show: Show, acts: Acts): PageOptions['acts'] {
  const ofSale =
    (name: string, run: (told: Told) => Promise<string>): Act =>
    () =>
      show.isOpen ? acts.start(name, run) : 'Open the sale first.';

  const ofLane =
    (name: string, states: ReadonlyArray<Lane['state']>, run: (lane: Lane, told: Told) => Promise<string>): Act =>
    ({ lane: id }) => {
      const lane = show.locked.lanes.find((one) => one.id === id);
      if (!lane || !states.includes(lane.state)) return 'There is no such process any more.';
      return acts.start(name, (told) => run(lane, told));
    };
  const ofPurchase = (name: string, run: (lane: Lane, told: Told) => Promise<string>): Act => {
    const act = ofLane(name, ['serving'], run);
    return (fields) => (show.isOpen ? act(fields) : 'Open the sale first.');
  };

  return {
    open: async () => {
      if (acts.busy) return 'Wait for the end of what you did last.';
      if (show.sales.some(({ serving }) => serving.length === 0)) return 'No process serves.';
      await show.open();
      return undefined;
    },
    buyers: () => {
      if (!show.isOpen) return 'Open the sale first.';
      show.toCome = Math.min(mostOnTheirWay, show.toCome + moreBuyers);
      return undefined;
    },
    process: async () => {
      if (show.locked.lanes.filter(({ state }) => state !== 'gone').length >= mostProcesses)
        return `${mostProcesses} processes are enough.`;
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
    mend: ofLane('mend', ['serving'], (lane, told) => acts.mend(lane, told)),
    kill: ofLane('kill', ['serving', 'starting'], (lane, told) => acts.kill(lane, told)),
    'delete-key': ofSale('delete-key', (told) => acts.deleteKey(told)),
    'kill-redis': () => acts.start('kill-redis', (told) => acts.killRedis(told)),
    'start-redis': () => acts.start('start-redis', (told) => acts.startRedis(told)),
  };
}
