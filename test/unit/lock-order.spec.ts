import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { kindOfName, kindOfTemplate } from '../../lib/diagnostics/name-kind.js';
import { type NestedLock, LockOrder } from '../../lib/nest/doctor/lock-order.js';
const ask = (kind: string, name = kind): NestedLock => ({
  kind,
  name,
  template: undefined,
  site: { where: `at ${kind}` },
});
const step = (outer: string, inner: string) => ({ outer: ask(outer), inner: ask(inner) });
const kinds = (circle: ReturnType<LockOrder['add']>) =>
  circle?.map(({ outer, inner }) => `${outer.kind}>${inner.kind}`);

describe('the order of locks', () => {
  it('reports nothing for one order, even if it occurs many times', () => {
    const order = new LockOrder();
    for (const [outer, inner] of ['ab', 'bc', 'ac', 'ab', 'cd', 'ad'])
      expect(order.add(step(outer!, inner!))).toBeUndefined();
  });

  it('reports two kinds that are taken in both orders, once, with both steps', () => {
    const order = new LockOrder();
    order.add(step('a', 'b'));
    expect(kinds(order.add(step('b', 'a')))).toEqual(['b>a', 'a>b']);
    expect(order.add(step('b', 'a'))).toBeUndefined();
    expect(order.add(step('a', 'b'))).toBeUndefined();
  });

  it('reports a circle of any length, and the shortest of several', () => {
    const order = new LockOrder();
    for (const [outer, inner] of ['ab', 'bc', 'cd', 'de', 'ce'])
      expect(order.add(step(outer!, inner!))).toBeUndefined();
    expect(kinds(order.add(step('e', 'a')))).toEqual(['e>a', 'a>b', 'b>c', 'c>e']);
  });

  it('reports names of one kind that are taken in both orders, and nothing if the smaller is always first', () => {
    const order = new LockOrder();
    const pair = (outer: string, inner: string) =>
      order.add({ outer: ask('account:*', outer), inner: ask('account:*', inner) });
    expect(pair('account:1', 'account:2')).toBeUndefined();
    expect(pair('account:3', 'account:7')).toBeUndefined();
    expect(pair('account:8', 'account:4')).toHaveLength(2);
    expect(order.add(step('account:*', 'b'))).toBeUndefined();
  });

  it('keeps a bounded number of steps', () => {
    const order = new LockOrder();
    for (let index = 0; index < 5000; index++) order.add(step(`slug-${index}`, 'a'));
    expect((order as unknown as { steps: Map<string, unknown> }).steps.size).toBeLessThanOrEqual(1000);
  });
});

describe('kinds of lock names', () => {
  it.each([
    ['product:#{id}', 'product:42', 'product:*'],
    ['product:#{id}', 'product:0d3b5c7e-aaaa-bbbb-cccc-deadbeefcafe', 'product:*'],
    ['#{shop}:product-#{id}', '7:product-42', '*:product-*'],
    ['report:#{day}', 'report:2026-11-21', 'report:*'],
    ['report:daily', 'report:daily', 'report:daily'],
    ['v2:order:#{a.b.c}:x', 'v2:order:17:x', '*:order:*:x'],
  ])('%s and %s are one kind', (template, name, kind) => {
    expect([kindOfTemplate(template), kindOfName(name)]).toEqual([kind, kind]);
  });

  it('are computed in one pass, also for a long word without digits', () => {
    const name = `${'x'.repeat(1_000_000)}:${'*y'.repeat(100_000)}`;
    // Quadratic work would take an hour: the limit ends it.
    const made = () => [kindOfName(name), kindOfTemplate(name)];
    const kinds: unknown = runInNewContext('made()', { made }, { timeout: 15_000 });
    const kind = `${'x'.repeat(1_000_000)}:*y`;
    expect(kinds).toEqual([kind, kind]);
  });
});
