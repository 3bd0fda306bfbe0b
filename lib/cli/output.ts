import { createWriteStream } from 'node:fs';
import { escaped } from '../core/describe.js';
import type { LockHolderInfo, LockPartyInfo } from '../core/lock-info.js';

/** A reader that goes away, as `head` does, is no error. */
export function endQuietlyWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}

export const print = (text: string): void => void process.stdout.write(`${text}\n`);

/**
 * A thread writes it. Else a pipe that no program reads, or a terminal after Ctrl-S, would stop this program: it could neither renew a lock
 * nor end a command.
 */
const standardError = createWriteStream('', { fd: 2, autoClose: false });
// A line that no reader gets is no reason to leave a command without its lock.
standardError.on('error', () => undefined);

/** To standard error: standard output has results only. */
export const say = (text: string): void => void standardError.write(`nestjs-redis-lock: ${text}\n`);

/** One line. Names and labels may have any characters: those that a terminal interprets are escaped. */
export const json = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`)
      .join(''),
  );

export interface Paint {
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
  readonly red: (text: string) => string;
}

const code =
  (start: number, end: number) =>
  (text: string): string =>
    `\u001b[${start}m${text}\u001b[${end}m`;
const plain = (text: string): string => text;

/** Colours only where a person looks, and wants them. */
export function paintFor(options: { readonly 'no-color'?: boolean | undefined }): Paint {
  const colours = process.stdout.isTTY && !options['no-color'] && !process.env['NO_COLOR'];
  return colours ? { dim: code(2, 22), bold: code(1, 22), red: code(31, 39) } : { dim: plain, bold: plain, red: plain };
}

/** Lines with aligned columns; the first row is the heading. */
export function table(rows: ReadonlyArray<readonly string[]>, paint: Paint): string[] {
  const widths = rows[0]!.map((_, column) => rows.reduce((most, row) => Math.max(most, row[column]!.length), 0));
  return rows.map((row, index) => {
    const line = row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
    return index === 0 ? paint.dim(line.trimEnd()) : line.trimEnd();
  });
}

/** `ReportService.build 'import 7' (web-1:4711)` */
export function partyText(party: LockPartyInfo): string {
  const { method, label } = party;
  const caller = [method, label === undefined ? undefined : `'${escaped(label)}'`].filter((part) => part !== undefined);
  return caller.length > 0 ? `${caller.join(' ')} (${processText(party)})` : processText(party);
}

/** `web-1:4711` */
export const processText = ({ host, pid, client }: LockPartyInfo): string =>
  host === undefined ? `client ${escaped(client)}` : `${host}:${pid}`;

/** `4.0s`, `2m 10s` */
export function time(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${Math.floor(seconds % 60)}s`;
  return `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

/** `lease ends in 4.0s` */
export const leaseText = ({ leaseLeft }: Pick<LockHolderInfo, 'leaseLeft'>): string =>
  leaseLeft === Number.POSITIVE_INFINITY ? 'lease never ends' : `lease ends in ${time(leaseLeft)}`;

/** ` for 4.0s`, or nothing where Redis does not know since when. */
export const heldText = ({ heldFor }: Pick<LockHolderInfo, 'heldFor'>): string =>
  heldFor === undefined ? '' : ` for ${time(heldFor)}`;

/** `, token 7`; of a holder that locks with Redisson nothing. */
export const tokenText = ({ fencingToken }: Pick<LockHolderInfo, 'fencingToken'>): string =>
  fencingToken === undefined ? '' : `, token ${fencingToken}`;

export const stateText = ({ state }: Pick<LockHolderInfo, 'state'>): string =>
  state === 'held' ? '' : state === 'kept' ? ' (kept by minHold)' : ' (not confirmed yet)';
