import { isAsExpected, type Piece, type Shown } from './gallery.js';

export interface Report {
  readonly ok: boolean;
  readonly exhibits: readonly Piece[];
}

export function report(exhibits: readonly Piece[]): Report {
  return { ok: exhibits.every(isAsExpected), exhibits };
}

export function asText({ ok, exhibits }: Report): string {
  const rows = exhibits.map(({ title, theirs, ours }) => [title, verdictOf(theirs), verdictOf(ours)]);
  const head = ['', 'by hand', 'nestjs-redis-lock'];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]!.length)));
  const lines = [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  const wrong = exhibits.filter((piece) => !isAsExpected(piece)).map(({ title }) => title);
  return [
    lines[0]!,
    '-'.repeat(Math.max(...lines.map(({ length }) => length))),
    ...lines.slice(1),
    '',
    ok ? 'Each lock by hand broke, and each of ours held.' : `NOT as expected: ${wrong.join(', ')}.`,
  ].join('\n');
}

/** One side, step by step. */
export function stepsOf(title: string, { steps, verdict, error }: Shown): string {
  const lines = steps.map(({ text, lanes, seen, mood }, index) => {
    const mark = mood === undefined ? ' ' : mood === 'bad' ? '✗' : '✓';
    const callers = lanes.map(({ name, state }) => `${name} ${state}`);
    return `${mark} ${index + 1}. ${text}\n     ${[...callers, ...seen].join(' · ')}`;
  });
  return [title, ...lines, `  = ${verdictOf({ verdict, error })}`, ''].join('\n');
}

function verdictOf({ verdict, error }: Pick<Shown, 'verdict' | 'error'>): string {
  if (!verdict) return `no verdict: ${error ?? 'it did not run'}`;
  return `${verdict.broken ? 'broken' : 'held'}: ${verdict.text}`;
}
