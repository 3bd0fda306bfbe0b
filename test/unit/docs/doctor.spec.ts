import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { findingCodes } from '../../../lib/diagnostics/lock-finding.js';

it('docs/operate/doctor.md has a heading for each finding, in the order of the code', () => {
  const page = readFileSync(new URL('../../../docs/operate/doctor.md', import.meta.url), 'utf8');
  expect([...page.matchAll(/^### (LOCK_DOCTOR_\w+)$/gm)].map(([, code]) => code)).toEqual([...findingCodes]);
});
