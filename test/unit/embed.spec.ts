import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { generate } from '../../scripts/embed.mjs';

let directory: string | undefined;

function generated(files: Record<string, string>): string {
  directory = mkdtempSync(join(tmpdir(), 'embed-lua-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return generate(directory);
}

describe('the module of the Lua scripts', () => {
  afterEach(() => {
    if (directory !== undefined) rmSync(directory, { recursive: true });
  });

  it('puts each include into a script once, after those that it needs itself', () => {
    const text = generated({
      'take.lua': '-- include: grant.lua\n-- include: clock.lua\nreturn grant(now)\n',
      'includes/grant.lua': '-- include: clock.lua\n-- include: digits.lua\nlocal grant = digits\n',
      'includes/digits.lua': '-- include: clock.lua\nlocal digits = tostring -- of now\n',
      'includes/clock.lua': 'local now = 1\n',
    });
    expect(text).toContain('source: `${clock}\n${digits}\n${grant}\nreturn grant(now)`');
    expect(text).toContain('const digits = `local digits = tostring`;');
  });

  it('refuses an include that needs itself', () => {
    const files = {
      'take.lua': '-- include: one.lua\nreturn 1\n',
      'includes/one.lua': '-- include: two.lua\nlocal one = 1\n',
      'includes/two.lua': '-- include: one.lua\nlocal two = 2\n',
    };
    expect(() => generated(files)).toThrow('one.lua → two.lua → one.lua: includes itself');
  });

  it('refuses an include that is not there, and one below code', () => {
    expect(() => generated({ 'take.lua': '-- include: none.lua\n' })).toThrow('no such include: none.lua');
    const files = {
      'take.lua': '-- include: late.lua\n',
      'includes/late.lua': 'local late = 1\n-- include: clock.lua\n',
      'includes/clock.lua': 'local now = 1\n',
    };
    expect(() => generated(files)).toThrow('includes stand above its code');
  });
});
