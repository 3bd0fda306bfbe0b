/**
 * Draws the pictures of the console for the documents, from a fleet with real locks.
 *
 *   npm run docs -- console [directory]   docs/pictures; with a directory: all widths, light and dark, and all states, there
 */
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { build } from '../../scripts/build.mjs';
import { startRedis } from '../../test/support/redis-process.mjs';
import { root } from '../../scripts/run.mjs';

const target = process.argv[2] ?? import.meta.dirname;
const isForDocs = process.argv[2] === undefined;
/** Debian has no nice default. @type {Record<string, string>} */
const fonts = { FONTCONFIG_FILE: join(import.meta.dirname, 'fonts.xml') };
const executablePath = spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout.trim();
mkdirSync(target, { recursive: true });
await build({ ifStale: true });
const redis = await startRedis();
/** @type {Record<string, import('node:child_process').ChildProcess>} */
const fleet = {};
const scene = join(import.meta.dirname, 'console-scene.mjs');
let url = '';
for (const host of ['web-1', 'web-2', 'web-3', 'worker-1', 'worker-2']) {
  const child = fork(scene, { env: { ...process.env, REDIS_URL: redis.url, HOST: host }, execArgv: [], cwd: root });
  fleet[host] = child;
  const [ready] = await once(child, 'message');
  if (host === 'web-1') url = `${ready.url}/ops/locks/live`;
}
/** @param {string} host @param {string[]} act */
const tell = (host, ...act) => fleet[host]?.send(act);

try {
  tell('worker-1', 'lead');
  tell('worker-1', 'close', '2026-11');
  tell('worker-2', 'import', 'acme');
  tell('web-1', 'pay', '8412');
  await sleep(600);
  for (const host of ['web-2', 'web-2', 'web-3', 'worker-2', 'web-2', 'worker-1']) {
    tell(host, 'pay', '8412');
    await sleep(350);
  }
  tell('worker-2', 'report', '2026-11-21', '2026-11');
  tell('web-2', 'transfer', 'DE-4711', 'FR-0815');
  tell('web-3', 'transfer', 'FR-0815', 'DE-4711');
  await sleep(1_500);
  tell('web-1', 'report', '2026-11-21', '2026-11');
  await sleep(8_000);
  tell('web-2', 'read', 'catalogue');
  tell('web-1', 'reserve', 'sku-77');
  await sleep(500);
  tell('web-3', 'reserve', 'sku-77');
  tell('worker-2', 'reserve', 'sku-77');
  tell('web-1', 'import', 'globex');
  await sleep(800);
  tell('web-2', 'force', 'import:globex', 'import hangs, ticket 4711');
  await sleep(6_000);

  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], env: { ...process.env, ...fonts } });
  /** @param {number} width @param {'light' | 'dark'} colorScheme @param {number} [scale] */
  const open = async (width, colorScheme, scale = 1) => {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme, deviceScaleFactor: scale });
    page.on('pageerror', ({ message }) => console.error(message));
    await page.goto(url);
    await page.locator('#contended-rows tr').first().waitFor();
    await sleep(700);
    return page;
  };
  if (isForDocs) {
    const board = await open(1440, 'light');
    await board.screenshot({ path: join(target, 'console-light.png') });
    await board.close();
    const page = await open(1100, 'light');
    await page.getByRole('link', { name: 'order:8412' }).first().click();
    await page.locator('#queue li').first().waitFor();
    await sleep(1_200);
    await page.screenshot({ path: join(target, 'console-lock.png') });
    // A third of the size, where it is installed.
    for (const name of ['console-light.png', 'console-lock.png'])
      spawnSync('pngquant', ['--force', '--ext', '.png', '--quality', '80-98', join(target, name)]);
  } else {
    for (const scheme of /** @type {const} */ (['light', 'dark'])) {
      for (const width of [400, 900, 1440]) {
        const page = await open(width, scheme);
        await page.screenshot({ path: join(target, `${scheme}-${width}.png`), fullPage: true });
        await page.getByRole('link', { name: 'order:8412' }).first().click();
        await page.locator('#queue li').first().waitFor();
        await sleep(1_200);
        await page.screenshot({ path: join(target, `${scheme}-${width}-lock.png`) });
        await page.locator('#holders [data-part=release]').first().click();
        await page.screenshot({ path: join(target, `${scheme}-${width}-release.png`) });
        await page.close();
      }
    }
    const page = await open(900, 'light');
    await redis.stop();
    await page.locator('#notice').waitFor();
    await sleep(1_500);
    await page.screenshot({ path: join(target, 'redis-away.png') });
    fleet['web-1']?.kill('SIGKILL');
    await page.getByText('Cut off from the server').waitFor();
    await page.screenshot({ path: join(target, 'cut-off.png') });
  }
  await browser.close();
} finally {
  for (const child of Object.values(fleet)) child.kill('SIGKILL');
  await redis.stop();
}
