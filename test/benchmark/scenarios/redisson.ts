import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoJava } from '../../../test/support/java.mjs';
import type { Turns, TurnsSettings } from '../client/turns.task.js';
import type { Driver } from '../drivers/driver.js';
import { ours } from '../drivers/ours.js';
import { nodeRedisson, oursRedisson, redissonItself } from '../drivers/redisson.js';
import { type Bar, atLeast, atMost } from '../report/bars.js';
import type { Results } from '../report/results.js';
import { ascending, percentile, sum } from '../report/statistics.js';
import { Client } from '../stage/client.js';
import { JavaProcess } from '../stage/java.js';
import { type Stage, scaled } from '../stage/stage.js';
import type { Scenario } from './scenario.js';

const scenario = 'redisson';
const lease = 10_000;
const alike = 'woken by a process of its own kind';
const byJava = 'woken by Redisson in Java';
const inJava = 'wakes Redisson in Java';
let count = 0;

/** A process that locks. Times are ms on the clock that all processes of this machine share. */
interface Side {
  /** Waits for the lock; the time of the grant. */
  take(name: string): Promise<number>;
  /** The time at which the release began. */
  giveBack(name: string): Promise<number>;
  turns(settings: TurnsSettings): Promise<Turns>;
  stop(): Promise<void>;
}

async function inNode(driver: Driver, url: string): Promise<Side> {
  const client = await Client.start(driver, url, { lease });
  return {
    take: (name) => client.do('ask', { name }),
    giveBack: () => client.do('giveBack', undefined),
    turns: (settings) => client.do('turns', settings),
    stop: () => client.close(),
  };
}

async function inJvm(url: string): Promise<Side> {
  const java = await JavaProcess.start(url, lease);
  return {
    take: async (name) => (await java.ask('a', 'lock', name))[1] / 1e6,
    giveBack: async (name) => Number((await java.ask('a', 'giveBack', name))[0]) / 1e6,
    async turns({ name, callers, until, inside }) {
      const threads = Array.from({ length: callers }, (_, index) =>
        java.ask(String(index), 'turns', name, until, inside),
      );
      const answers = (await Promise.all(threads)).map(([answer]) => answer.split(',').map(Number));
      return {
        turns: sum(answers.map(([turns]) => turns!)),
        longest: Math.max(...answers.map(([, ns]) => ns! / 1e6)),
      };
    },
    stop: () => java.stop(),
  };
}

/** From the moment one begins to give back until the other one, which waits, has the lock: ms. */
async function wakes(releaser: Side, waiter: Side, times: number): Promise<number[]> {
  const name = `bench:redisson:${count++}`;
  const taken: number[] = [];
  while (taken.length < times) {
    await releaser.take(name);
    const granted = waiter.take(name);
    // Long enough to have subscribed.
    await sleep(6 + Math.random() * 10);
    const released = await releaser.giveBack(name);
    taken.push((await granted) - released);
    await waiter.giveBack(name);
  }
  return ascending(taken);
}

/** Two of each. */
type Pairs = ReadonlyMap<Driver, readonly [Side, Side]>;

async function measureWakes(stage: Stage, of: Pairs): Promise<void> {
  const [java] = of.get(redissonItself)!;
  const rows = [
    ...[ours, oursRedisson, nodeRedisson, redissonItself].map(
      (driver) => ({ variant: alike, driver, pair: of.get(driver)! }) as const,
    ),
    ...[oursRedisson, nodeRedisson].flatMap((driver) => {
      const [node] = of.get(driver)!;
      return [
        { variant: byJava, driver, pair: [java, node] } as const,
        { variant: inJava, driver, pair: [node, java] } as const,
      ];
    }),
  ];
  const times = scaled(stage, 120, 10);
  for (const { pair } of rows) await wakes(...pair, times / 2);
  for (let round = 0; round < stage.rounds; round++) {
    let native = Number.NaN;
    for (const { variant, driver, pair } of rows) {
      const taken = await wakes(...pair, times);
      const [p50, p99] = [percentile(taken, 0.5), percentile(taken, 0.99)];
      if (driver === ours) native = p50;
      const values = { p50, p99, native: p50 / native };
      stage.results.add({ scenario, variant, driver: driver.name, round, values });
    }
    stage.tell(`${scenario}: wake-ups, round ${round + 1}`);
  }
}

interface Contest {
  readonly processes: number;
  /** In each of the processes here. */
  readonly callers: number;
  readonly threads: number;
  readonly inside: number;
}

const contests: readonly Contest[] = [
  { processes: 1, callers: 4, threads: 1, inside: 1 },
  { processes: 1, callers: 4, threads: 1, inside: 0 },
  { processes: 1, callers: 1, threads: 4, inside: 1 },
  { processes: 1, callers: 1, threads: 4, inside: 0 },
  { processes: 4, callers: 4, threads: 4, inside: 1 },
];
const counted = (number: number, what: string, plural = `${what}s`): string =>
  `${number} ${number === 1 ? what : plural}`;
const titleOf = ({ processes, callers, threads, inside }: Contest): string =>
  `${processes === 1 ? '' : `${counted(processes, 'process', 'processes')} × `}${counted(callers, 'caller')} here, ${counted(threads, 'thread')} in Java, ${inside} ms inside`;

async function measureShares(stage: Stage, here: readonly Side[], java: Side): Promise<void> {
  const time = scaled(stage, 10_000, 1_000);
  for (let round = 0; round < stage.rounds; round++) {
    for (const contest of contests) {
      const { processes, callers, threads, inside } = contest;
      const until = process.hrtime.bigint() + BigInt(Math.round(time * 1e6));
      const settings = { name: `bench:redisson:${count++}`, inside, until };
      const [javas, ...ours] = await Promise.all([
        java.turns({ ...settings, callers: threads }),
        ...here.slice(0, processes).map((side) => side.turns({ ...settings, callers })),
      ]);
      const all = sum([javas, ...ours].map(({ turns }) => turns));
      for (const [driver, its] of [
        [oursRedisson, ours],
        [redissonItself, [javas]],
      ] as const) {
        const turns = sum(its.map((one) => one.turns));
        const longest = Math.max(...its.map((one) => one.longest));
        const values = { turns: turns / (time / 1000), share: (100 * turns) / all, longest };
        stage.results.add({ scenario, variant: titleOf(contest), driver: driver.name, round, values });
      }
    }
    stage.tell(`${scenario}: shares, round ${round + 1}`);
  }
}

async function play(stage: Stage): Promise<void> {
  const { url } = stage.redis;
  const of = new Map<Driver, [Side, Side]>();
  const more: Side[] = [];
  try {
    for (const driver of [ours, oursRedisson, nodeRedisson])
      of.set(driver, [await inNode(driver, url), await inNode(driver, url)]);
    of.set(redissonItself, [await inJvm(url), await inJvm(url)]);
    await measureWakes(stage, of);
    const [java] = of.get(redissonItself)!;
    more.push(await inNode(oursRedisson, url), await inNode(oursRedisson, url));
    await measureShares(stage, [...of.get(oursRedisson)!, ...more], java);
  } finally {
    await Promise.all([...of.values(), more].flat().map((side) => side.stop()));
  }
}

/** Rows 3 and 19 of the matrix of issue 19. */
function bars(results: Results): Bar[] {
  const value = (variant: string, driver: Driver, column: string): number | undefined =>
    results.value(scenario, variant, driver.name, column);
  return [
    ...[byJava, inJava].flatMap((variant) => [
      atMost(`redisson, ${variant}: p50 ms`, 3, value(variant, oursRedisson, 'p50')),
      atMost(`redisson, ${variant}: p99 ms`, 20, value(variant, oursRedisson, 'p99')),
    ]),
    ...contests
      .filter(({ inside, processes }) => inside > 0 && processes === 1)
      .flatMap((contest) =>
        [oursRedisson, redissonItself].map((driver) =>
          atLeast(
            `redisson, ${titleOf(contest)}: % of acquisitions of ${driver.name}`,
            5,
            value(titleOf(contest), driver, 'share'),
          ),
        ),
      ),
  ];
}

export const redisson: Scenario = {
  name: scenario,
  title: 'Beside Redisson',
  columns: [
    { key: 'p50', title: 'p50 ms', digits: 2 },
    { key: 'p99', title: 'p99 ms', digits: 2, across: 'median' },
    { key: 'native', title: '× nestjs-redis-lock', digits: 2 },
    { key: 'turns', title: 'acquisitions/s' },
    { key: 'share', title: '% of acquisitions', digits: 1 },
    { key: 'longest', title: 'longest wait ms', across: 'largest' },
  ],
  missing: whyNoJava,
  play,
  bars,
};
