import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { instruments, type LockInstrument } from '../../../lib/telemetry/metrics/instruments.js';
import { labelOf, metricNameOf } from '../../../lib/telemetry/prometheus/prometheus-names.js';
import {
  alertQueries,
  dashboard,
  dashboardQueries,
  type Panel,
  type Query,
  variableQueries,
} from '../../support/prometheus-rules.js';

const ops = fileURLToPath(new URL('../../../ops/', import.meta.url));

/** The labels of each series that the library makes. Prometheus adds `job` and `instance`. */
const labelsOf = new Map<string, readonly string[]>();
for (const instrument of Object.values<LockInstrument>(instruments)) {
  const name = metricNameOf(instrument);
  const labels = [...instrument.attributes.map(labelOf), 'job', 'instance'];
  if (instrument.kind === 'histogram') {
    labelsOf.set(`${name}_bucket`, [...labels, 'le']);
    for (const series of [`${name}_sum`, `${name}_count`]) labelsOf.set(series, labels);
  } else labelsOf.set(name, labels);
}

/** What is wrong with the names in a query. What is left out of a result has labels of its own. */
function mistakesIn({ expr, shown }: Query): string[] {
  const [query = '', ...leftOut] = expr.split(/\bunless\b/);
  return [...mistakesInPart(query, shown), ...leftOut.flatMap((part) => mistakesInPart(part, []))];
}

function mistakesInPart(expr: string, shown: readonly string[]): string[] {
  const grouped: string[][] = [];
  const plain = expr.replaceAll(/\b(?:by|without|on|ignoring) \(([^)]*)\)/g, (_, names: string) => {
    grouped.push(names.split(',').map((name) => name.trim()));
    return '';
  });
  const selectors = [...plain.matchAll(/\b(redis_lock_\w+)(?:\{([^}]*)\})?/g)];
  const mistakes: string[] = [];
  for (const [, metric, braces = ''] of selectors) {
    const known = labelsOf.get(metric!);
    if (!known) mistakes.push(`there is no metric ${metric}`);
    const named = [...braces.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!);
    for (const label of [...named, ...grouped.flat()])
      if (known && !known.includes(label)) mistakes.push(`${metric} has no label ${label}`);
  }
  if (selectors.length === 0) mistakes.push('it names no metric');
  const kept = grouped.length > 0 ? grouped.at(0)! : (labelsOf.get(selectors[0]?.[1] ?? '') ?? []);
  for (const label of shown) if (!kept.includes(label)) mistakes.push(`the result has no label ${label}`);
  return mistakes;
}

const queries = [...dashboardQueries(), ...variableQueries(), ...alertQueries()];

describe('the dashboard and the alerts of ops/', () => {
  it.each(queries.map((query) => [query.where, query] as const))(
    '%s names metrics and labels that exist',
    (_, query) => {
      expect(mistakesIn(query)).toEqual([]);
    },
  );

  it('use every metric of the library', () => {
    const text = queries.map(({ expr }) => expr).join('\n');
    const unused = Object.values(instruments)
      .map(metricNameOf)
      .filter((name) => !text.includes(name));
    expect(unused).toEqual([]);
  });

  it('let the user select data source, connection and lock, in the dashboard', () => {
    const { templating, panels } = dashboard();
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'connection', 'name']);
    const texts = templating.list.map(({ query }) => (typeof query === 'string' ? undefined : query.query));
    expect(templating.list.map(({ definition }) => definition)).toEqual(texts);
    const fixed = panels.flatMap(({ title, targets }) =>
      targets.filter(({ expr }) => !expr.includes('$connection') || !expr.includes('$job')).map(() => title),
    );
    expect(fixed).toEqual([]);
    expect(JSON.stringify(dashboard()).match(/"uid":"(?!\$\{datasource\}|nestjs-redis-lock")[^"]*"/g)).toBeNull();
  });

  it('have panels that do not cover each other', () => {
    const { panels } = dashboard();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos }: Panel) =>
      Array.from({ length: gridPos.w * gridPos.h }, (_, index) => {
        const [x, y] = [gridPos.x + (index % gridPos.w), gridPos.y + Math.floor(index / gridPos.w)];
        expect(x).toBeLessThan(24);
        return `${x},${y}`;
      }),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  it('lead from each alert to its own section of the docs', () => {
    const rules = readFileSync(join(ops, 'alerts.yml'), 'utf8');
    const names = alertQueries().map(({ where }) => where.replace('alert ', ''));
    const links = [...rules.matchAll(/runbook_url: .*\/docs\/operate\/observability\.md#(\w+)$/gm)].map(
      ([, anchor]) => anchor,
    );
    expect(links).toEqual(names.map((name) => name.toLowerCase()));
    const docs = readFileSync(new URL('../../../docs/operate/observability.md', import.meta.url), 'utf8');
    expect(names.filter((name) => !docs.includes(`\n### ${name}\n`))).toEqual([]);
  });

  it('stand in the runbook by their names, each with a link to what it means', () => {
    const runbook = readFileSync(new URL('../../../docs/operate/runbook.md', import.meta.url), 'utf8');
    const links = alertQueries().map(({ where }) => {
      const name = where.replace('alert ', '');
      return `[${name}](observability.md#${name.toLowerCase()})`;
    });
    expect(links.filter((link) => !runbook.includes(link))).toEqual([]);
  });
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool) console.warn('SKIPPED: what promtool says of ops/ (it is in the Debian package prometheus)');

(hasPromtool ? describe : describe.skip)('promtool', () => {
  const promtool = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', cwd: ops });
    return status === 0 ? 'fine' : stdout + stderr;
  };

  it('finds the alerts correct', () => {
    expect(promtool('check', 'rules', 'alerts.yml')).toBe('fine');
  });

  it('sees each alert fire when it should, and only then', () => {
    expect(promtool('test', 'rules', 'alerts.test.yml')).toBe('fine');
    const tested = readFileSync(join(ops, 'alerts.test.yml'), 'utf8');
    const fires = (name: string): boolean =>
      new RegExp(`alertname: ${name}\\n +eval_time: \\w+\\n +exp_alerts:\\n`).test(tested);
    const rests = (name: string): boolean =>
      new RegExp(`alertname: ${name}, eval_time: \\w+, exp_alerts: \\[\\]`).test(tested);
    const names = alertQueries().map(({ where }) => where.replace('alert ', ''));
    expect(names.filter((name) => !fires(name) || !rests(name))).toEqual([]);
  });

  const inFile = (content: object, ...args: string[]): string => {
    const directory = mkdtempSync(join(tmpdir(), 'ops-'));
    try {
      const file = join(directory, 'panels.yml');
      // JSON is YAML.
      writeFileSync(file, JSON.stringify(content));
      return promtool(...args, file);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  };

  it('can read every query of the dashboard', () => {
    const rules = dashboardQueries().map(({ expr }, index) => ({ record: `panel:query:${index}`, expr }));
    expect(inFile({ groups: [{ name: 'panels', rules }] }, 'check', 'rules')).toBe('fine');
  });

  it.each([
    ['Lost', 'redis_lock_lost_total', 'redis_lock_reason="expired"'],
    ['Released by force', 'redis_lock_force_releases_total', ''],
  ])('sees the first event of a name in panel %s, though its series begins with it', (title, metric, own) => {
    const { expr } = dashboardQueries().find(({ where }) => where === `panel ${title}`)!;
    const lock = 'job="shop", redis_lock_connection="default", redis_lock_name="import"';
    const labels = `{redis_lock_name="import"${own && `, ${own}`}}`;
    const value = (at: string, count: number) => ({
      expr,
      eval_time: at,
      exp_samples: [{ labels, value: count }],
    });
    const test = {
      interval: '15s',
      input_series: [{ series: `${metric}{${lock}${own && `, ${own}`}}`, values: '_x8 1x20' }],
      promql_expr_test: [value('2m15s', 1), value('5m', 0)],
    };
    expect(inFile({ evaluation_interval: '15s', tests: [test] }, 'test', 'rules')).toBe('fine');
  });
});
