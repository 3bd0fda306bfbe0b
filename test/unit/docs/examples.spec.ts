import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const squeeze = (code: string): string => code.replaceAll(/\s+/g, ' ').trim();

/** Blocks under a comment with the path of a file: they are parts of it. */
const examples = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((page) => page.endsWith('.md'))
  .flatMap((page) =>
    [...readFileSync(join(root, 'docs', page), 'utf8').matchAll(/<!-- (test\/\S+) -->\s+```ts\n(.*?)```/gs)].map(
      ([, file, code]) => ({ page, file: file!, code: code! }),
    ),
  );

describe('the documentation', () => {
  it('has examples that are compiled and tested', () => {
    expect(examples.length).toBeGreaterThan(0);
  });

  it.each(examples)('shows in $page what stands in $file', ({ file, code }) => {
    expect(squeeze(readFileSync(join(root, file), 'utf8'))).toContain(squeeze(code));
  });
});
