import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Acts } from '../../../sample/web/acts.js';
import { Happenings } from '../../../sample/web/happenings.js';
import { Sale } from '../../../sample/web/sale.js';
import type { Show } from '../../../sample/web/show.js';
import { type SaleView, viewOf } from '../../../sample/web/view.js';

/** What the page shows of a sale. The rest of the show is not there. */
function shown(sale: Sale): SaleView {
  const show = { sales: [sale], locked: sale, lock: undefined };
  return viewOf(show as unknown as Show, { told: [] } as unknown as Acts, 0).sales[0]!;
}

describe('the numbers of a sale on the page', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const saleOf = (left: number, orders: number): Sale => {
    const sale = new Sale('none', 30, () => undefined);
    sale.books = { left, orders };
    return sale;
  };

  it('call each ticket sold once only if the stock says so, too', () => {
    expect(shown(saleOf(0, 30)).isSold).toBe(true);
    // Thirty orders for twelve tickets.
    expect(shown(saleOf(18, 30))).toMatchObject({ isSold: false, oversold: 0 });
    expect(shown(saleOf(0, 31))).toMatchObject({ isSold: false, oversold: 1 });
    expect(shown(saleOf(0, 29)).isSold).toBe(false);
  });

  it('are of the last minute, however long the sale goes on', () => {
    const sale = saleOf(10, 20);
    jest.advanceTimersByTime(1_000_000);
    const second = Math.floor(sale.age);
    const sold = { outcome: 'bought', status: 201 } as const;
    for (const ms of [40, 60]) sale.answers.push({ ...sold, ms, second: second - 2 });
    sale.answers.push({ ...sold, ms: 90, second: second - 59 }, { ...sold, ms: 7, second: second - 60 });
    // Without a response no one knows how long the wait was.
    sale.answers.push({ outcome: 'error', ms: 5_000, second: second - 2 });
    const { rate, waits } = shown(sale);
    expect([rate.length, rate.at(-3), rate[0]]).toEqual([60, 2, 1]);
    expect([waits.length, waits.at(-3), waits[0]]).toEqual([60, 60, 90]);
  });

  it('count a buyer who finds no process as an error, who has not waited', async () => {
    const sale = saleOf(10, 20);
    await sale.comes('sale 1, buyer 1');
    expect(shown(sale)).toMatchObject({ failed: 1, median: undefined, longest: undefined });
  });
});

describe('what an act waits for', () => {
  it('keeps no program running that has ended otherwise', () => {
    jest.useRealTimers();
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    using watch = new Happenings().watch();
    void watch.until('granted', () => true, 60_000);
    expect(timers()).toBe(before);
  });
});
