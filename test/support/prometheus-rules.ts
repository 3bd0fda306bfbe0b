import { readFileSync } from 'node:fs';

/** A query of ops/, and where it is. */
export interface Query {
  readonly where: string;
  readonly expr: string;
  /** Labels that a legend or an annotation shows. */
  readonly shown: readonly string[];
}

const read = (file: string): string => readFileSync(new URL(`../../ops/${file}`, import.meta.url), 'utf8');

interface Target {
  readonly expr: string;
  readonly legendFormat?: string;
}
export interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly Target[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: ReadonlyArray<{ name: string; expr: string } & Record<string, string>> };
  readonly templating: {
    readonly list: ReadonlyArray<{ name: string; definition?: string; query: string | { query: string } }>;
  };
}

export const dashboard = (): Dashboard => JSON.parse(read('grafana-dashboard.json')) as Dashboard;

const shownIn = (text: string): string[] => [...text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)/g)].map(([, name]) => name!);

/** The queries of the dashboard, with values for Grafana's variables. */
export function dashboardQueries(): Query[] {
  const { panels, annotations } = dashboard();
  const queries = [
    ...panels.flatMap(({ title, targets }) =>
      targets.map(({ expr, legendFormat = '' }) => ({ where: `panel ${title}`, expr, shown: shownIn(legendFormat) })),
    ),
    ...annotations.list.map(({ name, expr, titleFormat = '', textFormat = '' }) => {
      return { where: `annotation ${name}`, expr, shown: shownIn(titleFormat + textFormat) };
    }),
  ];
  return queries.map((query) => ({ ...query, expr: filledIn(query.expr) }));
}

const filledIn = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '5m').replaceAll(/\$\w+/g, '.*');

/** The series that the dashboard's variables are made of. */
export const variableQueries = (): Query[] =>
  dashboard().templating.list.flatMap(({ name, query }) => {
    if (typeof query === 'string') return [];
    const [, expr = '', label = ''] = /^label_values\((.+), (\w+)\)$/s.exec(query.query) ?? [];
    return [{ where: `variable ${name}`, expr: filledIn(expr), shown: [label] }];
  });

/** The alerts, with what their annotations show. */
export function alertQueries(): Query[] {
  return read('alerts.yml')
    .split(/^ +- alert: /m)
    .slice(1)
    .map((text) => {
      const name = /^\w+/.exec(text)![0];
      const [, block, line] = /^ +expr: (?:\|\n((?: {10}.*\n)+)|(.+)\n)/m.exec(text)!;
      const annotations = text.slice(text.indexOf('annotations:')).replaceAll(/\$value[^}]*/g, '');
      return { where: `alert ${name}`, expr: block ?? line!, shown: shownIn(annotations) };
    });
}
