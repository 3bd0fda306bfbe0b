import { fill, h, mark, write } from './dom.js';
import type { Lab } from './lab.js';
import type { LabProcess } from './lab-process.js';
import type { Action } from './scene.js';
import { type Span, seconds } from './story.js';

/** Something drawn in a lane, in ms. */
interface Bar {
  kind: string;
  readonly from: number;
  readonly to: number;
  row: number;
  readonly label: string;
}

interface Lane {
  readonly element: HTMLElement;
  readonly state: HTMLElement;
  readonly bars: HTMLElement;
  readonly buttons: ReadonlyArray<readonly [HTMLButtonElement, Action]>;
}

/** Milliseconds that are seen at once, and the part of it that is past. */
const shown = 60_000;
const past = 0.62;

/** Lanes over time: each process, the record in Redis, and the row. What is right of the line is what a lease still allows. */
export class Timeline {
  readonly element: HTMLElement;
  private readonly lanes = new Map<string, Lane>();
  private readonly axis = h('div', { class: 'axis', 'aria-hidden': 'true' });

  constructor(
    private readonly lab: Lab,
    private readonly act: (action: Action) => void,
  ) {
    this.element = h('div', { class: 'timeline', style: `--rows:${lab.keys.length}` });
    for (const name of lab.processes.keys()) this.add(name, 'process', this.actionsOf(name));
    this.add('Redis', 'redis', []);
    this.add('Row', 'row', []);
    this.element.append(
      h('div', { class: 'lane foot' }, h('div', { class: 'who' }), h('div', { class: 'track' }, this.axis)),
    );
  }

  paint(): void {
    const now = this.lab.clock.now();
    const from = Math.max(0, now - shown * past);
    this.element.style.setProperty('--now', `${((now - from) / shown) * 100}%`);
    const ticks = Array.from(
      { length: shown / 10_000 + 1 },
      (_, index) => Math.ceil(from / 10_000) * 10_000 + index * 10_000,
    );
    fill(
      this.axis,
      ticks.filter((tick) => tick <= from + shown * 0.97),
      () => h('span'),
      (element, tick) => {
        element.style.left = `${((tick - from) / shown) * 100}%`;
        write(element, `${tick / 1000} s`);
      },
    );
    for (const [name, lane] of this.lanes) {
      const isStopped = this.lab.processes.get(name)?.state === 'stopped';
      write(lane.state, this.stateOf(name));
      mark(lane.element, 'data-state', this.markOf(name));
      for (const [button, action] of lane.buttons) {
        button.disabled = !this.lab.isPossible(action);
        // One of the two, with its place.
        button.hidden = (action.do === 'stop' || action.do === 'continue') && (action.do === 'stop') === isStopped;
      }
      this.draw(lane, this.barsOf(name), from);
    }
  }

  private add(name: string, kind: string, actions: ReadonlyArray<readonly [text: string, action: Action]>): void {
    const state = h('span', { class: 'state' });
    const bars = h('div', { class: 'bars' });
    const buttons = actions.map(([text, action]) => {
      const button = h(
        'button',
        { type: 'button', 'aria-label': `${text} ${name}`, onclick: () => this.act(action) },
        text,
      );
      return [button, action] as const;
    });
    const element = h(
      'div',
      { class: `lane ${kind}`, role: 'group', 'aria-label': kind === 'process' ? `Process ${name}` : name },
      h(
        'div',
        { class: 'who' },
        h('b', {}, name),
        state,
        h('span', { class: 'acts' }, ...buttons.map(([button]) => button)),
      ),
      h('div', { class: 'track', 'aria-hidden': 'true' }, bars),
    );
    this.lanes.set(name, { element, state, bars, buttons });
    this.element.append(element);
  }

  private actionsOf(who: string): ReadonlyArray<readonly [string, Action]> {
    const first = this.lab.scene.steps
      .flatMap(({ actions }) => actions)
      .find((action) => action.do === 'start' && action.who === who);
    return [
      ['Start', first ?? { do: 'start', who }],
      ['Stop', { do: 'stop', who }],
      ['Continue', { do: 'continue', who }],
      ['Kill', { do: 'kill', who }],
    ];
  }

  private draw(lane: Lane, bars: readonly Bar[], from: number): void {
    fill(
      lane.bars,
      bars.filter(
        ({ kind, from: begin, to }) => to >= from && begin <= from + shown && (to > begin || kind.startsWith('write')),
      ),
      () => h('span'),
      (element, { kind, from: begin, to, row, label }) => {
        const left = Math.max(0, (begin - from) / shown);
        const right = Math.min(1, (to - from) / shown);
        mark(element, 'class', kind);
        element.style.cssText = `left:${left * 100}%;width:${Math.max(0, right - left) * 100}%;--row:${row}`;
        write(element, label);
      },
    );
  }

  private barsOf(name: string): Bar[] {
    const now = this.lab.clock.now();
    const { keys, story, processes, server } = this.lab;
    const rowOf = (key: string): number => Math.max(0, keys.indexOf(key));
    if (name === 'Row')
      return this.lab.writes.map(({ at, key, result, token }) => ({
        ...{ kind: `write ${result.replace(' ', '-')}`, from: at, to: at, row: rowOf(key) },
        label: result === 'taken' ? `${token}` : '✕',
      }));
    const lane = name === 'Redis' ? 'redis' : name;
    const bars = story.spans
      .filter((span) => span.lane === lane)
      .flatMap((span) => {
        const bar = barOf(span, rowOf(span.key), now);
        // A process that stands still has not noticed the end of its lease.
        const end = span.kind === 'hold' && span.to === undefined ? this.lab.certainUntil(span.lane, span.key) : now;
        return end >= now
          ? [bar]
          : [
              { ...bar, to: end },
              { ...bar, kind: 'late', from: end, label: '' },
            ];
      });
    if (name === 'Redis') {
      if (Object.values(this.lab.scene.jobs).some((job) => job.kind))
        stack(bars.filter(({ kind }) => kind === 'record'));
      for (const key of keys)
        for (const { leaseLeft } of server.table.snapshot(key, 1).holders)
          bars.push({ kind: 'ahead record', from: now, to: now + leaseLeft, row: rowOf(key), label: '' });
      return bars;
    }
    const { holds, state } = processes.get(name)!;
    if (state !== 'dead')
      for (const hold of holds)
        if (!hold.lost && hold.isUsed && hold.validUntil > now)
          bars.push({ kind: 'ahead', from: now, to: hold.validUntil, row: rowOf(hold.name), label: '' });
    return bars;
  }

  private markOf(name: string): string {
    if (name === 'Redis') return this.lab.server.available ? 'up' : 'away';
    const process = this.lab.processes.get(name);
    if (!process) return [...this.lab.rows.values()].some(({ lost }) => lost > 0) ? 'lost' : 'up';
    if (process.state !== 'running') return process.state;
    if (process.job === undefined) return 'idle';
    return process.holds.some(({ lost }) => lost) ? 'late' : this.held(process).length > 0 ? 'holds' : 'waits';
  }

  private held({ holds }: LabProcess): LabProcess['holds'] {
    const now = this.lab.clock.now();
    return holds.filter((hold) => !hold.lost && hold.isUsed && hold.validUntil > now);
  }

  private stateOf(name: string): string {
    const { lab } = this;
    if (name === 'Redis') return lab.server.available ? this.recordText() : 'does not answer';
    if (name === 'Row') return this.rowText();
    const process = lab.processes.get(name)!;
    if (process.state === 'dead') return 'is dead';
    const prefix = process.state === 'stopped' ? 'stands still' : '';
    const now = lab.clock.now();
    const held = this.held(process).map(
      (hold) => `token ${lab.rankOf(hold.fencingToken)}, ${seconds(hold.validUntil - now)} left`,
    );
    const places = (process.job?.keys ?? []).map((key) => lab.placeOf(name, key)).filter((place) => place > 0);
    const state =
      held.length > 0
        ? `holds ${held.join('; ')}`
        : process.holds.some(({ lost }) => lost)
          ? 'works without its lock'
          : process.job === undefined
            ? (process.outcomes.at(-1) ?? 'idle')
            : prefix === '' && 'waits';
    return [prefix, state, places.length > 0 && `place ${places[0]}`].filter(Boolean).join(', ');
  }

  private recordText(): string {
    const { keys, server } = this.lab;
    const records = keys.flatMap((key) => server.table.snapshot(key, 100));
    const held = records.reduce((sum, { holders }) => sum + holders.length, 0);
    const queued = records.reduce((sum, { waiters }) => sum + waiters.length, 0);
    return `${held === 0 ? 'free' : `${held} held`}, ${queued} waiting`;
  }

  private rowText(): string {
    return [...this.lab.rows]
      .map(([key, { value, refused, lost }]) => {
        const name = this.lab.rows.size > 1 ? `${key}: ` : '';
        return `${name}value ${value}${refused > 0 ? `, ${refused} refused` : ''}${lost > 0 ? `, ${lost} lost` : ''}`;
      })
      .join('; ');
  }
}

function barOf({ kind, from, to, token, who }: Span, row: number, now: number): Bar {
  const label = kind === 'record' ? `${who} ${token}` : kind === 'hold' || kind === 'late' ? `${token}` : '';
  return { kind, from, to: to ?? now, row, label };
}

/** Several holders at once stand below each other, as far as there is room. */
function stack(records: readonly Bar[]): void {
  records.forEach((bar, index) => {
    bar.kind = 'record half';
    const isTaken = (row: number): boolean =>
      records.slice(0, index).some((other) => other.row === row && other.to > bar.from);
    if (isTaken(bar.row) && !isTaken(bar.row + 0.5)) bar.row += 0.5;
  });
}
