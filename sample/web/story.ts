/** What a button did, in one sentence: as the processes, the responses and the database told it. */

export interface Loss {
  /** The process that had the lock, and the one that got it next. */
  readonly loser: string;
  readonly token: string;
  readonly next: { readonly name: string; readonly token: string; readonly after: string } | undefined;
  /** When the signal of the loser fired; undefined when it did not. */
  readonly signal: 'before' | 'after' | undefined;
  /** The response to the buyer whose payment was under way: 409 is the refusal of the row. */
  readonly status: number | undefined;
}

const outcomeOf = ({ status, token, next }: Loss): string => {
  if (status === 409) return `the row refused its token ${token}${next ? '' : ', for a later buyer had come'}`;
  if (status === 201) return `its write came before ${next ? 'that of a later holder' : 'any other'}: it counts, once`;
  return status === undefined ? 'its buyer got no response' : `its buyer got the response ${status}`;
};

const nextOf = ({ next }: Loss): string =>
  next ? `${next.name} got the lock with token ${next.token}` : 'No other process wanted the lock';

export const tooLate = 'The sale was over before a process had the lock. Open a new one.';

/** @param loss of a process that stood still */
export function stopped(loss: Loss): string {
  const { loser, signal } = loss;
  const fired = signal === undefined ? '' : 'its signal fired and ';
  return `${loser} was stopped past its lease. ${nextOf(loss)}; when ${loser} woke, ${fired}${outcomeOf(loss)}.`;
}

/** @param loss of a process that does not reach Redis */
export function cut(loss: Loss): string {
  const { loser, signal } = loss;
  const fired = signal === undefined ? 'Its signal did not fire.' : `Its signal fired ${whenOf(loss)}.`;
  return `The link between ${loser} and Redis was cut. ${fired} ${nextOf(loss)}; ${outcomeOf(loss)}.`;
}

const whenOf = ({ signal, next }: Loss): string =>
  next ? `${signal} the lock was another’s` : 'as its lease could not be renewed';

export function mended(name: string, token: string | undefined, unserved: number): string {
  const missed =
    unserved === 0 ? '' : ` ${people(unserved)} got the response 503 in that time: without the lock, no sale.`;
  const again = token === undefined ? '' : ` It had the lock again with token ${token}.`;
  return `The link between ${name} and Redis is whole again.${again}${missed}`;
}

/** @param loss of a process whose key was deleted behind its back */
export function deleted(loss: Loss): string {
  const { loser, signal, token } = loss;
  const fired = signal === undefined ? '' : `At its next renewal the signal of ${loser} fired, and `;
  return `The key was deleted while ${loser} had the lock with token ${token}. ${nextOf(loss)}. ${capital(`${fired}${outcomeOf(loss)}`)}.`;
}

const unanswered = (lost: number): string => (lost === 0 ? '' : ` ${people(lost)} of it got no response.`);

/** @param reachesRedis else it may have believed in a lock, and no one can tell */
export function killedWithout(name: string, reachesRedis: boolean, lost: number): string {
  const what = reachesRedis
    ? 'was killed. It did not have the lock: no process had to wait.'
    : 'was killed while it did not reach Redis.';
  return `${name} ${what}${unanswered(lost)}`;
}

export function killed(name: string, token: string, next: Loss['next'], lost: number): string {
  const after = next
    ? `Its lease ended, and ${next.name} got the lock with token ${next.token} ${next.after} after the kill.`
    : 'No other process wanted the lock.';
  return `${name} was killed with the lock in its hands (token ${token}). ${after}${unanswered(lost)}`;
}

export function redisKilled(unserved: number, sold: number): string {
  const tickets =
    sold === 0
      ? 'no ticket was sold'
      : `${sold} ${sold === 1 ? 'ticket was' : 'tickets were'} sold by the holder of a lease that still counted`;
  return `Redis was killed. ${people(unserved)} got the response 503, and ${tickets}: without the lock, no sale.`;
}

export function redisBack(
  away: string,
  next: { readonly name: string; readonly token: string; readonly isLarger: boolean } | undefined,
  twice: number,
): string {
  const grant = next
    ? `${next.name} got the lock with token ${next.token}, which is ${next.isLarger ? 'larger than each one before' : 'NOT larger than those before'}`
    : 'no buyer wanted a ticket';
  const books =
    twice === 0 ? 'no ticket was sold twice' : `${twice} ${twice === 1 ? 'ticket was' : 'tickets were'} sold twice`;
  return `Redis came back without its memory after ${away}. ${capital(grant)}, and ${books}.`;
}

export const endedByItself = (name: string): string => `${name} ended by itself, and no button did that.`;

const people = (count: number): string => (count === 1 ? '1 buyer' : `${count} buyers`);
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
