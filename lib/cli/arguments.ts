import { parseArgs, type ParseArgsConfig } from 'node:util';
import { parseDuration } from '../core/duration.js';
import { usageErrors } from './cli.messages.js';
import { usageOf } from './usage.js';

type OptionNames = NonNullable<ParseArgsConfig['options']>;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

/** Of every command: where Redis is, and how to print. */
const common = {
  url: { type: 'string', multiple: true },
  'url-file': text,
  sentinel: text,
  cluster: flag,
  quorum: flag,
  redisson: flag,
  config: text,
  prefix: text,
  timeout: text,
  json: flag,
  'no-color': flag,
  help: { type: 'boolean', short: 'h' },
} as const satisfies OptionNames;

const listing = { 'starts-with': text, contended: flag, 'older-than': text, limit: text } as const;

/** The options that each command has beside the common ones. */
const own = {
  ls: listing,
  inspect: {},
  watch: { ...listing, every: text },
  tree: { limit: text },
  release: { token: text, client: text, reason: text, actor: text, yes: { type: 'boolean', short: 'y' } },
  doctor: { strict: flag },
  run: {
    wait: text,
    lease: text,
    grace: text,
    'min-hold': text,
    'max-hold': text,
    shared: flag,
    limit: text,
    label: text,
    ticket: flag,
    'ticket-file': text,
  },
} as const satisfies Record<string, OptionNames>;

export type CommandName = keyof typeof own;
export const commandNames = Object.keys(own) as CommandName[];

export interface Arguments {
  readonly options: {
    readonly [option: string]: string | boolean | undefined;
  };
  /** `--url`, as often as it was given. */
  readonly urls: readonly string[];
  /** What is neither an option nor behind `--`. */
  readonly names: readonly string[];
  /** The command of `run`, behind `--`. */
  readonly child: readonly string[];
}

/** In a URL: in front of the host, or as ioredis reads it from the query. */
const password = /(^|[=,])rediss?:\/\/([^/?#]*:[^/?#]*@|[^#]*[?&]\w*password=)/i;

/** @throws CliError */
export function readArguments(command: CommandName, args: readonly string[]): Arguments {
  // Of other commands, what is behind `--` is a name.
  const separator = command === 'run' ? args.indexOf('--') : -1;
  const before = separator < 0 ? args : args.slice(0, separator);
  if (before.some((arg) => password.test(arg))) throw usageErrors.password();
  if (before.some((arg) => /(^|=)lock-ticket:/.test(arg))) throw usageErrors.ticketInArguments();
  try {
    const { values, positionals } = parseArgs({
      args: [...before],
      options: { ...common, ...own[command] },
      allowPositionals: true,
    });
    const { url = [], ...options } = values as Record<string, unknown>;
    return {
      options: options as Arguments['options'],
      urls: url as string[],
      names: positionals,
      child: separator < 0 ? [] : args.slice(separator + 1),
    };
  } catch (error) {
    throw usageErrors.wrongArguments(command, (error as Error).message);
  }
}

/** The only name. @throws CliError */
export function onlyName(command: CommandName, { names }: Arguments): string {
  if (names.length !== 1) throw usageErrors.names(command, usageOf(command));
  return names[0]!;
}

/** @throws CliError */
export function noNames(command: CommandName, { names }: Arguments): void {
  if (names.length > 0) throw usageErrors.names(command, usageOf(command));
}

/** Where the URLs are, for messages. */
export const placeOf = ({ urls, options }: Arguments): string =>
  urls.length > 0 ? '--url' : options['url-file'] === undefined ? 'REDIS_URL' : '--url-file';

/** An option's text. */
export const textIn = ({ options }: Arguments, name: string): string | undefined => options[name] as string | undefined;

/** Milliseconds. @throws CliError */
export function durationIn(given: Arguments, name: string, { min = 0, infinite = false } = {}): number | undefined {
  const value = textIn(given, name);
  if (value === undefined) return undefined;
  if (infinite && value === 'Infinity') return Number.POSITIVE_INFINITY;
  // Seconds for people who know `flock --wait 10`, milliseconds in the code of an application.
  if (/^\s*\d*[1-9]\d*\s*$/.test(value)) throw usageErrors.noUnit(name, value.trim());
  try {
    return parseDuration(name, /^0+$/.test(value) ? 0 : value, { min });
  } catch {
    throw usageErrors.noValue(name, value, `a duration such as 30s or 500ms, from ${min} ms to 24 days,`);
  }
}

/** A whole number, at least 1. @throws CliError */
export function numberIn(given: Arguments, name: string): number | undefined {
  const value = textIn(given, name);
  if (value === undefined) return undefined;
  if (!/^[1-9]\d{0,15}$/.test(value) || !Number.isSafeInteger(Number(value)))
    throw usageErrors.noValue(name, value, 'a whole number from 1');
  return Number(value);
}
