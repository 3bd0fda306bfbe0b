import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { scenes } from '../../site/lab/scenes.js';
import { bundleLab } from '../../site/bundle-lab.mjs';
import { axeViolations, inBrowser } from '../support/browser.js';

const { code, imports } = await bundleLab();

/** A page with nothing but a scene: what any HTML file may have. */
const server = createServer(({ url }, response) => {
  if (url === '/lock-lab.js') return response.writeHead(200, { 'content-type': 'text/javascript' }).end(code);
  const scene = url!.slice(1);
  const style = ':root{color-scheme:light dark} body{margin:0}';
  return response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(
      `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Lab</title><style>${style}</style>` +
        `<main><h1>Lab</h1><lock-lab scene="${scene}"></lock-lab></main><script type="module" src="/lock-lab.js"></script>`,
    );
});

describe('the bundle of the simulator', () => {
  it('is one module that imports nothing, and knows no Node', () => {
    expect(imports).toEqual([]);
    expect(code).not.toMatch(/["']node:|\bprocess\.(pid|emitWarning|env)|\bBuffer\b/);
  });

  it('is small', () => {
    expect(gzipSync(code).length).toBeLessThan(55_000);
  });
});

inBrowser('the simulator, in a browser', (newPage) => {
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => void server.close());

  async function open(scene: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await newPage({ permissions: ['clipboard-read', 'clipboard-write'], ...options });
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${scene}`);
    await page.getByRole('button', { name: 'Next', exact: true }).waitFor();
    return page;
  }

  const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
  const sentences = (page: Page): Promise<string[]> => page.locator('.told li span').allTextContents();
  const states = (page: Page): Promise<Array<string | null>> =>
    page.locator('.promises li').evaluateAll((items) => items.map((item) => item.getAttribute('data-state')));
  const told = (page: Page, text: string | RegExp): Promise<void> =>
    page.locator('.told li', { hasText: text }).first().waitFor();
  const nine = (state: string): string[] => Array.from({ length: 9 }, () => state);

  /** Presses the main button to the end of the scene: each step is begun, and the rest of it skipped. */
  async function playThrough(page: Page): Promise<void> {
    const main = page.locator('.script button');
    for (let text = await main.textContent(); text !== 'Play again'; text = await main.textContent())
      await main.click();
  }

  it.each(Object.entries(scenes))(
    'plays the scene %s to its end: rows and guarantees are as its text says',
    async (name, scene) => {
      const page = await open(name);
      await playThrough(page);
      for (const [key, [value, refused, lost]] of Object.entries(scene.ends.rows)) {
        const row = page.locator('.rows dl', { hasText: key });
        expect(await row.locator('dd').allTextContents()).toMatchObject({
          1: `${value}`,
          3: `${refused}`,
          4: `${lost}`,
        });
        expect(await row.getAttribute('data-lost')).toBe(lost > 0 ? '' : null);
      }
      expect(await states(page)).toEqual(nine('holds'));
      expect((await page.locator('.sentence').textContent())!.length).toBeGreaterThan(10);
      // As a user gets it: the steps with their times.
      await press(page, 'Copy as a test');
      await page.getByText('Copied.').waitFor();
      const copied = await page.evaluate<string>('navigator.clipboard.readText()');
      expect(copied).toContain(`describe('${scene.title}'`);
      expect(copied).toContain(`expect(outcomes).toEqual(`);
    },
  );

  it('moves the time: by a second, to an event, by the slider, and by itself', async () => {
    const page = await open('pause');
    const clock = page.locator('.clock');
    await press(page, 'Start A');
    await told(page, 'A gets stock:42 with token 1');
    await press(page, '+1 s');
    await clock.filter({ hasText: /^1 s$/ }).waitFor();
    await press(page, '+10 s');
    await clock.filter({ hasText: /^11 s$/ }).waitFor();
    await told(page, 'A renews its lease');
    await press(page, 'Next event');
    await clock.filter({ hasText: /^20 s$/ }).waitFor();
    await page.getByLabel('Move the time forward to').fill('40000');
    await clock.filter({ hasText: /^40 s$/ }).waitFor();
    await told(page, 'A writes the row of stock:42: 0 becomes 1 (token 1).');
    // Back in time leads nowhere.
    await page.getByLabel('Move the time forward to').fill('1000');
    await clock.filter({ hasText: /^40 s$/ }).waitFor();
    await press(page, 'Play');
    await clock.filter({ hasNotText: /^40 s$/ }).waitFor();
    await press(page, 'Pause');
  });

  it('stops, continues and kills a process', async () => {
    const page = await open('pause');
    await press(page, 'Start A');
    await press(page, 'Start B');
    await told(page, 'B waits, number 1 in the queue. A has stock:42.');
    await press(page, 'Stop A');
    await press(page, '+10 s');
    await press(page, '+10 s');
    await press(page, '+10 s');
    await told(page, /B gets stock:42 with token 2 after .* the lease of A has ended/);
    await press(page, 'Continue A');
    await told(page, 'A learns that it lost stock:42: its lease has run out. Its signal aborts.');
    await told(page, 'The row of stock:42 refuses the write of A');
    await press(page, 'Kill B');
    await page.getByRole('group', { name: 'Process B' }).getByText('is dead').waitFor();
    expect(await page.getByRole('button', { name: 'Start B' }).isDisabled()).toBe(true);
    expect(await states(page)).toEqual(nine('holds'));
  });

  it('loses a message: the waiter finds its grant by asking', async () => {
    const page = await open('message');
    await press(page, 'Start A');
    await press(page, 'Start B');
    await press(page, 'Lose the next message');
    await press(page, '+10 s');
    await told(
      page,
      'Redis gives stock:42 to B with token 2, but the message is lost. B finds out when it asks again.',
    );
    // It asks again after 5 s: the first grant has lapsed by then.
    await told(page, 'B gets stock:42 with token 3');
  });

  it('says what is not promised while Redis is away, or was changed by hand, and when it is promised again', async () => {
    const page = await open('pause');
    const state = (id: string) => page.locator('.promises li', { hasText: id });
    await press(page, 'Start A');
    await press(page, '+1 s');
    await press(page, 'Take Redis away');
    await state('G5').and(page.locator('[data-state=open]')).waitFor();
    await press(page, '+10 s');
    await told(page, 'A cannot renew: Redis does not answer.');
    await press(page, 'Bring Redis back');
    await state('G5').and(page.locator('[data-state=holds]')).waitFor();
    await press(page, 'Delete the key');
    for (const id of ['G1', 'G2', 'G4']) await state(id).and(page.locator('[data-state=open]')).waitFor();
    await press(page, 'Start B');
    await told(page, 'B gets stock:42 with token 2');
    await press(page, '+10 s');
    await told(page, 'A learns that it lost stock:42: Redis does not know it any more.');
    await state('G2').and(page.locator('[data-state=holds]')).waitFor();
    expect(await states(page)).toEqual(nine('holds'));
    await press(page, 'Release by force');
    await told(page, 'You release stock:42 by force.');
    await told(page, 'B learns that it lost stock:42');
    await press(page, "Set Redis' clock 1 min forward");
    await told(page, 'You set the clock of Redis forward by 60 s');
  });

  it('shows a lost update without fencing, and none with it', async () => {
    const page = await open('fencing');
    await playThrough(page);
    await told(page, 'LOST UPDATE: B writes 1 over a value that it has not read.');
    await page.getByLabel('Token checked').selectOption('before the read');
    await playThrough(page);
    expect((await sentences(page)).join('\n')).not.toContain('LOST UPDATE');
    expect(await page.locator('.rows dd').allTextContents()).toEqual(['stock:42', '1', '2', '1', '0']);
    await page.getByLabel('Renewed').selectOption('no');
    await page.locator('[data-name=Lease]').selectOption('10');
    await press(page, 'Start A');
    await press(page, '+10 s');
    await told(page, 'A learns that it lost stock:42: its lease has run out.');
  });

  it('changes the scene, by the list or by the attribute, and keeps the focus', async () => {
    const page = await open('pause');
    await page.getByLabel('Scene').focus();
    await page.getByLabel('Scene').selectOption('queue');
    await page.getByRole('group', { name: 'Process D' }).waitFor();
    expect(await page.evaluate('document.activeElement.shadowRoot.activeElement.tagName')).toBe('SELECT');
    await page.evaluate("document.querySelector('lock-lab').setAttribute('scene', 'readers')");
    await page.getByRole('group', { name: 'Process W' }).waitFor();
    // A name that does not exist is the first scene.
    await page.evaluate("document.querySelector('lock-lab').setAttribute('scene', 'nothing')");
    await page.getByRole('group', { name: 'Process B' }).waitFor();
  });

  it('is used by the keyboard alone', async () => {
    const page = await open('pause');
    await page.getByRole('button', { name: 'Next', exact: true }).focus();
    await page.keyboard.press('Enter');
    await told(page, 'A gets stock:42 with token 1');
    await page.getByRole('button', { name: 'Stop A' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: 'Process A' }).getByText('stands still').waitFor();
  });

  it('says of a process that stands still in the queue that it stands still, not that it waits', async () => {
    const page = await open('queue');
    for (const name of ['Start A', 'Start B', 'Stop B']) await page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('group', { name: 'Process B' }).getByText('stands still, place 1', { exact: true }).waitFor();
  });

  it('plays in few large steps where less motion is wanted', async () => {
    const page = await open('queue', { reducedMotion: 'reduce' });
    await press(page, 'Play');
    await told(page, 'C gets stock:42 with token 2');
  });

  it.each(['light', 'dark'] as const)('has no violations of accessibility rules, %s', async (colorScheme) => {
    const page = await open('pause', { colorScheme });
    await playThrough(page);
    await press(page, 'Take Redis away');
    expect(await axeViolations(page)).toEqual([]);
  });

  it.each([400, 688, 1600])('fits into %i px', async (width) => {
    const page = await open('orders', { viewport: { width, height: 900 } });
    await playThrough(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  });
});
