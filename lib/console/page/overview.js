import {
  byId,
  counted,
  duration,
  fill,
  fromTemplate,
  part,
  run,
  runTime,
  sync,
  visible,
  write,
  writeOrHide,
} from './dom.js';
import { callerOf, holderOf, processOf } from './parties.js';

/** @typedef {import('../answers.js').OverviewAnswer} View */
/** @typedef {View['contended'][number]} Contended */
/** @typedef {import('../wait-tree.js').WaitedLock} WaitedLock */

/**
 * A copy of a template whose button opens the lock.
 * @param {string} template
 * @param {(key: string) => void} open
 */
function opening(template, open) {
  const element = fromTemplate(template);
  const button = part(element, 'key');
  button.addEventListener('click', () => open(button.dataset['key'] ?? ''));
  return element;
}

/** @param {HTMLElement} element @param {string} key */
function nameLock(element, key) {
  const button = part(element, 'key');
  button.dataset['key'] = key;
  button.title = visible(key);
  write(button, key);
}

/** @param {View} view @param {(key: string) => void} open opens a lock by its name */
export function showOverview(view, open) {
  showFigures(view);
  document.title = view.contended.length > 0 ? '(' + view.contended.length + ') Locks' : 'Locks';
  showContended(view, open);
  showWaits(view, open);
  showLong(view, open);
  showHot(view);
  showLeaders(view, open);
  showIncidents(view, open);
  showFindings(view);
  showProcesses(view, open);
}

/** @param {View} view */
function showFigures({ processes, contended, moreContended, long, moreLong, incidents }) {
  const waiting = processes.reduce((sum, process) => sum + process.waiting, 0);
  write(byId('figure-waiting'), waiting.toLocaleString('en'));
  write(byId('figure-contended'), (contended.length + moreContended).toLocaleString('en'));
  write(byId('figure-long'), (long.length + moreLong).toLocaleString('en'));
  write(byId('figure-incidents'), incidents.length.toLocaleString('en'));
  const longest = byId('figure-longest');
  if (contended[0]) runTime(longest, contended[0].longest);
  else run(longest, () => write(longest, '–'));
  byId('figure-waiting').parentElement?.classList.toggle('amber', waiting > 0);
  longest.parentElement?.classList.toggle('amber', contended.length > 0);
  byId('figure-incidents').parentElement?.classList.toggle('red', incidents.length > 0);
}

/** @param {View} view @param {(key: string) => void} open */
function showContended({ contended, moreContended }, open) {
  byId('contended-empty').hidden = contended.length > 0;
  byId('contended-table').hidden = contended.length === 0;
  const longest = contended[0]?.longest ?? 1;
  sync(
    byId('contended-rows'),
    contended,
    ({ key }) => key,
    () => opening('contended-row', open),
    (row, lock) => {
      const { key, kind, holder, callers } = lock;
      nameLock(row, key);
      writeOrHide(part(row, 'kind'), kind === undefined || kind === 'exclusive' ? '' : kind);
      write(part(row, 'who'), holder ? holderOf(holder) : 'not known yet');
      write(part(row, 'where'), holder ? processOf(holder) : '');
      part(row, 'held').hidden = holder?.heldFor === undefined;
      if (holder?.heldFor !== undefined) runTime(part(row, 'held'), holder.heldFor, 1, 'for ');
      showChips(part(row, 'chips'), lock);
      runTime(part(row, 'longest'), lock.longest);
      fill(part(row, 'gauge'), lock.longest / longest);
      part(row, 'chips').setAttribute('aria-label', counted(callers, 'caller') + ' waiting');
    },
  );
  writeOrHide(
    byId('contended-more'),
    moreContended > 0 ? counted(moreContended, 'more lock') + ' with shorter waits' : '',
  );
}

/** @param {HTMLElement} list @param {Contended} lock */
function showChips(list, { waiters, processes }) {
  /** @type {{ id: string, place: string, text: string }[]} */
  const chips = waiters.map((waiter, index) => ({
    id: waiter.client,
    place: String(index + 1),
    text: processOf(waiter) + (waiter.callers > 1 ? ' × ' + waiter.callers : ''),
  }));
  const more = processes - waiters.length;
  if (more > 0) chips.push({ id: 'more', place: '', text: counted(more, 'more process', 'more processes') });
  sync(
    list,
    chips,
    ({ id }) => id,
    () => fromTemplate('chip'),
    (chip, { place, text }) => {
      writeOrHide(part(chip, 'place'), place);
      write(part(chip, 'text'), text);
    },
  );
}

/** @param {View} view @param {(key: string) => void} open */
function showWaits({ waits: { roots, deadlocks } }, open) {
  // A queue at one lock is in the table. Here stands what the table cannot show.
  const chains = roots.filter(
    ({ isDeadlock, waiters }) => isDeadlock || waiters.some(({ blocks }) => blocks.length > 0),
  );
  byId('waits').hidden = chains.length === 0;
  byId('waits').classList.toggle('alarm', deadlocks > 0);
  const hint =
    deadlocks > 0
      ? counted(deadlocks, 'deadlock') +
        ': each caller holds what the next one waits for. It ends when a wait ends, or by force.'
      : 'Callers that hold a lock while they wait for another one, and who waits for those.';
  write(byId('waits-hint'), hint);
  showLocks(byId('waits-roots'), chains, open);
}

/** @param {HTMLElement} list @param {readonly WaitedLock[]} locks @param {(key: string) => void} open */
function showLocks(list, locks, open) {
  sync(
    list,
    locks,
    ({ key }) => key,
    () => opening('tree-lock', open),
    (item, { key, holder, isDeadlock, isRepeated, waiters, moreWaiters }) => {
      nameLock(item, key);
      item.classList.toggle('red', isDeadlock);
      part(item, 'deadlock').hidden = !isDeadlock;
      part(item, 'repeated').hidden = !isRepeated;
      write(
        part(item, 'holder'),
        holder ? callerOf(holder) + ', ' + processOf(holder) : 'a process that is not known yet',
      );
      const isMore = moreWaiters > 0 && !isRepeated;
      writeOrHide(
        part(item, 'more'),
        isMore ? counted(moreWaiters, 'more waiting process', 'more waiting processes') : '',
      );
      const inner = part(item, 'waiters');
      inner.hidden = waiters.length === 0;
      sync(
        inner,
        waiters,
        ({ client }) => client,
        () => fromTemplate('tree-waiter'),
        (waiterItem, waiter) => {
          const { callers, longest, blocks } = waiter;
          write(part(waiterItem, 'who'), callerOf(waiter));
          write(part(waiterItem, 'where'), processOf(waiter) + (callers > 1 ? ', ' + counted(callers, 'caller') : ''));
          runTime(part(waiterItem, 'longest'), longest, 1, 'waits ');
          part(waiterItem, 'blocks').hidden = blocks.length === 0;
          showLocks(part(waiterItem, 'blocks'), blocks, open);
        },
      );
    },
  );
}

/** @param {View} view @param {(key: string) => void} open */
function showLong({ long, moreLong }, open) {
  byId('long-none').hidden = long.length > 0;
  byId('long-table').hidden = long.length === 0;
  sync(
    byId('long-rows'),
    long,
    ({ key, fencingToken }) => fencingToken + ' ' + key,
    () => opening('long-row', open),
    (row, lock) => {
      nameLock(row, lock.key);
      write(part(row, 'who'), callerOf(lock));
      write(part(row, 'where'), processOf(lock));
      runTime(part(row, 'held'), lock.heldFor);
      const { maxHold, lease } = lock;
      write(part(row, 'of'), maxHold === undefined ? 'lease ' + duration(lease) : 'of at most ' + duration(maxHold));
    },
  );
  writeOrHide(byId('long-more'), moreLong > 0 ? counted(moreLong, 'more') : '');
}

/** @param {View} view */
function showHot({ hot }) {
  byId('hot-none').hidden = hot.length > 0;
  const longest = hot[0]?.waited ?? 1;
  sync(
    byId('hot-rows'),
    hot.slice(0, 8),
    ({ name }) => name,
    () => fromTemplate('hot-row'),
    (row, { name, waited, most }) => {
      write(part(row, 'name'), name);
      write(part(row, 'waited'), duration(waited));
      write(
        part(row, 'most'),
        most === 1 ? 'one caller at a time' : 'up to ' + most.toLocaleString('en') + ' callers at once',
      );
      fill(part(row, 'gauge'), waited / longest);
    },
  );
}

/** @param {View} view @param {(key: string) => void} open */
function showLeaders({ leaders }, open) {
  byId('leaders').hidden = leaders.length === 0;
  sync(
    byId('leaders-rows'),
    leaders,
    ({ key, fencingToken }) => fencingToken + ' ' + key,
    () => opening('leader-row', open),
    (row, leader) => {
      nameLock(row, leader.key);
      write(part(row, 'who'), (leader.method === undefined ? '' : leader.method + ', ') + processOf(leader));
      runTime(part(row, 'held'), leader.heldFor, 1, 'for ');
    },
  );
}

/** @type {Record<string, string>} */
const reasons = {
  expired: 'lease expired',
  revoked: 'revoked',
  'max-hold': 'held longer than maxHold',
  shutdown: 'cut off by a shutdown',
  adopted: 'adopted elsewhere',
};

/** @param {View} view @param {(key: string) => void} open */
function showIncidents({ incidents }, open) {
  byId('incidents-none').hidden = incidents.length > 0;
  sync(
    byId('incidents-rows'),
    incidents,
    ({ type, key, fencingToken }) => [type, fencingToken, key].join(' '),
    () => opening('incident-row', open),
    (row, incident) => {
      const isForced = incident.type === 'forced';
      row.classList.toggle('forced', isForced);
      const what = isForced ? 'Released by force' : 'Lost: ' + (reasons[incident.lost ?? ''] ?? incident.lost);
      write(part(row, 'what'), what);
      runTime(part(row, 'ago'), incident.ago);
      nameLock(row, incident.key);
      write(part(row, 'who'), callerOf(incident) + ', ' + processOf(incident));
      const { actor, reason } = incident;
      const said = [actor, reason === undefined ? undefined : '“' + reason + '”'].filter((text) => text !== undefined);
      writeOrHide(part(row, 'reason'), said.join(': '));
    },
  );
}

/** @param {View} view */
function showFindings({ findings }) {
  byId('findings').hidden = findings.length === 0;
  sync(
    byId('findings-rows'),
    findings,
    ({ message }) => message,
    () => fromTemplate('finding-row'),
    (row, { code, message, remark = false, processes }) => {
      row.classList.toggle('remark', remark);
      write(part(row, 'code'), code.replace('LOCK_DOCTOR_', ''));
      write(part(row, 'message'), message);
      writeOrHide(part(row, 'count'), processes > 1 ? 'in ' + counted(processes, 'process', 'processes') : '');
    },
  );
}

/** @param {View} view @param {(key: string) => void} open */
function showProcesses({ processes, total, own }, open) {
  const quiet = 'A process tells nothing while it has no waits, no long holds and no losses.';
  const more =
    total > processes.length ? ' ' + counted(total - processes.length, 'more process', 'more processes') + '.' : '';
  write(
    byId('processes-hint'),
    (own.tells ? quiet : 'This process tells the others nothing (option activity).') + more,
  );
  sync(
    byId('processes-rows'),
    processes,
    ({ client, pid }) => client + ' ' + pid,
    () => fromTemplate('process-row'),
    (row, process) => {
      const isOwn = process.client === own.client && process.pid === own.pid;
      write(part(row, 'name'), processOf(process));
      part(row, 'own').hidden = !isOwn;
      write(part(row, 'held'), process.held.toLocaleString('en'));
      write(part(row, 'waiting'), process.waiting.toLocaleString('en'));
      if (isOwn) run(part(row, 'age'), () => write(part(row, 'age'), 'live'));
      else runTime(part(row, 'age'), process.age);
    },
  );
  const { first, more: moreHolds } = own.holds;
  byId('own').hidden = first.length === 0;
  sync(
    byId('own-rows'),
    first,
    ({ key, fencingToken }) => fencingToken + ' ' + key,
    () => opening('own-row', open),
    (row, held) => {
      nameLock(row, held.key);
      write(part(row, 'who'), callerOf(held));
      runTime(part(row, 'held'), held.heldFor, 1, 'for ');
    },
  );
  writeOrHide(byId('own-more'), moreHolds > 0 ? counted(moreHolds, 'more') : '');
}
