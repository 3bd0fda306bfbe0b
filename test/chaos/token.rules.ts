import type { Started, Touched } from './history.js';
import { byName, type RecordedRun } from './recorded-run.js';

export function issuedTwice(run: RecordedRun): string[] {
  const owners = new Map<string, string>();
  return run.starts.flatMap(({ name, token, hold }) => {
    const owner = owners.get(`${name} ${token}`);
    owners.set(`${name} ${token}`, hold);
    return owner === undefined ? [] : [`${token} of ${name} went to ${owner} and to ${hold}`];
  });
}

/** At the guarded resource: a reader does not shut out the writer before it, and permits are no order at all. */
export function acceptedDecreased(run: RecordedRun): string[] {
  return [...run.touches.values()].flatMap((touches) => {
    let largest: Touched | undefined;
    return touches.flatMap((touch) => {
      if (!touch.accepted || typeof touch.mode === 'object') return [];
      const before = largest;
      const decreased = before !== undefined && touch.token < before.token;
      if (!decreased && touch.mode === 'exclusive') largest = touch;
      return decreased ? [`${saidTouch(touch)} after ${saidTouch(before)}`] : [];
    });
  });
}

/** A request that begins after another holder got its token gets a larger one. */
export function smallerLater(run: RecordedRun): string[] {
  const found: string[] = [];
  for (const [name, starts] of byName(run.starts)) {
    const told = starts.toSorted((a, b) => a.at - b.at);
    let next = 0;
    let largest: Started | undefined;
    for (const start of starts.toSorted((a, b) => a.asked - b.asked)) {
      for (; next < told.length && told[next]!.at < start.asked; next++) {
        if (!largest || told[next]!.token > largest.token) largest = told[next];
      }
      // Within a process a lock may be handed on that Redis has forgotten (ADR 0016).
      if (largest && start.token < largest.token && run.forgottenAt(start) > start.at) {
        found.push(`${start.hold} got ${start.token} of ${name}, ${largest.hold} had ${largest.token} when it asked`);
      }
    }
  }
  return found;
}

export const saidTouch = ({ hold, kind, name, token, at }: Touched): string =>
  `${kind} of ${name} by ${hold} with token ${token} at ${at.toFixed(1)}`;
