/**
 * Plays the walk of docs/operate/observability.md: two processes of the sample, buyers that wait too long, a real Prometheus with ops/alerts.yml, the
 * real OpenTelemetry SDK, and a browser that takes the pictures. Writes docs/walk. Takes a quarter of an hour, because the alert does.
 * Needs the Debian packages prometheus and chromium.
 *
 *   npm run docs -- walk
 */
import { fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { buildSample } from '../../scripts/sample.mjs';
import { freePort, startRedis } from '../../test/support/redis-process.mjs';
import { root } from '../../scripts/run.mjs';

const event = 'summer-night';
/** In both processes together: few at first, then more than there is time for. */
const [fewBuyers, manyBuyers] = [2, 6];
const quietMinutes = 3;
const output = (/** @type {string} */ name) => join(import.meta.dirname, name);

/** @typedef {{ name: string, traceId: string, spanId: string, parent?: string, ms: number, linked: string[], pid: number }} Span */

await buildSample();
const directory = mkdtempSync(join(tmpdir(), 'walk-'));
const spans = join(directory, 'spans.jsonl');
/** @type {Array<() => unknown>} */
const ends = [() => rmSync(directory, { recursive: true, force: true })];
try {
  const redis = await startRedis();
  ends.push(() => redis.stop());
  const urls = await Promise.all([0, 1].map(() => startShop(redis.url)));
  const prometheus = await startPrometheus(urls);
  const buyers = await startBuyers(urls);
  await fired(prometheus);
  writeFileSync(output('inspect.txt'), inspect(redis.url));
  await takePictures(prometheus);
  buyers.abort();
  writeFileSync(output('trace.txt'), slowestTrace());
} finally {
  for (const end of ends.toReversed()) await end();
}

/** @param {string} redisUrl */
async function startShop(redisUrl) {
  const settings = { PORT: '0', SALE_GUARD: 'lock', PAYMENT_MS: '1500', DATABASE_URL: '' };
  const child = fork(join(root, 'dist/sample/sample/src/main.js'), {
    env: { ...process.env, ...settings, REDIS_URL: redisUrl, DATABASE_FILE: join(directory, 'sale'), SPANS: spans },
    execArgv: ['--import', pathToFileURL(join(import.meta.dirname, 'telemetry.mjs')).href],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  ends.push(() => child.kill('SIGKILL'));
  const [{ url }] = await once(child, 'message');
  return /** @type {string} */ (url);
}

/** @param {string[]} urls of what it scrapes */
async function startPrometheus(urls) {
  const config = join(directory, 'prometheus.yml');
  const targets = urls.map((url) => new URL(url).host);
  // JSON is YAML.
  const settings = {
    global: { scrape_interval: '5s', evaluation_interval: '5s' },
    rule_files: [join(root, 'ops/alerts.yml')],
    scrape_configs: [{ job_name: 'ticket-sale', static_configs: [{ targets }] }],
  };
  writeFileSync(config, JSON.stringify(settings));
  const address = `127.0.0.1:${await freePort()}`;
  const data = `--storage.tsdb.path=${join(directory, 'data')}`;
  const args = [`--config.file=${config}`, data, `--web.listen-address=${address}`, '--log.level=warn'];
  const child = spawn('prometheus', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  ends.push(() => child.kill('SIGKILL'));
  return `http://${address}`;
}

/** @param {string[]} urls */
async function startBuyers(urls) {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ capacity: 100_000 });
  await fetch(`${urls[0]}/events/${event}`, { method: 'PUT', headers, body });
  const buyers = new AbortController();
  ends.push(() => buyers.abort());
  const buy = async (/** @type {string} */ url) => {
    while (!buyers.signal.aborted) {
      await fetch(`${url}/events/${event}/tickets`, { method: 'POST', signal: buyers.signal }).catch(() => delay(500));
    }
  };
  const arrive = (/** @type {number} */ from, /** @type {number} */ to) => {
    for (let buyer = from; buyer < to; buyer++) void buy(/** @type {string} */ (urls[buyer % urls.length]));
  };
  arrive(0, fewBuyers);
  await delay(quietMinutes * 60_000);
  arrive(fewBuyers, manyBuyers);
  return buyers;
}

/** Waits for the alert. @param {string} prometheus its address */
async function fired(prometheus) {
  for (;;) {
    await delay(5_000);
    const response = await fetch(`${prometheus}/api/v1/alerts`).catch(() => undefined);
    const { data } = /** @type {any} */ ((await response?.json()) ?? {});
    const states = data?.alerts.map((/** @type {any} */ { labels, state }) => `${labels.alertname} ${state}`) ?? [];
    console.log(new Date().toISOString(), states.join(', '));
    if (states.includes('LockWaitLong firing')) return;
  }
}

/** @param {string} prometheus its address */
async function takePictures(prometheus) {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  ends.push(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1100, height: 1100 } });
  await page.goto(`${prometheus}/classic/alerts`);
  const alert = page.locator('tr', { hasText: 'LockWaitLong' });
  await alert.first().click();
  await delay(1_000);
  // The header of the alert, and the row below it.
  const header = await alert.first().boundingBox();
  const details = await alert.nth(1).boundingBox();
  if (!header || !details) throw new Error('the page of alerts has changed');
  const height = details.y + details.height - header.y;
  await page.screenshot({ path: output('alert.png'), clip: { ...header, height } });
  const query = new URLSearchParams({ 'g0.expr': lastQueryOf('Wait'), 'g0.tab': '0', 'g0.range_input': '15m' });
  await page.goto(`${prometheus}/classic/graph?${query.toString()}`);
  await delay(3_000);
  await page
    .locator('.graph_container')
    .first()
    .screenshot({ path: output('wait.png') });
}

/** The last query of a panel, for all its variables. @param {string} title */
function lastQueryOf(title) {
  const { panels } = JSON.parse(readFileSync(join(root, 'ops/grafana-dashboard.json'), 'utf8'));
  /** @type {string} */
  const query = panels.find((/** @type {{ title: string }} */ panel) => panel.title === title).targets.at(-1).expr;
  return query
    .replaceAll(/\w+=~?"\$\w+"(, )?/g, '')
    .replaceAll('{}', '')
    .replaceAll('$__rate_interval', '1m');
}

/** @param {string} redisUrl */
function inspect(redisUrl) {
  const args = [join(root, 'dist/esm/cli.js'), 'inspect', `event:${event}`];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    env: { ...process.env, REDIS_URL: redisUrl },
    encoding: 'utf8',
  });
  return `$ npx nestjs-redis-lock inspect event:${event}\n${stdout}${stderr}`;
}

/** The request that waited longest for one of the other process, and the request that it waited for. */
function slowestTrace() {
  /** @type {Span[]} */
  const all = readFileSync(spans, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const byId = new Map(all.map((span) => [span.spanId, span]));
  const holderOf = (/** @type {Span} */ { linked }) => byId.get(linked[0] ?? '');
  const waits = all.filter((span) => {
    const holder = holderOf(span);
    return span.name.startsWith('lock wait') && holder !== undefined && holder.pid !== span.pid;
  });
  const slowest = waits.toSorted((a, b) => b.ms - a.ms)[0];
  if (!slowest) throw new Error('no request waited for one of the other process');
  const holder = /** @type {Span} */ (holderOf(slowest));
  return [...treeOf(all, slowest, holder), '', ...treeOf(all, holder)].join('\n') + '\n';
}

/** @param {Span[]} all @param {Span} part a span of the trace @param {Span} [target] of the link of the part */
function treeOf(all, part, target) {
  const trace = all.filter(({ traceId }) => traceId === part.traceId);
  const line = (/** @type {Span} */ span, /** @type {string} */ branch) => {
    const link = span === part && target ? `   link → ${target.name}, trace ${target.traceId.slice(0, 8)}` : '';
    const duration = `${Math.round(span.ms).toLocaleString('en')} ms`;
    return `${`${branch}${span.name}`.padEnd(34)} ${duration.padStart(9)}${link}`;
  };
  const rootSpan = trace.find(({ parent }) => parent === undefined);
  const children = trace.filter((span) => span !== rootSpan && span.name.startsWith('lock'));
  return [
    `trace ${part.traceId.slice(0, 8)}, process ${part.pid}`,
    ...(rootSpan ? [line(rootSpan, '')] : []),
    ...children.map((span, index) => line(span, index === children.length - 1 ? '╰ ' : '├ ')),
  ];
}
