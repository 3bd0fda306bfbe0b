import { describe as group, expect, it } from '@jest/globals';
import { describe, printable } from '../../../lib/errors/describe.js';

group('a string in a message or a log line', () => {
  it.each([
    ['C0', 0x00, 0x1f],
    ['DEL and C1', 0x7f, 0x9f],
    ['marks of direction', 0x200b, 0x200f],
    ['line separators and directions', 0x2028, 0x202e],
    ['isolates and other invisible ones', 0x2060, 0x206f],
    ['the Arabic letter mark', 0x61c, 0x61c],
    ['the byte order mark', 0xfeff, 0xfeff],
    ['tags', 0xe0001, 0xe007f],
    ['half of a surrogate pair', 0xd83d, 0xd83d],
  ])('shows control and invisible characters as escapes: %s', (_range, first, last) => {
    for (let point = first; point <= last; point++) {
      // Not every number is a character.
      if (/\p{Cn}/u.test(String.fromCodePoint(point))) continue;
      const shown = printable(`a${String.fromCodePoint(point)}b`);
      expect(shown).toMatch(/^'a\\(u[0-9a-f]{4}|u\{[0-9a-f]+\}|[bfnrt])b'$/);
      expect(describe(String.fromCodePoint(point))).not.toContain(String.fromCodePoint(point));
    }
  });

  it('shows everything else as it is, in any language', () => {
    for (const text of ['product:42', 'Straße', '商品:1', 'סל', '😀', "it's"])
      expect(printable(text)).toBe(`'${text}'`);
  });

  it('is cut at 120 characters, never inside of a character', () => {
    expect(printable('x'.repeat(120))).toBe(`'${'x'.repeat(120)}'`);
    expect(printable('x'.repeat(121))).toBe(`'${'x'.repeat(119)}…'`);
    expect(printable(`${'x'.repeat(118)}😀😀`)).toBe(`'${'x'.repeat(118)}…'`);
  });
});
