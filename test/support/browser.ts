import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Debian's chromium, or another one (CHROMIUM). Undefined when there is none: tests of pages then skip, and say so. */
export const chromiumPath: string | undefined =
  process.env['CHROMIUM'] ?? (spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout?.trim() || undefined);

/** Without the sandbox: CI runs as root, and the pages are our own. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath!, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What the rules of axe find on the page. Its context needs `bypassCSP`: the rules are a script of the test. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<{
    violations: Array<{ id: string; nodes: Array<{ html: string; failureSummary: string }> }>;
  }>('axe.run()');
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => html + failureSummary).join(' | ')}`,
  );
}
