import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(root + path, 'utf8');

interface Row {
  readonly fault: number;
  readonly file: string;
  readonly title: string;
}

const matrix = read('docs/verification.md').split('\n## The fault matrix\n')[1]!.split('\n## ')[0]!;
const rows = [...matrix.matchAll(/^\| (\d+) +\|[^|]*\| `([\w-]+)` +\| (.+?) +\| [^|]* \|$/gm)].map(
  ([, fault, file, title]): Row => ({ fault: Number(fault), file: `test/fault/${file}.spec.ts`, title: title! }),
);

/** Titles as they stand in a spec, as literals of `it` and `it.each`. */
const titles = (file: string): string[] =>
  [...read(file).matchAll(/(?:\bit|\))\(\s*(?:'((?:\\.|[^'\\\n])*)'|"([^"\n]*)")/g)].map(
    ([, single, double]) => single ?? double!,
  );

describe('the fault matrix of docs/verification.md', () => {
  it('has a test for each of the 37 faults', () => {
    const faults = Array.from({ length: 37 }, (_, index) => index + 1);
    expect([...new Set(rows.map(({ fault }) => fault))]).toEqual(faults);
  });

  it.each(rows)('fault $fault: $file has the test “$title”', ({ file, title }) => {
    expect(titles(file)).toContain(title);
  });

  it.each([...new Set(rows.map(({ file }) => file))])('%s looks for leftovers and unhandled rejections', (file) => {
    // Both fixtures of one-redis.ts do.
    const looks = /\bexpectNoLeftovers\(\)|\boneRedis\(\(|\bredisOfEachTest\(\)|\.unhandled\)\.toEqual\(\[\]\)/;
    expect(read(file)).toMatch(looks);
    expect(read('test/fault/support/one-redis.ts').match(/\bexpectNoLeftovers\(\);/g)).toHaveLength(2);
  });
});
