import { parseArgs } from 'node:util';
import { UsageError } from '../demo/options.js';
import { names } from './exhibits/index.js';

export interface MuseumOptions {
  readonly names: readonly string[];
  readonly steps: boolean;
  readonly json: boolean;
  readonly web: boolean;
  readonly port: number;
  readonly help: boolean;
}

export const help = `Locks for Redis as people write them by hand, the runs that break them, and the same runs with this library.
Real processes that are killed and paused, real Redis servers, a real database.

  npm run museum -- [options] [exhibit …]      npm run --silent museum -- --json

  --steps       what happens, step by step
  --web         a page with the exhibits, instead of a table
  --port <n>    where that page is; 0 takes a free one      (default 4322)
  --json        the runs as JSON on stdout, nothing else there
  --help        this text

Exhibits (default: all):
  ${names.join('\n  ')}

Exit code: 0 when each lock by hand broke and each of ours held, 1 when not, 2 for a wrong option.`;

const flags = {
  steps: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  web: { type: 'boolean', default: false },
  port: { type: 'string', default: '4322' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** @throws UsageError naming the argument that is wrong. */
export function readOptions(args: string[]): MuseumOptions {
  const { values, positionals } = parse(args);
  const unknown = positionals.find((name) => !names.some((known) => known === name));
  if (unknown !== undefined) throw new UsageError(`There is no exhibit '${unknown}'.`);
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) throw new UsageError(`--port: '${values.port}' is no port.`);
  return { ...values, port, names: positionals.length > 0 ? positionals : names };
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: flags, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
