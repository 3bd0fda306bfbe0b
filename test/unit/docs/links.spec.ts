import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
];
const read = (page: string): string => readFileSync(join(root, page), 'utf8');

/** The anchors of a page, as GitHub makes them from its headings. */
const anchors = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('README and docs', () => {
  it.each(pages)('%s links to pages and headings that exist', (page) => {
    const broken = [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
      .filter(([, path, anchor]) => {
        const target = path === '' ? page : join(dirname(page), path!);
        return !existsSync(join(root, target)) || (anchor !== undefined && !anchors(target).includes(anchor));
      })
      .map(([link]) => link);
    expect(broken).toEqual([]);
  });

  it.each(pages)('%s names files that exist', (page) => {
    const named = [...read(page).matchAll(/`((?:test|lib|sample|scripts|docs)\/[\w./-]+)`/g)].map((match) => match[1]!);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('the README has fewer than 200 lines', () => {
    expect(read('README.md').split('\n').length).toBeLessThan(200);
  });
});
