/**
 * The pages of docs/ in the order of docs/README.md. That index is the only list of pages: GitHub shows it, and the site makes its sidebar,
 * its start page and llms.txt of it.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

export const docs = join(import.meta.dirname, '..', 'docs');

/** @typedef {{ title: string, path: string, about: string }} Page path: from docs/, with its extension */
/** @typedef {{ title: string, pages: Page[] }} Group without a title where a section has one group only */
/** @typedef {{ title: string, groups: Group[] }} Section */

const LINE = /^(?<level>##|###) (?<heading>.+)$|^- \[(?<title>.+?)\]\((?<path>[^):#]+\.md)\)(?:: (?<about>.+))?$/gm;

/** @returns {Section[]} */
export function sections() {
  /** @type {Section[]} */
  const found = [];
  for (const { groups } of readFileSync(join(docs, 'README.md'), 'utf8').matchAll(LINE)) {
    const { level, heading = '', title = '', path = '', about = '' } = groups ?? {};
    if (level === '##') found.push({ title: heading, groups: [{ title: '', pages: [] }] });
    else if (level === '###') found.at(-1)?.groups.push({ title: heading, pages: [] });
    else found.at(-1)?.groups.at(-1)?.pages.push({ title, path, about });
  }
  return found;
}

/** The decisions, from their own index. @returns {Page[]} */
export function decisions() {
  const index = 'inside/adr/README.md';
  const rows = readFileSync(join(docs, index), 'utf8').matchAll(/^\| \[(\d+)\]\((\S+\.md)\) \| ([^|]+) \|/gm);
  return Array.from(rows, ([, number, path = '', title = '']) => ({
    title: `${number} ${title.trim()}`,
    path: posix.join(dirname(index), path),
    about: '',
  }));
}

/** The address of a page on the site, from its root. @param {string} path */
export const address = (path) =>
  `/${path.replace(/README\.md$/, 'index.md').replace(/\.md$/, '')}`.replace(/\/index$/, '/');
