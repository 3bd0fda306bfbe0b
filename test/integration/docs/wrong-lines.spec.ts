import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { program } from '../../support/cli-process.js';
import { groups } from '../../wrong-lines/groups.mjs';
import { pageOf } from '../../wrong-lines/page.mjs';
import { type Answer, answerTo, shown, usualCode } from '../../wrong-lines/run.mjs';

const page = join(import.meta.dirname, '../../../docs/reference/wrong-lines.md');
const answers = groups.map((): Answer[] => []);

describe('a wrong line is refused, or its writer learns it at the start', () => {
  describe.each(groups.map((group, index) => ({ ...group, index })))('$title', ({ rows, index }) => {
    it.each(rows.map((row) => [shown(row), row] as const))('%s', async (_line, row) => {
      const answer = await answerTo(row, program);
      answers[index]!.push(answer);
      expect(answer).toEqual({ code: row.code ?? usualCode, message: expect.any(String) });
      for (const words of row.says) expect(answer.message).toContain(words);
    });
  });

  it('is on the page with what was seen', () => {
    // npm run docs -- wrong-lines writes it.
    expect(readFileSync(page, 'utf8')).toBe(pageOf(groups.map((group, index) => [group, answers[index]!])));
  });
});
