import { drivers } from '../drivers/all.js';
import type { DecoratedSettings, Manner } from '../client/decorated.task.js';
import { type Bar, atLeast, exactly, ratio } from '../report/bars.js';
import { type Results, nameOf } from '../report/results.js';
import { type Stage, scaled, withClients } from '../stage/stage.js';
import type { Scenario } from './scenario.js';

const scenario = 'decorated';
const manners: readonly Manner[] = ['plain', 'using', 'decorated'];
const variants = [
  { variant: 'free lock', entered: false },
  { variant: 're-entered lock', entered: true },
];

/** Ours only: the ways to call the same method, round by round. */
async function play(stage: Stage): Promise<void> {
  const { redis, results, rounds } = stage;
  const driver = drivers.find(({ name }) => name === nameOf('ours'))!;
  await withClients(stage, [driver], redis.url, {}, async (clients) => {
    const [client] = clients.get(driver)!;
    const call = (settings: Omit<DecoratedSettings, 'url'>) => client!.do('decorated', { url: redis.url, ...settings });
    for (const { variant, entered } of variants) {
      const add = (round: number, values: Record<string, number>) => {
        results.add({ scenario, variant, driver: driver.name, round, values });
      };
      for (const manner of manners) await call({ manner, entered, time: scaled(stage, 300) });
      const calls = 1600;
      const counted = await redis.requestsDuring(() => call({ manner: 'decorated', entered, calls }));
      // The lock around the loop is taken and given back once.
      add(0, { requests: (counted.requests - (entered ? 2 : 0)) / calls });
      for (let round = 0; round < 2 * rounds + 1; round++) {
        for (const manner of manners) {
          if (manner === 'plain' && !entered) continue;
          add(round, { [manner]: await call({ manner, entered, time: scaled(stage, 400) }) });
        }
      }
      stage.tell(`${scenario}: ${variant}`);
    }
  });
}

function bars(results: Results): Bar[] {
  const of = (variant: string, column: string) => results.value(scenario, variant, nameOf('ours'), column);
  return [
    atLeast(
      '@DistributedLock against using on the same free name',
      0.9,
      ratio(of('free lock', 'decorated'), of('free lock', 'using')),
    ),
    exactly('requests per re-entry', 0, of('re-entered lock', 'requests')),
  ];
}

export const decorated: Scenario = {
  name: scenario,
  title: 'A method: decorated, in `using`, and without a lock',
  columns: [
    { key: 'decorated', title: 'decorated calls/s' },
    { key: 'using', title: 'using calls/s' },
    { key: 'plain', title: 'plain calls/s' },
    { key: 'requests', title: 'requests a decorated call', digits: 2 },
  ],
  play,
  bars,
};
