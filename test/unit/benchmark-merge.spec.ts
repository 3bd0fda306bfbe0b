import { expect, it } from '@jest/globals';
import { merge } from '../benchmark/report/merge.js';

const page = (machine: string, bars: string[], sections: Record<string, string>, settings: string[]): string => {
  const texts = Object.entries(sections).map(([title, text]) => `## ${title}\n\n${text}\n\n`);
  const table = (rows: string[]): string => ['| what | is |', '| --- | --- |', ...rows].join('\n');
  return `${machine}\n\n## Bars\n\n${table(bars)}\n\n${texts.join('')}## Settings\n\n${table(settings)}\n`;
};

it('a scenario that is measured by itself replaces its own tables, and leaves the others as they are', () => {
  const old = page('May; Redis 7', ['| a | 1 |', '| b | 2 |'], { A: 'one', B: 'two' }, ['| x | 1 |']);
  const fresh = page('June; Redis 8', ['| b | 3 |', '| c | 4 |'], { B: 'three', C: 'four' }, [
    '| x | 2 |',
    '| y | 3 |',
  ]);
  const alone = 'Measured by itself: June; Redis 8\n\n';
  expect(merge(old, fresh)).toBe(
    page('May; Redis 7', ['| a | 1 |', '| b | 3 |', '| c | 4 |'], { A: 'one', B: `${alone}three`, C: `${alone}four` }, [
      '| x | 2 |',
      '| y | 3 |',
    ]),
  );
});
