import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { createLockClient } from 'nestjs-redis-lock/client';
import { axeViolations, inBrowser } from '../support/browser.js';
import { sharedRedisUrl } from '../support/redis-server.js';
import { SampleProcess } from '../support/sample-process.js';

const password = 'let me in';

inBrowser('the console of the sample, in a browser', (newPage) => {
  let directory: string;
  let env: NodeJS.ProcessEnv;
  let here: SampleProcess;
  let there: SampleProcess;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'console-'));
    // Payments that last until the test ends: a buyer holds the lock, and the others wait.
    env = {
      REDIS_URL: sharedRedisUrl(),
      DATABASE_FILE: join(directory, 'sale.sqlite'),
      PAYMENT_MS: '600000',
      OPS_PASSWORD: password,
    };
    [here, there] = (await SampleProcess.fleet(2, env)) as [SampleProcess, SampleProcess];
  }, 60_000);

  afterAll(async () => {
    for (const process of [here, there]) await process[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  async function open({ url }: SampleProcess = here, options: BrowserContextOptions = {}, address = ''): Promise<Page> {
    const page = await newPage({ httpCredentials: { username: 'ann', password }, ...options });
    await page.goto(address === '' ? `${url}/locks` : `${url}/locks/live${address}`);
    await page.locator('#live[data-state=live]').waitFor();
    return page;
  }

  /** An event with buyers: the first one pays, and the others wait. */
  async function sale(buyers: number): Promise<{ lock: string }> {
    const id = `gig-${randomUUID().slice(0, 8)}`;
    await here.request('PUT', `/events/${id}`, { capacity: 100 });
    for (let buyer = 0; buyer < buyers; buyer++) {
      const process = buyer % 2 === 0 ? here : there;
      // Those that still wait when the test ends are cut off.
      process.request('POST', `/events/${id}/tickets`, {}).catch(() => undefined);
    }
    return { lock: `event:${id}` };
  }

  const rowOf = (page: Page, lock: string) => page.locator('#contended-rows tr', { hasText: lock });

  it('asks for the password, and shows nothing without it', async () => {
    for (const route of ['', '/live', '/app.js', '/api/overview']) {
      const response = await fetch(`${here.url}/locks${route}`);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toContain('Basic');
    }
  });

  it('shows a queue as it appears, and a release by force passes the lock on: the queue is shorter', async () => {
    const page = await open(here, { bypassCSP: false });
    const { lock } = await sale(2);
    const row = rowOf(page, lock);
    await row.getByText('LockedTicketOffice.buy').first().waitFor();
    await row.getByRole('link', { name: lock }).click();
    const sheet = page.getByRole('dialog', { name: lock });
    await sheet.locator('#queue li').waitFor();
    const shown = sheet.locator('#holders [data-part=token]');
    const token = (await shown.textContent())!;
    await sheet.getByRole('button', { name: 'Release by force' }).click();
    const box = page.getByRole('dialog', { name: 'Release by force?' });
    const submit = box.getByRole('button', { name: 'Release by force' });
    await box.getByLabel('Reason').fill('the payment hangs');
    expect(await submit.isDisabled()).toBe(true);
    await box.getByLabel('Type the name').fill(lock);
    await submit.click();
    await box.waitFor({ state: 'hidden' });
    await sheet.locator('#holders li').filter({ hasNotText: token }).waitFor();
    await sheet.getByText('No one waits.').waitFor();
    await page.keyboard.press('Escape');
    const incident = page.locator('#incidents-rows li', { hasText: lock }).first();
    await incident.getByText('the payment hangs').waitFor();
    expect(await incident.textContent()).toContain('ann');
    await row.waitFor({ state: 'detached' });
  });

  it('says 409 in words when the holder has changed since it was seen', async () => {
    const page = await open();
    const { lock } = await sale(2);
    await rowOf(page, lock).getByRole('link', { name: lock }).click();
    await page.locator('#holders [data-part=release]').first().click();
    // Another person is faster.
    const token = Number(await page.locator('#release-token').textContent());
    const fields = { name: lock, typed: lock, fencingToken: token, reason: 'first' };
    const authorization = `Basic ${Buffer.from(`bob:${password}`).toString('base64')}`;
    const headers = {
      authorization,
      'content-type': 'application/json',
      'x-lock-console': '1',
      'sec-fetch-site': 'same-origin',
    };
    const first = await fetch(`${here.url}/locks/api/release`, {
      method: 'POST',
      headers,
      body: JSON.stringify(fields),
    });
    expect(first.status).toBe(200);
    await page.getByLabel('Type the name').fill(lock);
    await page.getByLabel('Reason').fill('second');
    await page.getByRole('button', { name: 'Release by force', exact: true }).click();
    await page.locator('#release-notice', { hasText: 'The holder has changed' }).waitFor();
  });

  it('is used by the keyboard alone, and gives the focus back', async () => {
    const page = await open();
    const { lock } = await sale(2);
    const button = rowOf(page, lock).getByRole('link', { name: lock });
    await button.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: lock }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: lock }).waitFor({ state: 'hidden' });
    // Answers came in between: the element is still the same.
    await page.waitForResponse(/overview/);
    await page.locator('#contended-rows a:focus', { hasText: lock }).waitFor();
  });

  it('shows a name with markup and control characters as text', async () => {
    const page = await open();
    const name = '<img src=x onerror=alert(1)>\u202e:1';
    await page.getByLabel('Name of a lock, or its beginning').fill(name);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('link', { name: 'onerror' }).click();
    const title = page.locator('#lock-name');
    await page.locator('#holders-none', { hasText: 'No lock of this name is held or waited for.' }).waitFor();
    expect(await title.textContent()).toBe(String.raw`<img src=x onerror=alert(1)>\u{202e}:1`);
    expect(await page.locator('img').count()).toBe(0);
  });

  it('says that a lock of Java has no end when its key never expires', async () => {
    await using shared = await SampleProcess.start({ ...env, LOCK_FORMAT: 'redisson' });
    const redis = new Redis(sharedRedisUrl());
    const name = `product:${randomUUID()}`;
    await redis.hset(name, '8743c9c0-0795-4907-87fd-6c719a6b4586:47', 1);
    const page = await open(shared);
    await page.getByLabel('Name of a lock, or its beginning').fill(name);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('link', { name }).click();
    const card = page.getByRole('dialog', { name }).locator('#holders li');
    await card.waitFor();
    expect(await card.locator('[data-part=left]').textContent()).toBe('no end');
    expect(await card.locator('[data-part=bar]').getAttribute('style')).toContain('100%');
    await redis.del(name);
    redis.disconnect();
  });

  it('releases a lock whose name no one can type, by the name as it is shown', async () => {
    const log = { log() {}, warn() {}, error() {} };
    await using locks = createLockClient({ redis: sharedRedisUrl(), shutdownTimeout: 0, log });
    const id = randomUUID();
    const name = `odd\u202e:${id}`;
    await locks.acquire(name);
    const page = await open();
    await page.getByLabel('Name of a lock, or its beginning').fill(name);
    await page.keyboard.press('Enter');
    await page.locator('#holders [data-part=release]').click();
    await page.getByLabel('Type the name').fill(String.raw`odd\u{202e}:${id}`);
    await page.getByLabel('Reason').fill('hangs');
    await page.getByRole('button', { name: 'Release by force', exact: true }).click();
    await page.locator('#holders-none', { hasText: 'No one' }).waitFor();
    expect((await locks.inspect(name)).holders).toEqual([]);
  });

  it.each([400, 900, 1440])('has nothing that is cut off at %i px, also with a very long name', async (width) => {
    const page = await open(here, { viewport: { width, height: 800 } });
    const { lock } = await sale(2);
    await rowOf(page, lock).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThan(1);
    await page.getByLabel('Name of a lock, or its beginning').fill('long'.repeat(250));
    await page.keyboard.press('Enter');
    await page.locator('#list-none', { hasText: 'No lock whose name begins so' }).waitFor();
    const cut = (sheet: { scrollWidth: number; clientWidth: number }) => sheet.scrollWidth - sheet.clientWidth;
    expect(await page.locator('#list').evaluate(cut)).toBeLessThan(1);
    await page.locator('#list-rows a').first().click();
    await page.locator('#holders-none', { hasText: 'No lock of this name' }).waitFor();
    expect(await page.locator('#lock').evaluate(cut)).toBeLessThan(1);
  });

  it('gives the holder of a contended lock the whole width of a phone', async () => {
    const page = await open(here, { viewport: { width: 390, height: 800 } });
    const { lock } = await sale(2);
    const row = rowOf(page, lock);
    await row.waitFor();
    const [whole, holder] = [(await row.boundingBox())!, (await row.locator('td.holder').boundingBox())!];
    expect(holder.width).toBeGreaterThan(0.9 * whole.width);
  });

  it('keeps a chain of ten locks on the screen of a phone', async () => {
    const chain = (left: number): object => ({
      key: `account:${left}:${'x'.repeat(40)}`,
      isDeadlock: false,
      isRepeated: false,
      moreWaiters: 0,
      waiters: (left === 0 ? [] : [left - 1]).map((next) => ({
        ...{ client: `c${next}`, host: 'web-1', pid: 4711, method: 'TransferService.withdraw' },
        ...{ callers: 1, longest: 1_000, isDeadlock: false, blocks: [chain(next)] },
      })),
    });
    const page = await newPage({
      httpCredentials: { username: 'ann', password },
      viewport: { width: 390, height: 800 },
    });
    await page.route('**/api/overview*', async (route) => {
      const response = await route.fetch();
      const view = (await response.json()) as { waits: object };
      await route.fulfill({ response, json: { ...view, waits: { ...view.waits, roots: [chain(10)] } } });
    });
    await page.goto(`${here.url}/locks/live`);
    await page.locator('#waits').getByRole('link', { name: 'account:0:' }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  });

  it('isolates names from the text around them, in any direction of writing', async () => {
    const page = await open();
    const { lock } = await sale(2);
    await rowOf(page, lock).waitFor();
    const isolation = 'getComputedStyle(document.querySelector("#contended-rows th bdi")).unicodeBidi';
    expect(await page.evaluate(isolation)).toBe('isolate');
  });

  it('has an address for a lock: a reload shows it again, back closes it, a link opens it elsewhere', async () => {
    const page = await open();
    const { lock } = await sale(2);
    await rowOf(page, lock).getByRole('link', { name: lock }).click();
    await page.getByRole('dialog', { name: lock }).waitFor();
    const address = page.url();
    expect(address).toContain(`#/lock/${lock}`);
    await page.reload();
    await page.getByRole('dialog', { name: lock }).locator('#queue li').waitFor();
    await page.goBack();
    await page.getByRole('dialog', { name: lock }).waitFor({ state: 'hidden' });
    const other = await open(there, {}, new URL(address).hash);
    await other.getByRole('dialog', { name: lock }).locator('#holders li').waitFor();
  });

  it('shows what one process holds and waits for, and each lock of it opens', async () => {
    const page = await open();
    const { lock } = await sale(3);
    const row = rowOf(page, lock);
    await row.locator('.holder').getByRole('link').click();
    const sheet = page.locator('#process');
    const held = sheet.locator('[data-part=holds] li', { hasText: lock });
    await held.getByText('LockedTicketOffice.buy').waitFor();
    await held.getByText(/waiting/).waitFor();
    const address = page.url();
    await held.getByRole('link', { name: lock }).click();
    await page.getByRole('dialog', { name: lock }).locator('#holders li').waitFor();
    await page.goto(address);
    await held.waitFor();
  });

  it('counts callers, not processes: a queue of seven in two processes', async () => {
    const page = await open();
    const { lock } = await sale(8);
    const row = rowOf(page, lock);
    await row.getByText('7 callers in 2 processes').waitFor();
    await row.getByRole('link', { name: lock }).click();
    await page.locator('#queue-title', { hasText: '7 callers in 2 processes' }).waitFor();
    await page.getByRole('link', { name: 'How many callers each process has' }).click();
    await page.locator('#list-rows li').nth(1).waitFor();
    const callers = await page.locator('#list-rows [data-part=more]').allTextContents();
    expect(callers.sort()).toEqual(['3 callers', '4 callers']);
  });

  it('opens each list from its figure', async () => {
    const page = await open();
    const { lock } = await sale(2);
    await rowOf(page, lock).waitFor();
    await page.locator('#figure-contended').click();
    const sheet = page.getByRole('dialog', { name: 'Locks that callers wait for' });
    await sheet.getByRole('link', { name: lock }).waitFor();
    await page.keyboard.press('Escape');
    for (const title of ['Locks that are held for long', 'Lost and forced']) {
      await page.locator(title === 'Lost and forced' ? '#figure-incidents' : '#figure-long').click();
      await page.getByRole('dialog', { name: title }).waitFor();
      await page.keyboard.press('Escape');
    }
  });

  it('finds locks by the beginning of their names, and says that there is none, with names that look like it', async () => {
    const page = await open();
    const { lock } = await sale(2);
    await rowOf(page, lock).waitFor();
    const search = async (text: string) => {
      await page.getByLabel('Name of a lock, or its beginning').fill(text);
      await page.keyboard.press('Enter');
    };
    await search(lock.slice(0, -3));
    await page.getByRole('dialog').getByRole('link', { name: lock }).waitFor();
    await page.keyboard.press('Escape');
    await search(`${lock.slice(0, -2)}${lock.at(-1)}${lock.at(-2)}!`);
    const none = page.locator('#list-none');
    await none.filter({ hasText: 'No lock whose name begins so is held or waited for. These look like it:' }).waitFor();
    await page.getByRole('dialog').getByRole('link', { name: lock, exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await search(lock);
    await page.getByRole('dialog', { name: lock }).locator('#holders li').waitFor();
  });

  it.each([
    ['a redirect to a page for signing in', { status: 302, headers: { location: '/login' } }, 'You are signed out.'],
    ['a page for signing in', { status: 200, contentType: 'text/html', body: '<form>' }, 'You are signed out.'],
    ['401', { status: 401, json: { statusCode: 401, error: 'Unauthorized' } }, 'You are signed out.'],
    ['403', { status: 403, json: { statusCode: 403, error: 'Forbidden' } }, 'You may not look at locks any more'],
    ['429 of a throttler', { status: 429, json: { statusCode: 429 } }, 'The server limits how often you may ask'],
    [
      '404',
      { status: 404, json: { statusCode: 404, error: 'Not Found' } },
      'The server has no console at this address',
    ],
    [
      '502 of a proxy',
      { status: 502, contentType: 'text/html', body: '<h1>' },
      'A proxy answers instead of the server',
    ],
    ['500', { status: 500, json: { statusCode: 500 } }, 'The server answers with an error (500).'],
    ['403 in the own words of the application', { status: 403, json: { error: 'Forbidden' } }, 'You may not look'],
    ['401 in its own words', { status: 401, json: { error: 'constructor', code: 1 } }, 'You are signed out.'],
    ['200 of something else', { status: 200, json: { ok: false } }, 'The page does not understand'],
  ])('tells the end of a session apart: %s', async (_what, answer, text) => {
    const page = await open();
    await page.route('**/api/overview*', (route) => route.fulfill(answer));
    await page.locator('#notice-text', { hasText: text }).waitFor();
    expect(await page.locator('#sign-in').isVisible()).toBe(text === 'You are signed out.');
  });

  it.each([
    ['#/list/rubbish', '#list', 'There is no list of this name.'],
    ['#/list/constructor', '#list', 'There is no list of this name.'],
    ['#/list/holds/web-99', '#list', 'No process of this name is known.'],
    ['#/list/waiters/', '#list', 'This is not a name that a lock can have.'],
    ['#/process/web-99', '#process', 'No process of this name holds a lock for long'],
    ['#/lock/', '#lock', 'This is not a name that a lock can have.'],
    ['#/lock/?connection=other', '#notice-text', 'The server has no connection of this name.'],
  ])('says what is wrong with the address %s', async (address, place, text) => {
    const page = await newPage({ httpCredentials: { username: 'ann', password } });
    await page.goto(`${here.url}/locks/live${address}`);
    await page.locator(place, { hasText: text }).waitFor();
    expect(await page.locator('body').innerText()).not.toContain('native code');
  });

  it('closes the form of a release when the address leads to another connection', async () => {
    const page = await open();
    const { lock } = await sale(1);
    await page.goto(`${here.url}/locks/live#/lock/${lock}`);
    await page.getByRole('button', { name: 'Release by force …' }).click();
    await page.getByLabel('Type the name of the lock').fill(lock);
    await page.evaluate('location.hash += "?connection=other"');
    await page.locator('#release').waitFor({ state: 'hidden' });
    await page.locator('#lock', { hasText: 'The server has no connection of this name.' }).waitFor();
  });

  it('speaks a trouble once: its age changes outside of the alert', async () => {
    const third = await SampleProcess.start(env);
    const page = await open(third);
    await third[Symbol.asyncDispose]();
    const age = page.locator('#notice-age');
    await age.filter({ hasText: 'What you see is' }).waitFor();
    // Counts what a screen reader would speak, from now on.
    await page.evaluate(
      'globalThis.spoken = 0; new MutationObserver(() => spoken++).observe(document.querySelector("[role=alert]"), { childList: true, characterData: true, subtree: true })',
    );
    const before = await age.textContent();
    await page.waitForFunction(`document.querySelector('#notice-age').textContent !== ${JSON.stringify(before)}`);
    expect(await page.evaluate('spoken')).toBe(0);
  });

  it.each(['light', 'dark'] as const)('passes the rules of axe, %s', async (colorScheme) => {
    const page = await open(here, { colorScheme });
    const { lock } = await sale(2);
    await rowOf(page, lock).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await rowOf(page, lock).getByRole('link', { name: lock }).click();
    await page.locator('#queue li').first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.locator('#holders [data-part=release]').first().click();
    expect(await axeViolations(page)).toEqual([]);
  });

  it('says when it is cut off from the server, and how old the picture is', async () => {
    const third = await SampleProcess.start(env);
    const page = await open(third);
    await third[Symbol.asyncDispose]();
    await page.getByText(/Cut off from the server\. Since .* What you see is .* old\./).waitFor();
    expect(await page.locator('#live').textContent()).toContain('Cut off');
  });
});
