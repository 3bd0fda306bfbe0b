import { expect, it } from '@jest/globals';
import { table } from '../../lib/cli/output.js';

const plain = (text: string): string => text;

it('a table of 200,000 locks is as wide as its widest cell', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [index === 7 ? 'longest' : 'a', 'b']);
  const lines = table([['', ''], ...rows], { dim: plain, bold: plain, red: plain });
  expect(lines).toHaveLength(200_001);
  expect(lines.slice(8, 10)).toEqual(['longest  b', 'a        b']);
});
