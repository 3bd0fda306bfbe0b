/**
 * Draws docs/pictures/sale.png, the picture of the running sale: a process was stopped past its lease, and the sale goes on.
 *
 *   npm run docs -- sale
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { buildSample } from '../../scripts/sample.mjs';
import { root } from '../../scripts/run.mjs';

const target = join(import.meta.dirname, 'sale.png');
/** Debian has no nice default. @type {Record<string, string>} */
const fonts = { FONTCONFIG_FILE: join(import.meta.dirname, 'fonts.xml') };
const executablePath = spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout.trim();
await buildSample();
const demo = spawn(process.execPath, ['dist/sample/sample/demo/main.js', '--web', '--port', '0'], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [text] = await once(demo.stdout.setEncoding('utf8'), 'data');
const [url = ''] = /http:\S+/.exec(text) ?? [];
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], env: { ...process.env, ...fonts } });
try {
  const options = { viewport: { width: 1600, height: 1130 }, deviceScaleFactor: 2, colorScheme: 'light' };
  const page = await browser.newPage(/** @type {import('playwright-core').BrowserContextOptions} */ (options));
  await page.goto(url);
  await page.locator('#open[aria-disabled=false]').waitFor({ timeout: 120_000 });
  await page.locator('#open').click();
  // Late enough that the last buyers come while the sentence is there.
  await page.getByText(/^(2[4-9]|3\d) buyers came/).waitFor({ timeout: 60_000 });
  await page.locator('.lane[data-id="lock-2"] [data-act=stop]').click();
  await page.locator('#story[data-state=busy]').waitFor();
  await page.locator('#story[data-state=done]').waitFor({ timeout: 60_000 });
  await page.locator('.sale[data-guard=lock] .lane.has').waitFor();
  await page.screenshot({ path: target, animations: 'disabled' });
  spawnSync('pngquant', ['--force', '--ext', '.png', '--quality', '60-95', '--speed', '1', target]);
} finally {
  await browser.close();
  demo.kill('SIGINT');
  await once(demo, 'exit');
}
