import { Random } from './random.js';

export const processFaults = ['pause', 'block', 'kill', 'leave'] as const;
export const linkFaults = ['reset', 'refuse', 'swallow', 'drop-replies', 'drop-commands', 'delay', 'late'] as const;
export const serverFaults = [
  'restart',
  'restart-empty',
  'flush',
  'delete',
  'evict',
  'script-flush',
  'kill-clients',
  'kill-subscriptions',
  'client-pause',
  'stop',
] as const;

export type ProcessFault = (typeof processFaults)[number];
export type LinkFault = (typeof linkFaults)[number];
export type ServerFault = (typeof serverFaults)[number];

/** `holder`: the process that next begins its work under the first lock. */
export type Target = number | 'holder';

/** What goes wrong, when, and for how long: milliseconds since the begin of the run. */
export type Fault = { readonly at: number; readonly lasts: number } & (
  | { readonly on: 'process'; readonly who: Target; readonly what: ProcessFault }
  | { readonly on: 'link'; readonly who: Target; readonly what: LinkFault; /** ms, of delays */ readonly by: number }
  | { readonly on: 'server'; readonly what: ServerFault }
);

interface ScheduleOptions {
  readonly seed: number;
  /** Everything has begun and ended by then. */
  readonly milliseconds: number;
  readonly processes: number;
}

/**
 * The faults of one run, in order of time. A pure function of its arguments: this is what a seed replays.
 *
 * The server, the processes, their links, and the holder of the first lock have a sequence each, so that faults occur in every combination.
 * Each draws from a deck: a short run sees many kinds, a long one all of them equally often.
 */
export function schedule({ seed, milliseconds, processes }: ScheduleOptions): Fault[] {
  const faults: Fault[] = [];
  /** @param longest time (ms) between two faults */
  const sequence = (name: string, longest: number, draw: (random: Random) => Generator<Drawn>): void => {
    const random = new Random(`${seed}:${name}`);
    // A short run is to see something, too.
    const peace = Math.min(longest, milliseconds / 3);
    let at = random.between(100, peace);
    for (const fault of draw(random)) {
      const inTime = at + fault.lasts <= milliseconds;
      if (!inTime) return;
      faults.push({ ...fault, at });
      at += fault.lasts + random.between(50, peace);
    }
  };
  sequence('server', 1500, serverFaultsOf);
  for (let who = 0; who < processes; who++) {
    sequence(`process ${who}`, 6000, (random) => processFaultsOf(random, who));
    sequence(`link ${who}`, 5000, (random) => linkFaultsOf(random, who));
  }
  sequence('holder', 1500, (random) => processFaultsOf(random, 'holder'));
  sequence("holder's link", 4000, (random) => linkFaultsOf(random, 'holder'));
  return faults.sort((a, b) => a.at - b.at);
}

type Drawn = Fault extends infer F ? (F extends Fault ? Omit<F, 'at'> : never) : never;

function* processFaultsOf(random: Random, who: Target): Generator<Drawn> {
  for (const what of random.deck([...processFaults, 'pause', 'pause'] as const)) {
    const still = what === 'pause' || what === 'block';
    yield { lasts: still ? standstill(random, who) : random.between(0, 500), on: 'process', who, what };
  }
}

/** Longer than some leases and shorter than others; now and then longer than the time after which a silent waiter is given up. */
function standstill(random: Random, who: Target): number {
  if (who === 'holder') return random.between(200, 1500);
  return random.between(50, random.chance(0.1) ? 3000 : 1000);
}

function* linkFaultsOf(random: Random, who: Target): Generator<Drawn> {
  for (const what of random.deck(linkFaults)) {
    const lasts = what === 'reset' ? 0 : random.between(50, 800);
    yield { lasts, on: 'link', who, what, by: random.between(5, what === 'late' ? 600 : 200) };
  }
}

const lasting: readonly ServerFault[] = ['restart', 'restart-empty', 'evict', 'client-pause', 'stop'];

function* serverFaultsOf(random: Random): Generator<Drawn> {
  for (const what of random.deck(serverFaults)) {
    yield { lasts: lasting.includes(what) ? random.between(20, 700) : 0, on: 'server', what };
  }
}

/** What it is, without its time. */
export function nameOf(fault: Fault): string {
  const target = fault.on === 'server' ? '' : ` ${fault.who}`;
  const by = fault.on === 'link' && (fault.what === 'delay' || fault.what === 'late') ? ` by ${fault.by} ms` : '';
  return `${fault.on}${target} ${fault.what}${by}`;
}

/** One line for the log. */
export function describeFault(fault: Fault): string {
  return `${String(fault.at).padStart(6)} ms  ${nameOf(fault)}${fault.lasts > 0 ? ` for ${fault.lasts} ms` : ''}`;
}
