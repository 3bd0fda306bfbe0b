import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { axeViolations, inBrowser } from '../support/browser.js';
import { ProgramRun } from '../support/program-run.js';

/** What the kernel says: `T` is stopped, undefined is gone. */
function stateOf(pid: number): string | undefined {
  try {
    return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))![1];
  } catch {
    return undefined;
  }
}

/** The servers that a process has started. */
const serversOf = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        return stat.includes('(redis-server)') && Number(/\) \w (\d+)/.exec(stat)![1]) === parent;
      } catch {
        return false;
      }
    });

const demo = join(import.meta.dirname, '../../dist/sample/sample/demo/main.js');
/** In the page: for each sale, how many buyers have bought, were refused, or got an error. */
const ends = `[...document.querySelectorAll('.sale')].map((sale) => ['orders', 'refused', 'failed']
  .reduce((sum, part) => sum + Number(sale.querySelector('[data-part=' + part + ']').textContent), 0))`;
const number = (text: string | null): number => Number(text!.replaceAll(',', ''));

inBrowser('the sale as a page, in a browser', (newPage) => {
  let run: ProgramRun;
  let url: string;

  beforeAll(async () => {
    const size = ['--processes', '2', '--buyers', '120', '--tickets', '60'];
    run = await ProgramRun.start([demo, '--web', '--port', '0', '--pace', 'brisk', ...size]);
    url = await run.says(/http:\S+/);
    // The processes start; it may take a while on a busy machine.
    const page = await visit();
    await page.locator('#open[aria-disabled=false]').waitFor({ timeout: 150_000 });
    await page.context().close();
  }, 180_000);

  afterAll(() => run[Symbol.asyncDispose]());

  async function visit(options?: BrowserContextOptions): Promise<Page> {
    const page = await newPage(options);
    await page.goto(url);
    return page;
  }

  /** With a sale that has just begun, and two processes in each lane that serve. */
  async function openSale(options?: BrowserContextOptions): Promise<Page> {
    const page = await visit(options);
    await page.locator('#open[aria-disabled=false]').waitFor();
    const answer = page.waitForResponse(/act\/open/);
    await page.locator('#open').click();
    expect((await answer).status()).toBe(204);
    return page;
  }

  const saleOf = (page: Page, guard: string): Locator => page.locator(`.sale[data-guard=${guard}]`);
  const laneOf = (page: Page, name: string): Locator =>
    saleOf(page, 'lock').locator('.lane', { has: page.locator(`strong:text-is("${name}")`) });
  const pidOf = async (lane: Locator): Promise<number> =>
    Number(/\d+/.exec((await lane.locator('[data-part=pid]').textContent())!)![0]);
  /** Presses a button, and waits for the sentence at its end. */
  async function told(page: Page, button: Locator, during: () => Promise<void> = async () => {}): Promise<string> {
    await page.locator('#story[data-told]').waitFor();
    const before = Number(await page.locator('#story').getAttribute('data-told'));
    await button.click();
    await during();
    // Its own sentence: a fast act is over before the page has shown that it is under way.
    await page.locator(`#story[data-told="${before + 1}"][data-state=done]`).waitFor({ timeout: 60_000 });
    return (await page.locator('#sentence').textContent())!;
  }
  const act = (within: Page | Locator, name: string): Locator => within.locator(`[data-act=${name}]`);
  const figure = async (sale: Locator, part: string): Promise<number> =>
    number(await sale.locator(`[data-part=${part}]`).first().textContent());

  it('shows no sale and no number without the processes', async () => {
    const page = await newPage();
    await page.route(/events$/, (route) => route.abort());
    await page.goto(url);
    await page.getByText('Cut off from the server').waitFor();
    expect(await page.locator('#sales > *').count()).toBe(0);
    expect(await page.locator('#sentence').textContent()).toBe('No process yet.');
  });

  it('does nothing before the sale is open, and says so', async () => {
    const page = await visit();
    await page.locator('#open[aria-disabled=false]').waitFor({ timeout: 60_000 });
    expect(await act(page, 'stop').first().getAttribute('aria-disabled')).toBe('true');
    const refusals = await page.evaluate<[number, string]>(`
      fetch('act/stop', {
        method: 'POST', body: '{"lane":"lock-1"}',
        headers: { 'content-type': 'application/json', 'x-lock-console': '1' },
      }).then(async (answer) => [answer.status, await answer.text()])`);
    expect(refusals).toEqual([409, 'Open the sale first.']);
  }, 90_000);

  it('shows a queue that appears and shrinks, and oversold tickets in red: not for ours', async () => {
    const page = await openSale();
    const ours = saleOf(page, 'lock');
    await ours.locator('[data-part=waiting] .person').nth(5).waitFor();
    await ours.locator('[data-part=place]:visible').first().waitFor();
    await ours.locator('[data-part=token]:visible').first().waitFor();
    await ours.getByText('sold out, each ticket once').waitFor({ timeout: 60_000 });
    await page.waitForFunction(
      "document.querySelectorAll('.sale .person').length === 0 && document.querySelector('#crowd').textContent === '120 buyers came'",
      undefined,
      { timeout: 60_000 },
    );
    for (const guard of ['none', 'mutex']) {
      const sale = saleOf(page, guard);
      const oversold = await figure(sale, 'oversold');
      expect(oversold).toBeGreaterThan(0);
      expect(await sale.locator('.seat.over').count()).toBe(oversold);
      expect(await figure(sale, 'orders')).toBe(60 + oversold);
    }
    expect(await ours.locator('.seat.over').count()).toBe(0);
    expect([await figure(ours, 'orders'), await figure(ours, 'oversold')]).toEqual([60, 0]);
    // A wait that is too long on a busy machine is an error, and no ticket.
    expect((await figure(ours, 'refused')) + (await figure(ours, 'failed'))).toBe(60);
  }, 120_000);

  it('stops a process past its lease: it is woken, and the row refuses its token', async () => {
    const page = await openSale();
    const lane = laneOf(page, 'Process 2');
    const pid = await pidOf(lane);
    const sentence = await told(page, act(lane, 'stop'), async () => {
      await lane.and(page.locator('[data-state=stopped]')).waitFor();
      expect(stateOf(pid)).toBe('T');
    });
    expect(sentence).toMatch(
      /^Process 2 was stopped past its lease\. Process 1 got the lock with token [\d,]+; when Process 2 woke, its signal fired and the row refused its token [\d,]+\.$/,
    );
    const [next, own] = sentence.match(/token [\d,]+/g)!.map((text) => number(text.replace('token ', '')));
    expect(next).toBeGreaterThan(own! + 1_000);
    expect(await lane.locator('.mark-chip').allTextContents()).toEqual([
      'SIGSTOP',
      'signal fired',
      `row refused token ${own!.toLocaleString('en')}`,
    ]);
    expect(stateOf(pid)).not.toBe('T');
    expect(await figure(saleOf(page, 'lock'), 'oversold')).toBe(0);
  }, 90_000);

  it('cuts a link: the signal fires before the lock is another’s, and the link can be mended', async () => {
    const page = await openSale();
    const lane = laneOf(page, 'Process 1');
    const cut = await told(page, act(lane, 'cut'));
    expect(cut).toMatch(
      /^The link between Process 1 and Redis was cut\. Its signal fired before the lock was another’s\. Process 2 got the lock with token [\d,]+; the row refused its token [\d,]+\.$/,
    );
    await lane.getByText('no link').waitFor();
    // It takes no lock, so it cannot be stopped with one.
    expect(await act(lane, 'stop').getAttribute('aria-disabled')).toBe('true');
    const mended = await told(page, act(lane, 'mend'));
    expect(mended).toMatch(/^The link between Process 1 and Redis is whole again\. It had the lock again with token/);
    await lane.getByText('serves').waitFor();
  }, 90_000);

  it('deletes the key: the holder learns it at its next renewal, and the row refuses its token', async () => {
    const page = await openSale();
    const sentence = await told(page, act(page, 'delete-key'));
    expect(sentence).toMatch(
      /^The key was deleted while Process \d had the lock with token [\d,]+\. Process \d got the lock with token [\d,]+\. At its next renewal the signal of Process \d fired, and the row refused its token [\d,]+\.$/,
    );
  }, 90_000);

  it('kills Redis and brings it back empty: no ticket is sold without the lock, and tokens go on', async () => {
    const page = await openSale();
    const [before] = serversOf(run.pid);
    const ours = saleOf(page, 'lock');
    const killed = await told(page, act(page, 'kill-redis'));
    expect(killed).toMatch(/^Redis was killed\. \d+ buyers? got the response 503, and /);
    expect(stateOf(before!)).toBeUndefined();
    expect(serversOf(run.pid)).toEqual([]);
    await ours.getByText('Who holds the lock is not known.').waitFor();
    const back = await told(page, act(page, 'start-redis'));
    expect(back).toMatch(
      /^Redis came back without its memory after [\d.]+ s\. Process \d got the lock with token [\d,]+, which is larger than each one before, and no ticket was sold twice\.$/,
    );
    expect(serversOf(run.pid)).toHaveLength(1);
  }, 90_000);

  it('says that Redis is gone, also when no button did it, and does nothing then that needs the lock', async () => {
    const page = await openSale();
    const ours = saleOf(page, 'lock');
    process.kill(serversOf(run.pid)[0]!, 'SIGKILL');
    await act(ours, 'start-redis').waitFor();
    await ours.getByText('Who holds the lock is not known.').waitFor();
    for (const name of ['stop', 'cut', 'delete-key'])
      expect(await act(ours, name).first().getAttribute('aria-disabled')).toBe('true');
    const back = await told(page, act(page, 'start-redis'));
    expect(back).toMatch(/^Redis came back without its memory after [\d.]+ s\. Process \d got the lock/);
  }, 90_000);

  it('sends the same buyers to all three sales, also those that an act needs', async () => {
    const page = await openSale();
    await page.getByLabel('As fast as it goes').check();
    await page.getByText('120 buyers came').waitFor({ timeout: 60_000 });
    const isOver = "document.querySelectorAll('.sale .person').length === 0";
    await page.waitForFunction(isOver, undefined, { timeout: 60_000 });
    await told(page, act(page, 'kill-redis'));
    await told(page, act(page, 'start-redis'));
    const came = number((await page.locator('#crowd').textContent())!.replace(' buyers came', ''));
    expect(came).toBeGreaterThanOrEqual(122);
    // The number of orders is read now and then.
    await page.waitForFunction(`${ends}.every((sum) => sum === ${came})`, undefined, { timeout: 60_000 });
    await page.getByLabel('Brisk').check();
    await page.locator('input[value=brisk]:checked').waitFor();
  }, 180_000);

  it('kills a process that has the lock: its lease ends, and the next one gets it; another process takes its place', async () => {
    const page = await openSale();
    const lane = laneOf(page, 'Process 1');
    const pid = await pidOf(lane);
    const sentence = await told(page, act(lane, 'kill'));
    expect(sentence).toMatch(
      /^Process 1 was killed with the lock in its hands \(token [\d,]+\)\. Its lease ended, and Process 2 got the lock with token [\d,]+ [\d.]+ s after the kill\./,
    );
    expect(stateOf(pid)).toBeUndefined();
    await lane.getByText('gone').waitFor();
    await page.locator('#process').click();
    await laneOf(page, 'Process 3').and(page.locator('[data-state=serving]')).waitFor({ timeout: 60_000 });
    expect(stateOf(await pidOf(laneOf(page, 'Process 3')))).toMatch(/[SR]/);
  }, 120_000);

  it('sends more buyers, and sells as fast as it goes', async () => {
    const page = await openSale();
    await page.getByLabel('As fast as it goes').check();
    await page.locator('#buyers').click();
    await page.getByText('140 buyers came').waitFor({ timeout: 60_000 });
    await page.waitForFunction("document.querySelectorAll('.sale .person').length === 0", undefined, {
      timeout: 150_000,
    });
    // On a busy machine a wait may be too long, which is an error, and no ticket.
    await page.waitForFunction(`${ends}.every((sum) => sum === 140)`, undefined, { timeout: 60_000 });
    const ours = saleOf(page, 'lock');
    expect(await figure(ours, 'oversold')).toBe(0);
    expect((await figure(ours, 'orders')) + (await figure(ours, 'failed'))).toBeGreaterThanOrEqual(60);
    await page.getByLabel('Brisk').check();
    await page.locator('input[value=brisk]:checked').waitFor();
  }, 300_000);

  it('is used by the keyboard alone, and the button that was pressed keeps the focus', async () => {
    const page = await openSale();
    const button = act(laneOf(page, 'Process 2'), 'stop');
    await button.and(page.locator('[aria-disabled=false]')).waitFor();
    await button.focus();
    await page.keyboard.press('Enter');
    await page.locator('#story[data-state=busy]').waitFor();
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await page.locator('#story[data-state=done]').waitFor({ timeout: 60_000 });
    expect(await button.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    expect(await button.getAttribute('aria-label')).toBe('Stop: Process 2');
  }, 90_000);

  it.each([400, 900, 1600])(
    'has nothing that is cut off at %i px',
    async (width) => {
      const page = await openSale({ viewport: { width, height: 900 } });
      await saleOf(page, 'lock').locator('[data-part=waiting] .person').nth(9).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThan(1);
    },
    60_000,
  );

  it.each(['light', 'dark'] as const)(
    'passes the rules of axe, %s',
    async (colorScheme) => {
      const page = await openSale({ colorScheme, reducedMotion: 'reduce' });
      await saleOf(page, 'lock').locator('[data-part=waiting] .person').nth(9).waitFor();
      expect(await axeViolations(page)).toEqual([]);
      await told(page, act(laneOf(page, 'Process 2'), 'stop'), async () => {
        await page.locator('.lane[data-state=stopped]').waitFor();
        expect(await axeViolations(page)).toEqual([]);
      });
      expect(await axeViolations(page)).toEqual([]);
    },
    90_000,
  );

  it('shows the console of the library, for the same locks', async () => {
    const page = await openSale();
    await page.getByRole('link', { name: 'Console' }).click();
    await page.locator('#contended-rows', { hasText: 'event:web-lock' }).waitFor();
  }, 60_000);

  it('goes on with another process when the last one is gone', async () => {
    const page = await openSale();
    for (const name of ['Process 2', 'Process 3']) await told(page, act(laneOf(page, name), 'kill'));
    await page.locator('#process[aria-disabled=false]').click();
    await laneOf(page, 'Process 4').and(page.locator('[data-state=serving]')).waitFor({ timeout: 60_000 });
    await page.locator('#process[aria-disabled=false]').click();
    await laneOf(page, 'Process 5').and(page.locator('[data-state=serving]')).waitFor({ timeout: 60_000 });
    await page.locator('#open[aria-disabled=false]').waitFor();
  }, 150_000);

  it('says when the server is gone; Ctrl-C while a process is stopped leaves no process and no file behind', async () => {
    const page = await openSale();
    await act(laneOf(page, 'Process 4'), 'stop').click();
    await laneOf(page, 'Process 4').and(page.locator('[data-state=stopped]')).waitFor();
    run.pressCtrlC();
    await page.getByText(/Cut off from the server since .* What you see is old\./).waitFor();
    expect(await page.locator('#live').textContent()).toContain('Cut off');
    expect(await run.exitCode()).toBe(0);
    expect(run.isAlive).toBe(false);
    expect(await run.leftFiles()).toEqual([]);
  }, 60_000);
});
