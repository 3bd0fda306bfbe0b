import { part, write } from './dom.js';

/** @typedef {import('./overview.js').View} View */
/** @typedef {import('../../core/lock-info.js').LockInfo} LockInfo */
/** @typedef {View['waits']['roots'][number]} WaitedLock */
/** @typedef {keyof typeof guides} Trouble */

const documents = 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/operate/';

/** The section that says what to do. test/unit/docs looks whether each is there. */
const guides = {
  redis: 'runbook.md#redis-does-not-answer',
  stuck: 'runbook.md#one-lock-is-stuck',
  slow: 'runbook.md#everything-is-slow',
  lost: 'runbook.md#two-may-have-worked-at-once',
  force: 'runbook.md#should-i-release-it-by-force',
  doctor: 'doctor.md',
};

/**
 * Shows the link to what to do, or hides it.
 * @param {HTMLElement} link
 * @param {Trouble | undefined} trouble
 * @param {string} [anchor] of a page as a whole
 */
export function guide(link, trouble, anchor = '') {
  link.hidden = trouble === undefined;
  if (trouble) link.setAttribute('href', documents + guides[trouble] + anchor);
}

/**
 * Why callers wait for a lock, as far as it can be seen, in one sentence; `lock` is the other lock that it speaks of.
 * @param {LockInfo} info
 * @param {View | undefined} view
 * @returns {{ text: string, lock?: string } | undefined}
 */
export function causeOf({ key, holders, waiters }, view) {
  const [holder] = holders;
  if (!holder) return undefined;
  const place = placeOf(key, view?.waits.roots ?? []);
  if (place?.isDeadlock)
    return {
      text: 'A deadlock: its holder waits for a lock whose holder waits for this one. It ends when a wait ends, or by force.',
    };
  if (place?.behind !== undefined) return { text: 'Its holder waits for another lock:', lock: place.behind };
  if (holder.state === 'kept') return { text: 'Its work is over. The option minHold keeps the lock from others.' };
  if (waiters[0]?.reachable === false)
    return {
      text: 'The first process in the queue was not reached: it is stopped, dead or disconnected. The next one gets the lock.',
    };
  const long = view?.long.find((one) => one.key === key && one.fencingToken === holder.fencingToken);
  if (long)
    return {
      text: 'Its work takes longer than usual. Its process is alive: it renews the lease. Look at what it does inside.',
    };
  return undefined;
}

/**
 * Where a lock is among those that wait for each other.
 * @param {string} key
 * @param {readonly WaitedLock[]} locks
 * @param {string} [behind] the lock that the holder of these waits for
 * @param {boolean} [inDeadlock]
 * @returns {{ isDeadlock: boolean, behind: string | undefined } | undefined}
 */
function placeOf(key, locks, behind, inDeadlock = false) {
  for (const lock of locks) {
    const isDeadlock = lock.isDeadlock;
    if (lock.key === key) return { isDeadlock: isDeadlock || (inDeadlock && lock.isRepeated), behind };
    for (const { blocks } of lock.waiters) {
      const found = placeOf(key, blocks, lock.key, isDeadlock);
      if (found) return found;
    }
  }
  return undefined;
}

/**
 * Shows the sentence, with its lock as a link.
 * @param {HTMLElement} line
 * @param {ReturnType<typeof causeOf>} cause
 * @param {(element: HTMLElement, key: string) => void} nameLock
 */
export function showCause(line, cause, nameLock) {
  line.hidden = cause === undefined;
  write(part(line, 'cause'), cause?.text ?? '');
  part(line, 'key').hidden = cause?.lock === undefined;
  if (cause?.lock !== undefined) nameLock(line, cause.lock);
}
