import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, describe, expect, jest } from '@jest/globals';
import { type Browser, type BrowserContextOptions, chromium, type ConsoleMessage, type Page } from 'playwright-core';

/** Debian's chromium, or another one (CHROMIUM). Undefined when there is none: tests of pages then skip, and say so. */
export const chromiumPath: string | undefined =
  process.env['CHROMIUM'] ?? (spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout?.trim() || undefined);

/** Without the sandbox: CI runs as root, and the pages are our own. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath!, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/** Such as a breach of the page's policy. What a server refuses is a matter of the tests. */
const isComplaint = (message: ConsoleMessage): boolean =>
  ['error', 'warning'].includes(message.type()) && !message.text().startsWith('Failed to load resource');

/**
 * Tests in a browser, or none where there is none. Each page is closed after its test, which fails when a script has thrown or the console
 * has had a complaint.
 */
export function inBrowser(
  title: string,
  tests: (newPage: (options?: BrowserContextOptions) => Promise<Page>) => void,
): void {
  // Each step waits for what it needs, for up to a minute. A browser beside JVMs and other browsers takes long for some of them.
  jest.setTimeout(120_000);
  if (chromiumPath === undefined) console.warn(`SKIPPED: ${title} (Debian package chromium)`);
  (chromiumPath === undefined ? describe.skip : describe)(title, () => {
    let browser: Browser;
    const complaints: string[] = [];
    beforeAll(async () => {
      browser = await openBrowser();
    });
    afterEach(async () => {
      await Promise.all(browser.contexts().map((context) => context.close()));
      expect(complaints.splice(0)).toEqual([]);
    });
    afterAll(() => browser.close());

    tests(async (options) => {
      // Scripts of the test, such as axe, are not the page's.
      const context = await browser.newContext({ bypassCSP: true, ...options });
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      page.on('pageerror', ({ message }) => complaints.push(message));
      page.on('console', (message) => {
        if (isComplaint(message)) complaints.push(message.text());
      });
      return page;
    });
  });
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What the rules of axe find on the page. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<{
    violations: Array<{ id: string; nodes: Array<{ html: string; failureSummary: string }> }>;
  }>('axe.run()');
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => html + failureSummary).join(' | ')}`,
  );
}
