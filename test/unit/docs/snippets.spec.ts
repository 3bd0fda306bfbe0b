import { describe, expect, it } from '@jest/globals';
import { refresh, snippet } from '../../../scripts/write-snippets.mjs';

const source = `
import { a } from 'a';

class A {
  // #region method
  run(): void {
    // #region inner
    a();
    // #endregion
  }
  // #endregion
  other(): void {}
  // #region method
  last(): void {}
  // #endregion
}
`;
const read = (path: string): string | undefined => (path === 'examples/a.ts' ? source : undefined);
const page = (comment: string, code: string, language = 'ts'): string =>
  `# Page\n\n${comment}\n\n\`\`\`${language}\n${code}\`\`\`\n\nText.\n`;

describe('scripts/write-snippets.mjs', () => {
  it('extracts a region of a file, without indentation and without the marks of regions inside it; parts with one name are joined', () => {
    expect(snippet(source, 'method')).toBe('run(): void {\n  a();\n}\n\nlast(): void {}\n');
    expect(snippet(source, 'inner')).toBe('a();\n');
    expect(snippet(source, undefined)).not.toContain('#region');
    expect(snippet(source, 'missing')).toBeUndefined();
  });

  it('writes the region into the block below its comment, and does not change a current page', () => {
    const stale = page('<!-- examples/a.ts#inner -->', 'b();\n');
    const fresh = page('<!-- examples/a.ts#inner -->', 'a();\n');
    expect(refresh('docs/x.md', stale, read)).toMatchObject({
      text: fresh,
      problems: [],
      sources: ['examples/a.ts#inner'],
    });
    expect(refresh('docs/x.md', fresh, read).text).toBe(fresh);
  });

  it.each([
    ['a block without a source', page('', 'a();\n'), /a block without a source: a\(\);/],
    ['a missing region', page('<!-- examples/a.ts#none -->', 'a();\n'), /there is no examples\/a\.ts#none/],
    ['a missing file', page('<!-- examples/b.ts -->', 'a();\n'), /there is no examples\/b\.ts/],
    ['a block in another language', page('<!-- examples/a.ts#inner -->', 'a();\n', 'sql'), /is not sql/],
    ['a comment without a block', page('<!-- examples/a.ts#inner -->\n\nText.', 'a();\n'), /without a source/],
  ])('finds %s', (_what, text, problem) => {
    expect(refresh('docs/x.md', text, read).problems).toEqual([expect.stringMatching(problem)]);
  });
});
