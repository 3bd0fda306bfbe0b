import { describe, expect, it } from '@jest/globals';
import type { Piece, Shown } from '../../../sample/museum/gallery.js';
import { asText, report } from '../../../sample/museum/report.js';

const shown = (broken?: boolean): Shown => ({
  code: '',
  steps: [],
  ...(broken === undefined ? { error: 'it fell over' } : { verdict: { broken, text: 'two holders' } }),
});
const piece = (theirs: Shown, ours: Shown): Piece => ({
  name: 'polling',
  title: 'Polling',
  problem: '',
  remedy: '',
  docs: '',
  theirs,
  ours,
});

describe('the report of the museum', () => {
  it('is in order when the lock by hand broke and ours held', () => {
    expect(report([piece(shown(true), shown(false))]).ok).toBe(true);
  });

  it.each([
    ['ours broke', shown(true), shown(true)],
    ['the one by hand survived', shown(false), shown(false)],
    ['ours has no verdict', shown(true), shown()],
    ['the one by hand has no verdict', shown(), shown(false)],
  ])('fails, and names the exhibit, when %s', (_, theirs, ours) => {
    const good = { ...piece(shown(true), shown(false)), title: 'Re-entry' };
    const result = report([good, piece(theirs, ours)]);
    expect(result.ok).toBe(false);
    expect(asText(result)).toMatch(/NOT as expected: Polling\.$/);
  });
});
