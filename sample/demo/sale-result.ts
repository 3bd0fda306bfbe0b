import type { Guard } from '../src/settings.js';
import type { Answer } from './crowd.js';
import type { DemoOptions } from './options.js';

export const guises: Record<Guard, string> = {
  none: 'no lock',
  mutex: 'mutex in each process',
  lock: '@DistributedLock',
};

export interface SaleResult {
  readonly guard: Guard;
  /** What the stock says was sold. */
  readonly sold: number;
  /** Orders in the database: people with a ticket. */
  readonly orders: number;
  /** People with a ticket that does not exist. */
  readonly oversold: number;
  /** Buyers who got the response 'bought'. */
  readonly bought: number;
  /** Of these, how many each process served. */
  readonly soldBy: readonly number[];
  /** Buyers who got the response 'sold out'. */
  readonly refused: number;
  /** Other responses, and the number of buyers who got each. */
  readonly errors: number;
  readonly reasons: Record<string, number>;
  /** From the first request to the last response, and the waiting times of the buyers. */
  readonly timeMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What the database says after the sale. */
export interface Books {
  readonly left: number;
  readonly orders: number;
}

export function saleResult(
  guard: Guard,
  tickets: number,
  answers: readonly Answer[],
  books: Books,
  timeMs: number,
): SaleResult {
  const told = (outcome: Answer['outcome']) => answers.filter((answer) => answer.outcome === outcome).length;
  const reasons: Record<string, number> = {};
  for (const { reason } of answers) if (reason !== undefined) reasons[reason] = (reasons[reason] ?? 0) + 1;
  const times = answers.map(({ ms }) => ms).sort((a, b) => a - b);
  return {
    guard,
    sold: tickets - books.left,
    orders: books.orders,
    oversold: Math.max(0, books.orders - tickets),
    bought: told('bought'),
    soldBy: soldBy(answers),
    refused: told('refused'),
    errors: told('error'),
    reasons,
    timeMs: Math.round(timeMs),
    p50Ms: Math.round(percentile(times, 0.5)),
    p99Ms: Math.round(percentile(times, 0.99)),
  };
}

function soldBy(answers: readonly Answer[]): number[] {
  const counts: number[] = [];
  for (const { seller = 0, outcome } of answers)
    counts[seller] = (counts[seller] ?? 0) + (outcome === 'bought' ? 1 : 0);
  return counts;
}

/** The nearest rank: the smallest value that at least this share of all values does not exceed. */
function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
}

/** Everything that is wrong with the locked sale; empty when it kept its promise. */
export function problemsOf(sale: SaleResult, { buyers, tickets }: DemoOptions): string[] {
  const expected = Math.min(buyers, tickets);
  const problems: string[] = [];
  if (sale.oversold > 0) problems.push(`It oversold by ${sale.oversold}.`);
  if (sale.orders < expected)
    problems.push(`${expected - sale.orders} tickets stayed unsold although buyers wanted them.`);
  if (sale.sold !== sale.orders)
    problems.push(`The stock says ${sale.sold} were sold, and there are ${sale.orders} orders.`);
  if (sale.bought !== sale.orders)
    problems.push(`${sale.bought} buyers got the response 'bought', and there are ${sale.orders} orders.`);
  for (const [reason, count] of Object.entries(sale.reasons))
    problems.push(`${count} buyers got an unexpected answer: ${reason}`);
  return problems;
}

/** The explanation for a sale that should oversell and did not: nothing here is scripted, so it can happen. */
export function surpriseOf(sale: SaleResult, { buyers, tickets, processes }: DemoOptions): string | undefined {
  if (sale.oversold > 0) return undefined;
  if (buyers <= tickets) return 'it could not oversell: there were tickets for everybody';
  if (sale.guard === 'mutex' && processes === 1) return 'it did not oversell: in a single process a mutex is enough';
  return 'it did not oversell this time: on this machine the purchases happened not to overlap; more buyers or processes will show it';
}
