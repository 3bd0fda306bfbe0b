import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { WRITERS } from '../../../scripts/docs.mjs';
import { decisions, sections } from '../../../site/pages.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const filesIn = (directory: string, extension: string): string[] =>
  readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(extension))
    .map((file) => join(directory, file));

const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'sample/README.md', ...filesIn('docs', '.md')];
const sources = filesIn('lib', '.ts');
/** What says a command to who works here. */
const tools = ['.ci/run', 'jest.config.js', 'site/package.json', ...filesIn('scripts', '.mjs')];
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** Links that npm and users of the package follow. */
const repository =
  /https:\/\/(?:github\.com|raw\.githubusercontent\.com)\/nestjs-redis-lock\/nestjs-redis-lock\/(?:(?:blob|tree)\/)?main\/([\w./-]*\w)(?:#([\w-]+))?/g;

/** The anchors of a page, as GitHub makes them from its headings. */
const anchors = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
const leads = (target: string, anchor: string | undefined): boolean =>
  existsSync(join(root, target)) && (anchor === undefined || anchors(target).includes(anchor));

describe('README and docs', () => {
  it.each(pages)('%s links to pages and headings that exist', (page) => {
    const broken = [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
      .filter(([, path, anchor]) => !leads(path === '' ? page : join(dirname(page), path!), anchor))
      .map(([link]) => link);
    expect(broken).toEqual([]);
  });

  it.each(pages)('%s names files that exist', (page) => {
    const named = [...read(page).matchAll(/`((?:test|lib|conformance|sample|scripts|docs|examples)\/[\w./-]+)`/g)].map(
      ([, file]) => file!,
    );
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it.each([...pages, ...tools])('%s names npm scripts that exist', (page) => {
    const named = [...read(page).matchAll(/npm run (?:--silent )?([\w:-]*\w)(?: -- ([\w-]+))?/g)];
    const missing = named.filter(
      ([, script = '', what]) =>
        !(script in scripts) || (script === 'docs' && what !== undefined && what !== 'build' && !(what in WRITERS)),
    );
    expect(missing.map(([line]) => line)).toEqual([]);
  });

  it.each(pages)('%s cites titles that are in the file it names', (page) => {
    const missing: string[] = [];
    const cite = (file: string, titles: string): void => {
      for (const [, title] of titles.matchAll(/'([^']+)'/g))
        if (!["'", '"', '`'].some((quote) => read(file).includes(`${quote}${title!}`)))
          missing.push(`${title} in ${file}`);
    };
    // `file` ('a title', 'another one')
    for (const [, file, titles] of read(page).matchAll(/`((?:test|lib|conformance)\/[\w./-]+\.ts)` \(('[^)]+')\)/g))
      cite(file!, titles!);
    // A column of titles under 'Shown by (`file`)'. A cell may name a file of its own.
    for (const [, file, rows] of read(page).matchAll(/\| Shown by \(`([^`]+)`\) \|\n(?:\|[ |-]+\n)((?:\|.*\n)+)/g)) {
      for (const cell of rows!
        .trim()
        .split('\n')
        .map((row) => row.split('|').at(-2)!))
        if (!cell.includes('`')) cite(file!, cell);
    }
    expect(missing).toEqual([]);
  });

  it.each(pages)('%s has tables without padding, so that a longer cell changes one line', (page) => {
    const rows = read(page).match(/^\|.*\|$/gm) ?? [];
    expect(rows.filter((row) => /[^|] {2,}\||-{4,} *\|/.test(row.replaceAll(/`[^`]*`/g, 'code')))).toEqual([]);
  });

  it.each([...pages, ...sources, ...filesIn('sample/museum', '.ts')])(
    '%s has absolute links that lead to files and headings of the repository',
    (file) => {
      const broken = [...read(file).matchAll(repository)].filter(([, path, anchor]) => !leads(path!, anchor));
      expect(broken.map(([link]) => link)).toEqual([]);
    },
  );
});

describe('docs/README.md', () => {
  it('lists every page: the site makes its sidebar of it', () => {
    const listed = sections().flatMap(({ groups }) => groups.flatMap((group) => group.pages.map(({ path }) => path)));
    const decided = decisions().map(({ path }) => path);
    const expected = filesIn('docs', '.md').map((file) => file.slice('docs/'.length));
    expect([...listed, ...decided].toSorted()).toEqual(expected.filter((file) => file !== 'README.md').toSorted());
  });
});

describe('docs/inside/adr', () => {
  const decisions = filesIn('docs/inside/adr', '.md').filter((file) => !file.endsWith('README.md'));

  it('has an index with a line for each decision', () => {
    const listed = [...read('docs/inside/adr/README.md').matchAll(/^\| \[(\d{4})\]\((\1-[\w-]+\.md)\) \|/gm)];
    expect(listed.map(([, , file]) => join('docs/inside/adr', file!))).toEqual(decisions.toSorted());
  });

  it.each(decisions)('%s has number, status, date, context, decision and consequences, in at most 40 lines', (file) => {
    const text = read(file);
    const number = /\/(\d{4})-/.exec(file)![1]!;
    expect(text).toMatch(new RegExp(`^# ${number}: .+\n\n(Accepted|Replaced by .+), \\d{4}-\\d{2}-\\d{2}\\.`));
    expect(text.match(/^## .+$/gm)).toEqual(['## Context', '## Decision', '## Consequences']);
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
  });
});

describe('what is published', () => {
  it('has a README without relative links: npm shows it, and the tarball has no docs', () => {
    expect([...read('README.md').matchAll(/\]\((?!https:)[^)]*\)|\]\[|<(?:a|img)\b/g)].map(([link]) => link)).toEqual(
      [],
    );
  });

  it('names pages of docs in comments and messages by their address', () => {
    // The page of the console puts its addresses together: test/unit/console-why.spec.ts looks where they lead.
    const written = sources.filter((file) => !file.endsWith('.generated.ts'));
    const bare = written.flatMap((file) =>
      [
        ...read(file)
          .replaceAll(/https:\S+/g, '')
          .matchAll(/.*(?:\bdocs\/|\.md\b).*/g),
      ].map(([line]) => `${file}: ${line.trim()}`),
    );
    expect(bare).toEqual([]);
  });

  it('leads to the repository from package.json', () => {
    const { repository: given, homepage, bugs } = JSON.parse(read('package.json')) as Record<string, unknown>;
    const address = 'https://github.com/nestjs-redis-lock/nestjs-redis-lock';
    expect({ given, homepage, bugs }).toEqual({
      given: { type: 'git', url: `git+${address}.git` },
      homepage: `${address}#readme`,
      bugs: `${address}/issues`,
    });
  });
});
