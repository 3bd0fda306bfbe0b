import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { filesOf, specFiles, subjects } from '../subjects.mjs';

const page = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

describe('the page of the tests', () => {
  it('has a row for each kind', () => {
    const kinds = [...page.split('\n## Subjects')[0]!.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, kind]) => kind!);
    const rooms = readdirSync(join(import.meta.dirname, '..'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== 'support' && entry.name !== 'node_modules')
      .map(({ name }) => name);
    expect(kinds.toSorted()).toEqual(rooms.toSorted());
  });

  it('names commands that exist', () => {
    const commands = [...page.matchAll(/`npm run ([\w:]+)/g)].map(([, name]) => name!);
    expect(commands.length).toBeGreaterThan(5);
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);
  });

  it.each([...subjects()])('has files for each word of the subject %s', (_subject, words) => {
    expect(words.length).toBeGreaterThan(0);
    expect(words.filter((word) => !specFiles().some((path) => path.includes(word)))).toEqual([]);
  });

  it('has a subject for each file', () => {
    const known = new Set(filesOf([...subjects().keys()]));
    expect(specFiles().filter((path) => !known.has(path))).toEqual([]);
  });
});

it('a subject that does not exist is answered with those that do', () => {
  expect(() => filesOf(['leader'])).toThrow(/^There is no subject 'leader'\. Subjects .*: waiting, .*leaders/);
});
