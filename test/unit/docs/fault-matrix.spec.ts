import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { FAULTS, rowsOf, table, untested } from '../../../scripts/write-faults.mjs';

const folder = new URL('../../fault/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');

describe('scripts/write-faults.mjs', () => {
  it('reads fault, title and properties from the comment above a test, with or without a table of cases', () => {
    const text = `
      // Fault 1: I1, I5 lost
      it("tells its holder's name", () => {});
      // Fault 6: I3 (one command)
      it.each([['a', f(1)]])(
        'keeps %s (\\'b\\')',
        () => {},
      );
    `;
    expect(rowsOf('links', text)).toEqual({
      rows: [
        { fault: 1, name: 'links', title: "tells its holder's name", asserts: 'I1, I5 lost' },
        { fault: 6, name: 'links', title: "keeps %s ('b')", asserts: 'I3 (one command)' },
      ],
      problems: [],
    });
  });

  it('writes the name of a fault once, and its tests in the order of the files', () => {
    const row = { fault: 2, name: 'links', title: 'first', asserts: 'I1' };
    expect(table([row, { ...row, name: 'outage', title: 'second' }]).split('\n')).toEqual([
      '| # | Fault | File | Test | Asserts |',
      '| --- | --- | --- | --- | --- |',
      `| 2 | ${FAULTS[1]} | \`links\` | first | I1 |`,
      '| 2 | | `outage` | second | I1 |',
    ]);
  });

  it.each([
    ['stands above no test', '// Fault 1: I1\nconst a = 1;', /Fault 1 stands above no test/],
    ['names a fault that is not listed', "// Fault 99: I1\nit('a', f);", /Fault 99 is not in the list/],
    ['names no property', "// Fault 1: lost\nit('a', f);", /'lost' names no property/],
  ])('refuses a comment that %s', (_what, text, problem) => {
    expect(rowsOf('links', text).problems).toEqual([expect.stringMatching(problem)]);
  });

  it('reports a fault without a test', () => {
    const all = FAULTS.map((_, index) => ({ fault: index + 1 }));
    expect(untested(all)).toEqual([]);
    expect(untested(all.slice(1))).toEqual([`no test for: ${FAULTS[0]}`]);
  });
});

describe('the fault matrix of docs/inside/verification.md', () => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.spec.ts') && read(file).includes('// Fault '));

  it('lists 38 faults', () => {
    expect(FAULTS).toHaveLength(38);
    expect(files.length).toBeGreaterThan(10);
  });

  it.each(files)('%s checks for leftovers and unhandled rejections', (file) => {
    // Both fixtures of one-redis.ts do. A process of its own says what was not handled, and ends when nothing is left.
    const looks = /\bexpectNoLeftovers\(\)|\boneRedis\(\(|\bredisOfEachTest\(\)/;
    const asks = /\.unhandled\)\.toEqual\(\[\]\);\n +expect\(end\)\.toEqual\(\{ code: 0, signal: null \}\)/;
    expect(looks.test(read(file)) || asks.test(read(file))).toBe(true);
    expect(read('support/one-redis.ts').match(/\bexpectNoLeftovers\(\);/g)).toHaveLength(2);
  });
});
