import { describe, expect, it } from '@jest/globals';
import type { Answer } from '../../sample/demo/crowd.js';
import { asText, report } from '../../sample/demo/report.js';
import { saleResult } from '../../sample/demo/sale-result.js';
import type { Guard } from '../../sample/src/settings.js';

const options = { processes: 4, buyers: 5, tickets: 2, java: false, json: false, help: false };
const bought: Answer = { outcome: 'bought', ms: 1 };
const refused: Answer = { outcome: 'refused', ms: 1 };
const failed: Answer = { outcome: 'error', ms: 1, reason: '503 LOCK_UNAVAILABLE' };

const verdict = (guard: Guard, answers: Answer[], left: number, orders: number, changed = {}) => {
  const sale = saleResult(guard, options.tickets, answers, { left, orders }, 10);
  return report({ ...options, ...changed }, 'sqlite', [sale]);
};

describe('the verdict on the locked sale', () => {
  it('is good when every ticket was sold once and the others were refused', () => {
    const result = verdict('lock', [bought, bought, refused, refused, refused], 0, 2);
    expect(result).toMatchObject({ ok: true, problems: [] });
    expect(asText(result)).toContain('sold exactly 2 of 2 tickets');
  });

  it.each([
    ['one ticket too many was sold', [bought, bought, bought, refused, refused], 0, 3, 'oversold by 1'],
    [
      'one ticket stayed unsold while buyers were refused',
      [bought, refused, refused, refused, refused],
      1,
      1,
      '1 tickets stayed unsold',
    ],
    [
      'an order was placed that the stock does not know of',
      [bought, bought, refused, refused, refused],
      1,
      2,
      'The stock says 1',
    ],
    [
      'a buyer got a success response without a ticket',
      [bought, bought, bought, refused, refused],
      0,
      2,
      '3 buyers got the response',
    ],
    ['a buyer got an unexpected error', [bought, bought, failed, refused, refused], 0, 2, '503 LOCK_UNAVAILABLE'],
  ])('is bad when %s', (_what, answers, left, orders, problem) => {
    const result = verdict('lock', answers, left, orders);
    expect(result.ok).toBe(false);
    expect(result.problems.join('\n')).toContain(problem);
    expect(asText(result)).toContain('FAILED');
  });

  it('is about the locked sale only: the others are expected to fail', () => {
    expect(verdict('none', [bought, bought, bought, bought, bought], 1, 5)).toMatchObject({ ok: true, surprises: [] });
  });
});

describe('a sale that was expected to oversell and did not', () => {
  it('is reported, with the reason if there is one', () => {
    const luck = [bought, bought, refused, refused, refused];
    expect(verdict('none', luck, 0, 2).surprises.join()).toContain('happened not to overlap');
    expect(verdict('mutex', luck, 0, 2, { processes: 1 }).surprises.join()).toContain(
      'in a single process a mutex is enough',
    );
    expect(verdict('none', [bought, bought], 0, 2, { buyers: 2 }).surprises.join()).toContain('tickets for everybody');
  });
});

describe('the times of a sale', () => {
  it('are nearest ranks of the waiting times of the buyers', () => {
    const answers = Array.from({ length: 200 }, (_, index): Answer => ({ outcome: 'bought', ms: 200 - index }));
    expect(saleResult('none', 200, answers, { left: 0, orders: 200 }, 1234.4)).toMatchObject({
      timeMs: 1234,
      p50Ms: 100,
      p99Ms: 198,
    });
  });
});
