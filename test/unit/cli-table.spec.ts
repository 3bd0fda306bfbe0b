import { expect, it } from '@jest/globals';
import { table } from '../../lib/cli/output.js';

const plain = (text: string): string => text;

const paint = { dim: plain, bold: plain, red: plain };

it('a table gives the columns of a narrow screen what there is, and cuts the longest cells in the middle', () => {
  const rows = [
    ['NAME', 'HOLDER', 'HELD'],
    ['product:1234567890:stock', 'ReportBuilder (web-1:4711)', '4.0s'],
    ['a', 'b', 'c'],
  ];
  expect(table(rows, paint, 40)).toEqual([
    'NAME              HOLDER            HELD',
    'product:…0:stock  ReportBu…1:4711)  4.0s',
    'a                 b                 c',
  ]);
});

it('a table cuts no column below twelve characters: on a very narrow screen its lines are longer', () => {
  const rows = [
    ['NAME', 'HOLDER', 'HELD'],
    ['product:1234567890:stock', 'ReportBuilder (web-1:4711)', '4.0s'],
  ];
  expect(table(rows, paint, 20)).toEqual(['NAME          HOLDER        HELD', 'produc…stock  Report…4711)  4.0s']);
});

it('a table whose screen is wide enough is as it is without one', () => {
  const rows = [
    ['NAME', 'HOLDER'],
    ['中文 e\u0301', 'b'],
  ];
  expect(table(rows, paint, 17)).toEqual(table(rows, paint));
  expect(table(rows, paint)).toEqual(['NAME    HOLDER', '中文 e\u0301  b']);
});

it('a table cuts no character in two, and takes one of East Asia for two columns', () => {
  const rows = [
    ['NAME', 'KIND'],
    ['中'.repeat(20), 'x'.repeat(12)],
  ];
  expect(table(rows, paint, 26)[1]).toBe(`中中中…中中   ${'x'.repeat(12)}`);
  const letters = [
    ['NAME', 'KIND'],
    ['e\u0301'.repeat(20), 'x'.repeat(12)],
  ];
  expect(table(letters, paint, 26)[1]).toBe(`${'e\u0301'.repeat(6)}…${'e\u0301'.repeat(5)}  ${'x'.repeat(12)}`);
});

it('a long cell moves only its own row where there is no screen', () => {
  const rows = [
    ['NAME', 'KIND'],
    ['a'.repeat(100), 'x'],
    ['b', 'x'],
  ];
  expect(table(rows, paint).map((line) => line.indexOf('x'))).toEqual([-1, 102, 62]);
});

it('a table of 200,000 locks is as wide as its widest cell', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [index === 7 ? 'longest' : 'a', 'b']);
  const lines = table([['', ''], ...rows], { dim: plain, bold: plain, red: plain });
  expect(lines).toHaveLength(200_001);
  expect(lines.slice(8, 10)).toEqual(['longest  b', 'a        b']);
});
