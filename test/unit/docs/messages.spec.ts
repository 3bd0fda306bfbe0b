import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));

describe('docs/messages.md', () => {
  it('shows every message as the code has it, and no message stands outside of a catalogue', () => {
    const { stderr, status } = spawnSync(process.execPath, [join(root, 'scripts/write-messages.mjs'), '--check'], {
      encoding: 'utf8',
    });
    // npm run docs:messages writes the page.
    expect([stderr, status]).toEqual(['', 0]);
  });
});
