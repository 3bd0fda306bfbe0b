import { heldTogether, type LostUpdate, lostUpdates } from './exclusion.rules.js';
import { beat, type Happening, type Lived } from './history.js';
import { RecordedRun } from './recorded-run.js';
import { acceptedDecreased, issuedTwice, saidTouch, smallerLater } from './token.rules.js';

/** How often a process may check its timers before it reports the end of a lease: timers run in the order of their times. */
const mostLateBeats = 2;

/** A call that is refused says why, by one of these. */
const knownOutcomes = ['granted', 'aborted', 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT', 'LOCK_UNAVAILABLE', 'LOCK_LOST'];

/** What the processes of a run were given. */
export interface Terms {
  /** ms */
  readonly commandTimeout: number;
}

/** The promises that a run has broken, one line each; complete, and without repetition. In O(n log n). */
export function violations(history: readonly Happening[], terms: Terms): string[] {
  const run = new RecordedRun(history);
  return Object.entries(rules).flatMap(([title, rule]) => rule(run, terms).map((what) => `${title}: ${what}`));
}

/** Lost updates of a resource that checks no tokens: a lock alone cannot prevent them. */
export function lostInTheOpen(history: readonly Happening[]): number {
  return lostUpdates(new RecordedRun(history), ({ mode, until }) => mode === 'exclusive' && until > 0).length;
}

const rules: Record<string, (run: RecordedRun, terms: Terms) => string[]> = {
  'more held the lock than may': heldTogether,
  'a token was issued twice': issuedTwice,
  'a later holder got a smaller token': smallerLater,
  'an accepted token decreased': acceptedDecreased,
  'a holder was refused': (run) =>
    [...run.touches.values()]
      .flat()
      .filter((touch) => !touch.accepted && run.certain(touch))
      .map((touch) => `${saidTouch(touch)}, certain to hold`),
  'an update was lost at the guarded resource': (run) =>
    lostUpdates(run, ({ mode, accepted }) => mode === 'exclusive' && accepted).map(saidLost),
  'an update was lost although no lease was': (run) =>
    lostUpdates(run, (touch) => touch.mode === 'exclusive' && run.certain(touch)).map(saidLost),
  'a loss was reported late': (run) =>
    run
      .of('ended')
      .filter(({ lateBeats }) => lateBeats > mostLateBeats)
      .map(({ hold, lateBeats }) => `${hold}, after ${lateBeats} looks at the timers`),
  'a call was answered late': (run, { commandTimeout }) =>
    run.of('settled').flatMap(({ call, names, wait, outcome, lived }) => {
      // With several names, granted ones are released before the call rejects.
      const allowed = wait + commandTimeout * (names > 1 ? 2 : 1);
      return isLate(lived, allowed, commandTimeout)
        ? [`${call} (wait ${wait}): ${outcome} after ${saidLived(lived)}`]
        : [];
    }),
  'a release was answered late': (run, { commandTimeout }) =>
    run
      .of('ended')
      .filter(({ lived }) => isLate(lived, commandTimeout, commandTimeout))
      .map(({ hold, lived }) => `${hold}: after ${saidLived(lived)}`),
  'a call was never answered': (run) =>
    run.of('exited').flatMap(({ process, open }) => open.map((call) => `${call} of ${process}`)),
  'a call failed with an error of no known kind': (run) =>
    run.of('settled').flatMap(({ call, outcome }) => (knownOutcomes.includes(outcome) ? [] : [`${call}: ${outcome}`])),
  'a caller starved': (run) =>
    run
      .of('final')
      .filter(({ outcome }) => outcome !== 'granted')
      .map(({ flow, name, outcome }) => `${flow} did not get ${name} when all was well: ${outcome}`),
  'a process did not end well': (run) =>
    run
      .of('exited')
      .filter(({ code, unhandled }) => code !== 0 || unhandled.length > 0)
      .map(
        ({ process, code, unhandled }) => `${process}: code ${code}, unhandled: ${unhandled.join('; ') || 'nothing'}`,
      ),
  'something was left in Redis': (run) =>
    run
      .of('left')
      .filter(({ keys, connections }) => keys.length > 0 || connections > 0)
      .map(({ keys, connections }) => `keys: ${keys.join(', ') || 'none'}; connections: ${connections}`),
};

/** Counted in checks of the timers, so that a stalled machine counts as no fault of the library; after each stall the library gives a command
 * its whole time once more, since it may have been sent only then.
 */
function isLate({ beats, stalls }: Lived, allowed: number, commandTimeout: number): boolean {
  // Node's timers may come a millisecond early; and a few more for other work of the process at that moment.
  return beats > (allowed + stalls * commandTimeout) / (beat - 1) + 5;
}

const saidLived = ({ beats, stalls }: Lived): string => `${beats * beat} ms of its own time, ${stalls} stalls`;

const saidLost = ({ write, other }: LostUpdate): string => `${saidTouch(write)} over ${saidTouch(other)}`;
