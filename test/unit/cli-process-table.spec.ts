import { execFileSync } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { processTable } from '../../lib/cli/process-table.js';

it('the table of processes says of this one what ps says', () => {
  const said = execFileSync('ps', ['-o', 'ppid=,pgid=,sess=', '-p', String(process.pid)], { encoding: 'utf8' });
  const [parent, group, session] = said.trim().split(/ +/).map(Number);
  const found = processTable('linux').find(({ pid }) => pid === process.pid);
  expect(found).toMatchObject({ parent, group, session, isDead: false, startedAt: expect.stringMatching(/^\d+$/) });
});

it('has no sessions where it comes from ps, and the same numbers', () => {
  const here = processTable('linux').find(({ pid }) => pid === process.pid)!;
  expect(processTable('darwin').find(({ pid }) => pid === process.pid)).toEqual({
    ...here,
    session: 0,
    startedAt: expect.stringMatching(/^\w+ \w+ +\d+ [\d:]+ \d{4}$/),
  });
});
