import { figure } from './table.js';
import { type Results, nameOf } from './results.js';

interface Panel {
  readonly title: string;
  readonly note: string;
  readonly scenario: string;
  readonly variant: string;
  readonly column: string;
  readonly better: 'more' | 'less';
  readonly digits?: number;
}

const panels: readonly Panel[] = [
  {
    ...{ title: 'Hot name, 64 waiters', note: 'owner changes/s, more is better' },
    ...{ scenario: 'hot-name', variant: '64 waiters, 1 ms inside', column: 'ownerChangesPerSecond', better: 'more' },
  },
  {
    ...{ title: 'Uncontended, 64 flows', note: 'cycles/s, more is better' },
    ...{ scenario: 'uncontended', variant: '64 flows', column: 'cyclesPerSecond', better: 'more' },
  },
  {
    ...{ title: 'Relay between processes', note: 'PING round trips, less is better' },
    ...{ scenario: 'relay', variant: '1 ms each way', column: 'roundTrips', better: 'less', digits: 1 },
  },
  {
    ...{ title: '5,000 renewed locks', note: 'requests/s, less is better' },
    ...{ scenario: 'renewed', variant: '5,000 locks, 10 s lease', column: 'requests', better: 'less' },
  },
];

const [width, height] = [860, 236];
const [left, gap] = [24, 24];
const panelWidth = (width - 2 * left - gap * (panels.length - 1)) / panels.length;
const [baseline, tallest] = [178, 96];
const barWidth = 38;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function bar(centre: number, share: number, label: string, kind: string, driver: string): string {
  const tall = Math.max(2, share * tallest);
  const x = centre - barWidth / 2;
  return `<g><title>${escaped(`${driver}: ${label}`)}</title>
<rect class="${kind}" x="${x.toFixed(1)}" y="${(baseline - tall).toFixed(1)}" width="${barWidth}" height="${tall.toFixed(1)}" rx="3"/>
<text class="figure" x="${centre.toFixed(1)}" y="${(baseline - tall - 6).toFixed(1)}">${escaped(label)}</text></g>`;
}

function panelOf(results: Results, panel: Panel, index: number): string | undefined {
  const { scenario, variant, column, better, title, note, digits } = panel;
  const own = (driver: string) => ({ driver, value: results.value(scenario, variant, driver, column) });
  const shown = [
    { kind: 'ours', ...own(nameOf('ours')) },
    { kind: 'floor', ...own(nameOf('floor')) },
    { kind: 'peer', driver: 'best peer', value: undefined, ...results.best('peer', scenario, variant, column, better) },
  ].filter((each): each is typeof each & { value: number } => each.value !== undefined && !Number.isNaN(each.value));
  if (shown.length === 0) return undefined;
  const most = Math.max(...shown.map(({ value }) => value));
  const x = left + index * (panelWidth + gap);
  const centre = (place: number) => x + (panelWidth * (place + 0.5)) / 3;
  const bars = shown.map(({ kind, driver, value }, place) =>
    bar(centre(place), value / most, figure(value, digits), kind, driver),
  );
  return [
    `<text class="title" x="${x.toFixed(1)}" y="34">${escaped(title)}</text>`,
    `<text class="note" x="${x.toFixed(1)}" y="50">${escaped(note)}</text>`,
    ...bars,
    `<line class="axis" x1="${x.toFixed(1)}" x2="${(x + panelWidth).toFixed(1)}" y1="${baseline}" y2="${baseline}"/>`,
  ].join('\n');
}

const legend = (): string =>
  [
    { kind: 'ours', told: nameOf('ours') },
    { kind: 'floor', told: 'written by hand (SET NX PX + script)' },
    { kind: 'peer', told: 'best other library at each' },
  ]
    .map(({ kind, told }, index) => {
      const x = left + index * 265;
      return `<rect class="${kind}" x="${x}" y="204" width="12" height="12" rx="2"/><text class="note" x="${x + 18}" y="214">${told}</text>`;
    })
    .join('\n');

/** Four small groups of bars; each has its own scale. Readable on white and on black, in any font. */
export function chart(results: Results): string {
  const drawn = panels.flatMap((panel, index) => panelOf(results, panel, index) ?? []);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="Benchmark: ${nameOf('ours')}, a lock written by hand, and the best other library">
<style>
/* A ground of its own: the page may be darker or lighter than the reader's system says. */
.card { fill: #ffffff; stroke: #d1d9e0; }
text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; fill: #1f2328; }
.title { font-size: 13.5px; font-weight: 600; }
.note { font-size: 11.5px; fill: #59636e; }
.figure { font-size: 11.5px; text-anchor: middle; }
.ours { fill: #d6293e; } .floor { fill: #8c959f; } .peer { fill: #3a7bd5; }
.axis { stroke: #59636e; stroke-opacity: 0.5; }
@media (prefers-color-scheme: dark) {
  .card { fill: #0d1117; stroke: #3d444d; }
  text { fill: #f0f6fc; } .note { fill: #9198a1; }
  .ours { fill: #ff5a6e; } .floor { fill: #8b949e; } .peer { fill: #6ea8fe; }
}
</style>
<rect class="card" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${drawn.join('\n')}
${legend()}
</svg>
`;
}
