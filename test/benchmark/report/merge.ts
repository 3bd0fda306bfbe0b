interface Page {
  /** What stands above the first heading. */
  readonly head: string;
  readonly sections: Map<string, string>;
}

function read(text: string): Page {
  const [head = '', ...parts] = text.split(/^## /m);
  return {
    head,
    sections: new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n'))])),
  };
}

const firstCell = (row: string): string => row.split(' | ')[0]!;

/** The table of `old` with the rows of `fresh`, each in the place of the one with the same first cell. */
function mergedTable(old: string, fresh: string): string {
  const rows = new Map([...old.trim().split('\n'), ...fresh.trim().split('\n')].map((row) => [firstCell(row), row]));
  return `\n\n${[...rows.values()].join('\n')}\n\n`;
}

/** The page of all tables with those of some scenarios, which were measured by themselves. */
export function merge(page: string, tables: string): string {
  const { head, sections } = read(page);
  const { head: machine, sections: fresh } = read(tables);
  const settings = sections.get('Settings') ?? '';
  sections.delete('Settings');
  for (const [title, text] of fresh) {
    if (title === 'Bars') sections.set(title, mergedTable(sections.get(title) ?? '', text));
    else if (title !== 'Settings')
      sections.set(title, `\n\nMeasured by itself: ${machine.trim()}\n\n${text.trim()}\n\n`);
  }
  sections.set('Settings', mergedTable(settings, fresh.get('Settings') ?? ''));
  return `${head}${[...sections].map(([title, text]) => `## ${title}${text}`).join('')}`.trimEnd().concat('\n');
}
