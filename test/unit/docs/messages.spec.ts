import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));

describe('docs/operate/diagnostics.md', () => {
  const page = readFileSync(join(root, 'docs/operate/diagnostics.md'), 'utf8');
  const messages = readFileSync(join(root, 'docs/reference/messages.md'), 'utf8');
  const lines = [...page.matchAll(/^\| (?:error|warn|log) \| `([^`]+)` \|/gm)].map(([, line]) => line!);

  it('has lines of the log', () => {
    expect(lines.length).toBeGreaterThan(4);
  });

  it.each(lines)('shows a line as the code writes it: %s', (line) => {
    const escaped = line.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
    const shown = new RegExp(`^\\| \`(?:‹where›: )?${escaped.join('.*')}`);
    expect(messages.split('\n').some((row) => shown.test(row))).toBe(true);
  });
});
