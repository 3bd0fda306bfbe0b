import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));
const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md'))
  .map((file) => readFileSync(join(docs, file), 'utf8'));

// The benchmark draws performance.svg.
const pictures = readdirSync(join(docs, 'pictures')).filter(
  (file) => file.endsWith('.svg') && file !== 'performance.svg',
);

describe.each(pictures)('docs/pictures/%s', (file) => {
  const svg = readFileSync(join(docs, 'pictures', file), 'utf8');
  const cell = (pattern: RegExp): number[] => [...svg.matchAll(pattern)].map(([, size]) => Number(size));

  it('is on a page, with a text for readers who do not see it', () => {
    const texts = pages.flatMap((page) => [...page.matchAll(/!\[([^\]]*)\]\([^)]*?([\w-]+\.svg)\)/g)]);
    expect(texts.filter(([, , name]) => name === file).map(([, text]) => text!.length > 40)).toEqual([true]);
    expect(svg).toMatch(/<title id="t">[^<]+<\/title>\s+<desc id="d">[^<]+<\/desc>/);
  });

  it('can be read in the dark, and 400 pixels wide', () => {
    expect(svg).toContain('@media (prefers-color-scheme: dark)');
    expect(cell(/viewBox="0 0 (\d+)/g)).toEqual([440]);
    expect(Math.min(...cell(/(?:font: |font-size: )(?:\d+ )?(\d+)px/g))).toBeGreaterThanOrEqual(12);
  });

  it('has every colour in both schemes, and loads nothing', () => {
    const [light, dark] = [...svg.matchAll(/svg \{([^}]*)\}/g)].map(([, rule]) => rule!.match(/--[\w-]+(?=:)/g));
    expect(dark).toEqual(light);
    expect(new Set(svg.match(/(?<=var\()--[\w-]+/g))).toEqual(
      new Set(svg.match(/(?<=var\()--[\w-]+/g)!.filter((name) => light!.includes(name))),
    );
    expect(svg.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|<image|<script/);
  });
});
