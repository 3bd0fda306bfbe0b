import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { axeViolations, inBrowser } from '../support/browser.js';
import { ProgramRun } from '../support/program-run.js';

const museum = join(import.meta.dirname, '../../dist/sample/sample/museum/main.js');

inBrowser('npm run museum -- --web, in a browser', (newPage) => {
  let run: ProgramRun;
  let url: string;

  beforeAll(async () => {
    run = await ProgramRun.start([museum, '--web', '--port', '0', 'no-expiry', 're-entry']);
    url = await run.says(/http:\S+/);
    // The exhibits run; it may take a while on a busy machine.
    await (await open({}, 150_000)).context().close();
  }, 180_000);

  afterAll(() => run[Symbol.asyncDispose]());

  /** The page when both exhibits have run. */
  async function open(options?: BrowserContextOptions, timeout = 10_000): Promise<Page> {
    const page = await newPage(options);
    await page.goto(url);
    await page.locator('.room:has([data-part=ours][data-mark=held])').nth(1).waitFor({ timeout });
    return page;
  }

  const sideOf = (page: Page, heading: string) => page.locator('section.side-of', { hasText: heading });

  it('shows the code that runs, the step in which it breaks, and what Redis had then', async () => {
    const page = await open();
    const theirs = sideOf(page, 'By hand');
    await theirs.getByText('Broken: locked forever').waitFor();
    expect(await theirs.locator('code').textContent()).toContain("await redis.setnx('report', 'locked')");
    await theirs.getByText('Step 1 of 3').waitFor();
    await theirs.getByRole('button', { name: 'Next step' }).click();
    await theirs.getByText('Ann’s process is killed').waitFor();
    await theirs.getByRole('button', { name: 'Next step' }).click();
    expect(await theirs.locator('.step-text').getAttribute('data-mood')).toBe('bad');
    expect(await theirs.locator('.facts-of-step').textContent()).toContain('locked, no expiry');
    expect(await theirs.locator('.code-line[data-mark=bad]').textContent()).toContain('setnx');
    // The row of a caller, and what it does in each step.
    const lane = theirs.getByRole('row', { name: 'Ann' });
    expect(await lane.getByRole('cell').allTextContents()).toEqual(['works in the lock', 'killed', 'killed']);
  });

  it('shows beside it the same run with the library, to its good end', async () => {
    const page = await open();
    const ours = sideOf(page, 'With nestjs-redis-lock');
    await ours.getByText('Held: free when the lease ends').waitFor();
    await ours.getByRole('button', { name: 'Step 3' }).click();
    expect(await ours.locator('.step-text').getAttribute('data-mood')).toBe('good');
    expect(await ours.locator('.facts-of-step').textContent()).toContain('held by Ben');
  });

  it('plays the steps to the end', async () => {
    const page = await open();
    const theirs = sideOf(page, 'By hand');
    await theirs.getByRole('button', { name: 'Play' }).click();
    await theirs.getByRole('button', { name: 'Play again' }).waitFor();
    await theirs.getByText('Step 3 of 3').waitFor();
  });

  it('runs an exhibit again, with other processes', async () => {
    const page = await open();
    const lane = sideOf(page, 'By hand').getByRole('rowheader', { name: 'Ann' });
    const before = await lane.textContent();
    await page.getByRole('button', { name: 'Run it again' }).click();
    await lane.filter({ hasNotText: before! }).waitFor();
    await sideOf(page, 'With nestjs-redis-lock').getByText('Held: ').waitFor();
  });

  it('is used by the keyboard alone', async () => {
    const page = await open();
    const theirs = sideOf(page, 'By hand');
    await page.keyboard.press('ArrowRight');
    await theirs.getByText('Step 2 of 3').waitFor();
    await page.keyboard.press('ArrowLeft');
    await theirs.getByText('Step 1 of 3').waitFor();
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: 'Re-entry by process id' }).waitFor();
    expect(await page.evaluate('location.hash')).toBe('#re-entry');
  });

  it('stays at the exhibit when a person skips the list, and shows one for an address that names none', async () => {
    const page = await open();
    await page.keyboard.press('n');
    const heading = page.getByRole('heading', { name: 'Re-entry by process id' });
    await heading.waitFor();
    await page.locator('.skip').focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/#exhibit-title$/);
    await page.keyboard.press('ArrowRight');
    await sideOf(page, 'By hand').getByText('Step 2 of').waitFor();
    expect(await heading.isVisible()).toBe(true);
    await page.goto(`${page.url().replace(/#.*/, '')}#%`);
    await page.getByRole('heading', { level: 2 }).first().waitFor();
  });

  it.each([400, 900, 1440])('has nothing that is cut off at %i px', async (width) => {
    const page = await open({ viewport: { width, height: 800 } });
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThan(1);
  });

  it.each(['light', 'dark'] as const)('passes the rules of axe, %s', async (colorScheme) => {
    const page = await open({ colorScheme });
    for (const side of ['By hand', 'With nestjs-redis-lock']) {
      await sideOf(page, side).getByRole('button', { name: 'Step 3' }).click();
      expect(await axeViolations(page)).toEqual([]);
    }
  });
});
