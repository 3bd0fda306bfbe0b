import { fill, h, mark, write } from './dom.js';
import type { Lab } from './lab.js';
import { seconds } from './story.js';

const panel = (title: string, kind: string, content: Node): HTMLElement =>
  h('section', { class: `panel ${kind}`, 'aria-label': title }, h('p', { class: 'name' }, title), content);

/** What Redis knows, what the row has seen, which guarantees hold, and what happened. */
export class Panels {
  readonly element: HTMLElement;
  private readonly records = h('div', { class: 'records' });
  private readonly rows = h('div', { class: 'records' });
  private readonly promises = h('ul', { class: 'promises' });
  private readonly told = h('ol', { class: 'told', tabindex: '0', 'aria-label': 'What happened, the latest first' });

  constructor(private readonly lab: Lab) {
    this.element = h(
      'div',
      { class: 'panels' },
      panel('In Redis', 'redis', this.records),
      panel('In the database', 'rows', this.rows),
      panel('Guarantees, checked', 'guarantees', this.promises),
      panel('What happened', 'story', this.told),
    );
  }

  paint(): void {
    const { lab } = this;
    fill(
      this.records,
      lab.keys,
      () => h('dl'),
      (element, key) => pairs(element, this.recordOf(key)),
    );
    fill(
      this.rows,
      [...lab.rows],
      () => h('dl'),
      (element, [key, row]) => {
        pairs(element, [
          ['row', key],
          ['value', `${row.value}`],
          ['largest token seen', row.fence === 0 ? 'none' : `${lab.rankOf(row.fence)}`],
          ['late writes refused', `${row.refused}`],
          ['lost updates', `${row.lost}`],
        ]);
        mark(element, 'data-lost', row.lost > 0);
      },
    );
    fill(
      this.promises,
      lab.guarantees.list,
      () =>
        h(
          'li',
          {},
          h('span', { class: 'sign', 'aria-hidden': 'true' }),
          h('b'),
          h('span', { class: 'text' }),
          h('small'),
        ),
      (element, { id, text, state, note }) => {
        mark(element, 'data-state', state);
        const [sign, name, what, small] = element.children;
        write(sign!, state === 'holds' ? '✓' : state === 'open' ? '!' : '✕');
        write(name!, id);
        write(what!, `${text}${state === 'holds' ? '' : state === 'open' ? ' (not promised now)' : ' (broken)'}`);
        write(small!, note);
      },
    );
    fill(
      this.told,
      lab.story.told.slice(-40).reverse(),
      () => h('li', {}, h('time'), h('span')),
      (element, { at, text, tone }) => {
        mark(element, 'data-tone', tone);
        write(element.children[0]!, seconds(at));
        write(element.children[1]!, text);
      },
    );
  }

  private recordOf(key: string): ReadonlyArray<readonly [string, string]> {
    const { lab } = this;
    const { holders, waiters } = lab.server.table.snapshot(key, 100);
    const holding = holders.map(
      ({ id, fencingToken, leaseLeft, state }) =>
        `${lab.ownerOf(id)}, token ${lab.rankOf(fencingToken!)}, ${seconds(leaseLeft)} left${state === 'provisional' ? ', not confirmed' : ''}`,
    );
    return [
      ['key', key],
      ['holder', holding.join('; ') || 'none'],
      ['queue', waiters.map(({ id }) => lab.ownerOf(id)).join(', ') || 'empty'],
    ];
  }
}

function pairs(list: HTMLElement, items: ReadonlyArray<readonly [string, string]>): void {
  fill(
    list,
    items,
    () => h('div', {}, h('dt'), h('dd')),
    (element, [name, text]) => {
      write(element.children[0]!, name);
      write(element.children[1]!, text);
    },
  );
}
