import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { vitepress } from '../../scripts/docs.mjs';
import { chromiumPath, openBrowser } from '../support/browser.js';

if (chromiumPath === undefined) console.warn('SKIPPED: the documents in a browser (Debian package chromium)');

const root = join(import.meta.dirname, '../..');
const site = join(root, 'dist/site');
/** Where a server may have it, as GitHub Pages do. */
const base = '/some/path/';
const kinds: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** Serves files, and nothing else: no rewriting, no index but that of a directory. */
const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url!, 'http://localhost').pathname);
  const file = join(site, path.slice(base.length).replace(/(^|\/)$/, '$1index.html'));
  if (!path.startsWith(base) || !existsSync(file)) return response.writeHead(404).end();
  return response.writeHead(200, { 'content-type': kinds[extname(file)] ?? 'image/svg+xml' }).end(readFileSync(file));
});

const built = await vitepress(['build'], { env: { DOCS_BASE: base } });
const pages = (existsSync(site) ? readdirSync(site, { recursive: true, encoding: 'utf8' }) : [])
  .filter((file) => file.endsWith('.html') && file !== '404.html')
  .toSorted();
const html = new Map(pages.map((page) => [page, readFileSync(join(site, page), 'utf8')]));
const linksOf = (text: string): string[] => [...text.matchAll(/<a [^>]*?href="([^"]+)"/g)].map(([, href]) => href!);
/** The file of a link that stands on a page. */
const fileOf = (href: string, page: string): string =>
  new URL(href, `http://localhost${base}${page}`).pathname.slice(base.length).replace(/(^|\/)$/, '$1index.html');

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.close();
});

describe('the site of docs/', () => {
  it('is built without a dead link', () => {
    expect(built).toMatchObject({ code: 0 });
  });

  it('has a page for each file of docs/', () => {
    const files = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
    const expected = files
      .filter((file) => file.endsWith('.md'))
      .map((file) => file.replace(/(README)?\.md$/, (_, readme) => (readme ? 'index.html' : '.html')));
    expect(pages).toEqual(expected.toSorted());
  });

  it.each(pages)('%s leads to pages and headings that exist', (page) => {
    const dead = linksOf(html.get(page)!).filter((href) => {
      if (/^[a-z]+:/.test(href)) return false;
      const [path = '', anchor] = href.split('#');
      const target = html.get(path === '' ? page : fileOf(path, page));
      return (
        target === undefined ||
        (anchor !== undefined && anchor !== '' && !target.includes(`id="${decodeURIComponent(anchor)}"`))
      );
    });
    expect(dead).toEqual([]);
  });

  it('leads to every page from the sidebar', () => {
    const [sidebar = ''] = /<aside class="VPSidebar".*?<\/aside>/s.exec(html.get('reference/options.html') ?? '') ?? [];
    const listed = new Set(linksOf(sidebar).map((href) => fileOf(href, 'reference/options.html')));
    expect(pages.filter((page) => page !== 'index.html' && !listed.has(page))).toEqual([]);
  });

  it('lists every page of the index in llms.txt, beside its Markdown', () => {
    const listed = [...readFileSync(join(site, 'llms.txt'), 'utf8').matchAll(/\]\(([^)]+)\): \S/g)].map(
      ([, path]) => path!,
    );
    expect(listed.length).toBeGreaterThan(10);
    expect(listed.filter((path) => !existsSync(join(site, path)))).toEqual([]);
  });
});

(chromiumPath === undefined ? describe.skip : describe)('the site of docs/, in a browser', () => {
  let browser: Browser;
  let telephone: Page;
  let address: string;
  const requests: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    browser = await openBrowser();
    telephone = await open(400);
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => browser.close());

  async function open(width: number): Promise<Page> {
    const page = await browser.newPage({ viewport: { width, height: 800 } });
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', ({ message }) => complaints.push(message));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    return page;
  }

  async function show(page: Page, path: string): Promise<void> {
    await page.goto(`${address}${base}${path}`);
    // Vue has taken the page over.
    await page.waitForFunction("document.querySelector('#app').__vue_app__ !== undefined");
  }

  it.each(pages)('%s fits a telephone, draws its diagrams, and complains of nothing', async (path) => {
    await show(telephone, path);
    await telephone.waitForFunction("document.querySelector('.diagram-source') === null");
    expect(await telephone.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(400);
    expect(complaints.splice(0)).toEqual([]);
  });

  it('shows code before and after a migration beside each other on a wide screen, below each other on a telephone', async () => {
    const topsOn = async (page: Page): Promise<number[]> => {
      await show(page, 'migration/redlock.html');
      return page
        .locator('.beside')
        .first()
        .locator('figure')
        .evaluateAll((blocks) => blocks.map((block) => (block as unknown as { offsetTop: number }).offsetTop));
    };
    const wide = await open(1600);
    const [before, after, ...rest] = await topsOn(wide);
    expect([after, rest]).toEqual([before, []]);
    await wide.close();
    const [above, below] = await topsOn(telephone);
    expect(below).toBeGreaterThan(above!);
  });

  it('finds a page by a word that stands in it', async () => {
    const page = await open(1200);
    await show(page, '');
    await page.locator('.VPNavBarSearch button').click();
    await page.locator('.search-input').fill('watchdog renews');
    await page.locator('.result').first().click();
    await page.waitForURL(/#/);
    expect(await page.locator('main').innerText()).toMatch(/watchdog/i);
    await page.close();
    expect(complaints.splice(0)).toEqual([]);
  });

  it('asks no other machine', () => {
    expect(requests.length).toBeGreaterThan(pages.length);
    expect(requests.filter((url) => !url.startsWith(address) && !url.startsWith('data:'))).toEqual([]);
  });
});
