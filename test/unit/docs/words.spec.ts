import { describe, expect, it } from '@jest/globals';
import { hits } from '../../../scripts/check-words.mjs';

describe('scripts/check-words.mjs', () => {
  it('names page, line and word of a hit, and what to write', () => {
    expect(hits('docs/x.md', '# Page\n\nWaits.\nWhoever waits.\n')).toEqual([
      "docs/x.md:4 'Whoever': name the actor ('the caller', 'each process')",
    ]);
  });

  it.each([
    ['a table', 'docs/x.md', '| A | nobody |\n'],
    ['a phrase that goes on in the next line of a page', 'docs/x.md', 'It serves those\nwho wait.\n'],
    ['a comment', 'lib/x.ts', 'const a = 1; // nobody\n'],
    ['a comment of a member', 'lib/x.ts', 'class A {\n  /** Nobody. */\n  b = 1;\n}\n'],
    ['a phrase that goes on in the next line of a comment', 'lib/x.ts', '/**\n * It is\n * told.\n */\nf();\n'],
    ['a comment at the end of a file', 'lib/x.mjs', 'f();\n// nobody\n'],
    ['a string', 'test/x.spec.ts', "it('serves nobody', f);\n"],
    ['each part of a template', 'lib/x.ts', 'f(`${a} for ${b} and nobody ${c}`);\n'],
    ['a comment of a Lua script', 'lib/x.lua', "local a = redis.call('GET') -- nobody\n"],
    ['a comment of the model', 'test/x.pml', 'a = 1; /* for\n nobody */\n'],
  ])('finds a word in %s', (_where, file, text) => {
    expect(hits(file, text)).toEqual([expect.stringMatching(new RegExp(`^${file}:\\d '[^']+': `))]);
  });

  it.each([
    ['a block of code on a page', 'docs/x.md', '```json\n{ "message": "held by somebody" }\n```\n'],
    ['a span of code', 'docs/x.md', 'Call `nobody()`.\n'],
    ['the target of a link', 'docs/x.md', '[A page](nobody.md).\n'],
    ['the title of a test that is cited', 'docs/x.md', "`test/x.spec.ts` ('serves nobody').\n"],
    ['what a script wrote', 'docs/x.md', '<!-- faults: run it -->\n\n| nobody |\n\n<!-- /faults -->\n'],
    ['a name in code', 'lib/x.ts', 'const nobody = whoever.shall;\n'],
    ['two strings side by side', 'lib/x.ts', "const words = ['be', 'it'];\n"],
    ['a part of a word', 'docs/x.md', 'Marshall the answers; it was untold.\n'],
  ])('leaves %s alone', (_what, file, text) => {
    expect(hits(file, text)).toEqual([]);
  });
});
