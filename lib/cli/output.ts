import { createWriteStream } from 'node:fs';
import { escaped } from '../errors/describe.js';
import type { LockHolderInfo } from '../core/lock-info.js';
import type { LockParty } from '../errors/lock-errors.js';

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

/** In columns of the terminal. What is no terminal, or has no size, gets each cell whole. */
export const screenWidth = (): number => (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY;

/** A cell that is longer moves only its own row, where no screen limits it. */
const longestAligned = 60;
/** No column is cut below it. */
const leastColumn = 12;
const gap = 2;

/** Lines with aligned columns; the first row is the heading. What is too long for the screen is cut in the middle. */
export function table(
  rows: ReadonlyArray<readonly string[]>,
  paint: Paint,
  screen = Number.POSITIVE_INFINITY,
): string[] {
  const longest = screen < Number.POSITIVE_INFINITY ? screen : longestAligned;
  const widths = rows[0]!.map((_, column) =>
    rows.reduce((most, row) => Math.max(most, Math.min(longest, widthOf(row[column]!))), 0),
  );
  let excess = widths.reduce((sum, width) => sum + gap + width, -gap) - screen;
  for (let widest = Math.max(...widths); excess > 0 && widest > leastColumn; excess--) {
    widths[widths.indexOf(widest)] = widest - 1;
    widest = Math.max(...widths);
  }
  return rows.map((row, index) => {
    const cells = row.map((cell, column) =>
      padded(longest === screen ? cut(cell, widths[column]!) : cell, widths[column]!),
    );
    const line = cells.join(' '.repeat(gap)).trimEnd();
    return index === 0 ? paint.dim(line) : line;
  });
}

/** Characters of East Asia, and emoji, take two columns of a terminal. */
const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const isPlain = (text: string): boolean => /^[ -~]*$/.test(text);

/** In columns of a terminal. */
function widthOf(text: string): number {
  if (isPlain(text)) return text.length;
  let width = 0;
  for (const character of text) width += /^\p{M}$/u.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return width;
}

const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** Names of many tenants begin alike, and others end alike: the beginning and the end stay. */
function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const characters = isPlain(text)
    ? text.split('')
    : [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  const start = within(characters, Math.ceil((width - 1) / 2));
  const end = within(characters.reverse(), width - 1 - widthOf(start.join('')));
  return `${start.join('')}…${end.reverse().join('')}`;
}

/** The first ones, as many as there is room for. */
function within(characters: readonly string[], room: number): string[] {
  let left = room;
  const end = characters.findIndex((character) => (left -= widthOf(character)) < 0);
  return characters.slice(0, end);
}

/** `ReportService.build 'import 7' (web-1:4711)` */
export function partyText(party: LockParty): string {
  const { method, label } = party;
  const caller = [method, label === undefined ? undefined : `'${escaped(label)}'`].filter((part) => part !== undefined);
  return caller.length > 0 ? `${caller.join(' ')} (${processText(party)})` : processText(party);
}

/** `web-1:4711` */
export const processText = ({ host, pid, client }: LockParty): string =>
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
