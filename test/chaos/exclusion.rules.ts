import type { Mode, Touched } from './history.js';
import { byName, type Interval, type RecordedRun } from './recorded-run.js';

/** Holders who were certain at the same time and shut each other out: one, or only readers, or no more permits than there are. */
export function heldTogether(run: RecordedRun): string[] {
  const found: string[] = [];
  for (const [name, intervals] of byName(run.intervals())) {
    // Who ends at the very moment at which another begins is gone.
    const moments = intervals
      .flatMap((interval) => [
        { at: interval.from, begins: true, interval },
        { at: interval.to, begins: false, interval },
      ])
      .sort((a, b) => a.at - b.at || Number(a.begins) - Number(b.begins));
    const holding = new Set<Interval>();
    for (const { at, begins, interval } of moments) {
      if (!begins) holding.delete(interval);
      // Of no length, and so over already by the order above.
      else if (interval.to > interval.from) {
        holding.add(interval);
        if (!admitted([...holding].map(({ mode }) => mode))) {
          found.push(`${name} at ${at.toFixed(1)} by ${[...holding].map(said).join(' and ')}`);
        }
      }
    }
  }
  return found;
}

function admitted(modes: readonly Mode[]): boolean {
  if (modes.length === 1 || modes.every((mode) => mode === 'shared')) return true;
  let permits = 0;
  let limit = Number.POSITIVE_INFINITY;
  for (const mode of modes) {
    if (typeof mode === 'string') return false;
    permits += mode.permits;
    limit = Math.min(limit, mode.limit);
  }
  return permits <= limit;
}

const said = ({ hold, mode, from, to }: Interval): string =>
  `${hold} (${typeof mode === 'string' ? mode : `${mode.permits} of ${mode.limit}`}, ${from.toFixed(1)} to ${to.toFixed(1)})`;

/** Another holder wrote between the reading and the writing of one update, so an update was lost. */
export interface LostUpdate {
  readonly write: Touched;
  readonly other: Touched;
}

/** @param counts which touches the resource took and are looked at */
export function lostUpdates(run: RecordedRun, counts: (touch: Touched) => boolean): LostUpdate[] {
  const lost: LostUpdate[] = [];
  for (const touches of run.touches.values()) {
    /** For each hold that has read: the last write before. */
    const readAfter = new Map<string, Touched | undefined>();
    let last: Touched | undefined;
    for (const touch of touches) {
      if (!counts(touch)) continue;
      if (touch.kind === 'read') {
        readAfter.set(touch.hold, last);
        continue;
      }
      const other = last;
      last = touch;
      if (other && readAfter.has(touch.hold) && readAfter.get(touch.hold) !== other && other.hold !== touch.hold) {
        lost.push({ write: touch, other });
      }
    }
  }
  return lost;
}
