import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import ts from 'typescript';
import * as testing from '../../../lib/testing/index.js';
import { asTest } from '../../../site/lab/as-test.js';
import { Lab } from '../../../site/lab/lab.js';
import type { Action, Settings } from '../../../site/lab/scene.js';
import { scenes } from '../../../site/lab/scenes.js';
import { randomRuns } from '../../support/random-runs.js';

/** What a reader may press, in any order. `who`, `job` and `key` count among those of the scene. */
interface Press {
  readonly do: Action['do'];
  readonly who: number;
  readonly job: number;
  readonly key: number;
  readonly ms: number;
}

const press: fc.Arbitrary<Press> = fc.record({
  do: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<Action['do']>('start', 'wait') },
    { weight: 3, arbitrary: fc.constantFrom<Action['do']>('stop', 'continue', 'kill') },
    { weight: 3, arbitrary: fc.constantFrom<Action['do']>('redis-away', 'redis-back', 'lose-message') },
    { weight: 1, arbitrary: fc.constantFrom<Action['do']>('delete', 'force', 'clock') },
  ),
  who: fc.nat({ max: 3 }),
  job: fc.nat({ max: 4 }),
  key: fc.nat({ max: 1 }),
  ms: fc.constantFrom(1, 100, 250, 1_000, 3_000, 5_000, 10_000, 40_000, 61_000),
});

const settings: fc.Arbitrary<Partial<Settings>> = fc.oneof(
  fc.constant({}),
  fc.record({
    lease: fc.constantFrom(5_000, 10_000, 20_000, 30_000, 60_000),
    renew: fc.boolean(),
    fencing: fc.constantFrom<Settings['fencing']>('off', 'at the write', 'before the read'),
  }),
);

type Walk = [scene: string, changed: Partial<Settings>, presses: Press[]];

/** Walks that were found, shrunk. */
const pressed = (what: Action['do'], ms = 1, by: Partial<Press> = {}): Press => ({
  do: what,
  who: 0,
  job: 0,
  key: 0,
  ms,
  ...by,
});
const known: Walk[] = [
  [
    'pause',
    { lease: 60_000, renew: false, fencing: 'off' },
    [
      // A stopped process cannot end its timers, however long it is stopped.
      ...[pressed('start'), pressed('redis-away'), pressed('wait', 61_000), pressed('stop'), pressed('redis-back')],
      ...[pressed('start'), pressed('wait', 61_000), pressed('stop'), pressed('start'), pressed('stop')],
    ],
  ],
  [
    'orders',
    { fencing: 'before the read' },
    [
      // The row that a late job writes first is the one that refuses it, also where the job names its locks in another order.
      ...[pressed('start', 1, { job: 3 }), pressed('delete'), pressed('stop'), pressed('start', 1, { who: 1 })],
      ...[pressed('force', 1, { key: 1 }), pressed('continue'), pressed('wait', 5_000)],
    ],
  ],
  [
    'readers',
    {},
    [
      // After an outage, two processes poll at the same time: the one that connected first is the first.
      ...[pressed('start'), pressed('start', 1, { who: 2, job: 1 }), pressed('start', 1, { who: 1 })],
      ...[pressed('redis-away'), pressed('wait', 40_000), pressed('redis-back')],
    ],
  ],
];

function actionOf(lab: Lab, { do: what, who, job, key, ms }: Press): Action {
  const of = <T>(all: readonly T[], index: number): T => all[index % all.length]!;
  const { processes, jobs } = lab.scene;
  switch (what) {
    case 'start':
      return { do: what, who: of(processes, who), job: of(Object.keys(jobs), job) };
    case 'stop':
    case 'continue':
    case 'kill':
      return { do: what, who: of(processes, who) };
    case 'delete':
    case 'force':
      return { do: what, key: of(lab.keys, key) };
    case 'wait':
      return { do: what, ms };
    case 'clock':
      return { do: what, ms: 60_000 };
    case 'lose-message':
    case 'redis-away':
    case 'redis-back':
      return { do: what };
  }
}

/** Runs a test that a reader has copied. */
async function run(text: string): Promise<void> {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  let test: (() => Promise<void>) | undefined;
  const framework = {
    expect,
    describe: (_: string, body: () => void) => body(),
    it: (_: string, body: () => Promise<void>) => (test = body),
  };
  const require = (id: string): unknown => (id === '@jest/globals' ? framework : testing);
  // oxlint-disable-next-line typescript/no-implied-eval -- the text is what is tested
  new Function('require', 'exports', outputText)(require, {});
  await test!();
}

it('any walk of a reader breaks no guarantee, makes whole sentences, and is copied as a test that passes', async () => {
  const walk = fc.asyncProperty(
    fc.constantFrom(...Object.keys(scenes)),
    settings,
    fc.array(press, { minLength: 5, maxLength: 40, size: 'max' }),
    async (name, changed, presses) => {
      const lab = new Lab(scenes[name]!, changed);
      try {
        await lab.start();
        for (const one of presses) await lab.do(actionOf(lab, one));
        expect(lab.guarantees.list.filter(({ state }) => state === 'broken')).toEqual([]);
        expect(lab.story.told.filter(({ text }) => /undefined|null|NaN|\?/.test(text))).toEqual([]);
        await run(asTest(lab));
      } finally {
        lab.close();
      }
    },
  );
  await fc.assert(walk, { ...randomRuns<Walk>({ usual: 150, deep: 300 }), examples: known });
}, 120_000);
