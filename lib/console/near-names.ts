import type { Turns } from '../diagnostics/turns.js';

/** Names that are compared, and characters of a text: the work is the product of both, and of the length of the names. */
const mostCompared = 2_000;
const longestText = 64;
/** To compare two of the longest is like so many small steps. */
const weight = 64;

/** Names that look like a text that no name begins with, the nearest first: a letter too many, another case, another number behind it. @param shown as people see a name */
export async function nearNames(
  text: string,
  names: Iterable<string>,
  most: number,
  turns: Turns,
  shown: (name: string) => string = (name) => name,
): Promise<string[]> {
  const wanted = text.slice(0, longestText).toLowerCase();
  const found: Array<{ name: string; distance: number }> = [];
  let compared = 0;
  for (const name of names) {
    if (++compared > mostCompared) break;
    const distance = distanceOf(wanted, shown(name).slice(0, longestText).toLowerCase());
    if (distance < Number.POSITIVE_INFINITY) found.push({ name, distance });
    const pause = turns.rest(weight);
    if (pause) await pause;
  }
  found.sort((one, other) => one.distance - other.distance || (one.name < other.name ? -1 : 1));
  return found.slice(0, most).map(({ name }) => name);
}

/** How many letters differ; infinite for a name that looks different. */
function distanceOf(wanted: string, name: string): number {
  if (name.includes(wanted) || wanted.includes(name)) return Math.abs(name.length - wanted.length) / longestText;
  const most = Math.max(1, Math.floor(Math.min(wanted.length, name.length) / 4));
  if (Math.abs(wanted.length - name.length) > most) return Number.POSITIVE_INFINITY;
  const edits = editsOf(...withoutCommonEnds(wanted, name));
  return edits <= most ? edits : Number.POSITIVE_INFINITY;
}

/** Names of one kind have them, and they change nothing. */
function withoutCommonEnds(one: string, other: string): [one: string, other: string] {
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  return [one.slice(start, one.length - end), other.slice(start, other.length - end)];
}

/** Letters to insert, to remove or to change, or two neighbours to swap. */
function editsOf(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      let edits = Math.min(last[column]! + 1, next[column - 1]! + 1, last[column - 1]! + (isSame ? 0 : 1));
      const isSwap = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwap) edits = Math.min(edits, before[column - 2]! + 1);
      next.push(edits);
    }
    [before, last] = [last, next];
  }
  return last[other.length]!;
}
