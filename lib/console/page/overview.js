import { byId, counted, duration, fill, fromTemplate, part, run, runTime, sync, write, writeOrHide } from './dom.js';
import { callerOf, holderOf, nameLock, nameProcess, processOf, reasonOf } from './parties.js';
import { addressOf } from './route.js';
import { guide } from './why.js';

/** @typedef {import('../responses.js').OverviewResponse} View */
/** @typedef {View['contended'][number]} Contended */
/** @typedef {import('../../operators/wait-tree.js').WaitedLock} WaitedLock */

/** @param {View} view */
export function showOverview(view) {
  showFigures(view);
  document.title = view.counts.contended.count > 0 ? '(' + figureOf(view.counts.contended) + ') Locks' : 'Locks';
  showContended(view);
  showWaits(view);
  showLong(view);
  showHot(view);
  showLeaders(view);
  showIncidents(view);
  showFindings(view);
  showProcesses(view);
}

/** @param {string} id */
const cellOf = (id) => /** @type {HTMLElement} */ (byId(id).closest('div'));

/** @param {{ count: number, atMost: number }} count exact, or only the least that it can be */
const figureOf = ({ count, atMost }) => count.toLocaleString('en') + (atMost > count ? '+' : '');

/** @param {View} view */
function showFigures({ counts, contended, waiting }) {
  write(byId('figure-waiting'), waiting.toLocaleString('en'));
  write(byId('figure-contended'), figureOf(counts.contended));
  write(byId('figure-long'), figureOf(counts.long));
  write(byId('figure-incidents'), figureOf(counts.incidents));
  const longest = byId('figure-longest');
  if (contended[0]) runTime(longest, contended[0].longest);
  else run(longest, () => write(longest, '–'));
  cellOf('figure-waiting').classList.toggle('amber', waiting > 0);
  cellOf('figure-longest').classList.toggle('amber', contended.length > 0);
  cellOf('figure-incidents').classList.toggle('red', counts.incidents.count > 0);
}

/** @param {View} view */
function showContended({ contended, moreContended }) {
  byId('contended-empty').hidden = contended.length > 0;
  byId('contended-table').hidden = contended.length === 0;
  const longest = contended[0]?.longest ?? 1;
  sync(
    byId('contended-rows'),
    contended,
    ({ key }) => key,
    () => fromTemplate('contended-row'),
    (row, lock) => {
      const { key, kind, holder, callers, processes } = lock;
      nameLock(row, key);
      writeOrHide(part(row, 'kind'), kind === undefined || kind === 'exclusive' ? '' : kind);
      write(part(row, 'who'), holder ? holderOf(holder) : 'not known yet');
      part(row, 'process').hidden = !holder;
      if (holder) nameProcess(row, holder);
      part(row, 'held').hidden = holder?.heldFor === undefined;
      if (holder?.heldFor !== undefined) runTime(part(row, 'held'), holder.heldFor, 1, 'for ');
      showChips(part(row, 'chips'), lock);
      runTime(part(row, 'longest'), lock.longest);
      fill(part(row, 'gauge'), lock.longest / longest);
      write(
        part(row, 'callers'),
        counted(callers, 'caller') + (processes > 1 ? ' in ' + processes.toLocaleString('en') + ' processes' : ''),
      );
    },
  );
  writeOrHide(
    byId('contended-more'),
    moreContended > 0 ? counted(moreContended, 'more lock') + ' with shorter waits' : '',
  );
}

/** @param {HTMLElement} list @param {Contended} lock */
function showChips(list, { key, waiters, processes }) {
  sync(
    list,
    [...waiters, undefined],
    (waiter) => waiter?.client ?? '',
    () => fromTemplate('chip'),
    (chip, waiter, index) => {
      if (waiter) {
        write(part(chip, 'place'), String(index + 1));
        nameProcess(chip, waiter);
        writeOrHide(part(chip, 'times'), waiter.callers > 1 ? '× ' + waiter.callers.toLocaleString('en') : '');
        return;
      }
      const more = processes - waiters.length;
      chip.hidden = more <= 0;
      part(chip, 'place').hidden = true;
      part(chip, 'times').hidden = true;
      part(chip, 'process').setAttribute('href', addressOf('list', 'waiters/' + key));
      write(part(chip, 'where'), counted(more, 'more process', 'more processes'));
    },
  );
}

/** @param {View} view */
function showWaits({ waits: { roots, deadlocks } }) {
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
  guide(byId('waits-next'), 'stuck');
  showLocks(byId('waits-roots'), chains);
}

/** @param {HTMLElement} list @param {readonly WaitedLock[]} locks */
function showLocks(list, locks) {
  sync(
    list,
    locks,
    ({ key }) => key,
    () => fromTemplate('tree-lock'),
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
          nameProcess(waiterItem, waiter);
          write(part(waiterItem, 'callers'), callers > 1 ? counted(callers, 'caller') : '');
          runTime(part(waiterItem, 'longest'), longest, 1, 'waits ');
          part(waiterItem, 'blocks').hidden = blocks.length === 0;
          showLocks(part(waiterItem, 'blocks'), blocks);
        },
      );
    },
  );
}

/** @param {View} view */
function showLong({ long, moreLong }) {
  byId('long-none').hidden = long.length > 0;
  guide(byId('long-next'), long.length > 0 ? 'stuck' : undefined);
  byId('long-table').hidden = long.length === 0;
  sync(
    byId('long-rows'),
    long,
    ({ key, fencingToken }) => fencingToken + ' ' + key,
    () => fromTemplate('long-row'),
    (row, lock) => {
      nameLock(row, lock.key);
      write(part(row, 'who'), callerOf(lock));
      nameProcess(row, lock);
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

/** @param {View} view */
function showLeaders({ leaders }) {
  byId('leaders').hidden = leaders.length === 0;
  sync(
    byId('leaders-rows'),
    leaders,
    ({ key, fencingToken }) => fencingToken + ' ' + key,
    () => fromTemplate('leader-row'),
    (row, leader) => {
      nameLock(row, leader.key);
      write(part(row, 'who'), (leader.method === undefined ? '' : leader.method + ', ') + processOf(leader));
      runTime(part(row, 'held'), leader.heldFor, 1, 'for ');
    },
  );
}

/** @param {View} view */
function showIncidents({ incidents }) {
  byId('incidents-none').hidden = incidents.length > 0;
  guide(byId('incidents-next'), incidents.length > 0 ? 'lost' : undefined);
  sync(
    byId('incidents-rows'),
    incidents,
    ({ type, key, fencingToken }) => [type, fencingToken, key].join(' '),
    () => fromTemplate('incident-row'),
    (row, incident) => {
      const isForced = incident.type === 'forced';
      row.classList.toggle('forced', isForced);
      write(part(row, 'what'), reasonOf(incident));
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
      guide(part(row, 'code'), 'doctor', '#' + code.toLowerCase());
      write(part(row, 'message'), message);
      writeOrHide(part(row, 'count'), processes > 1 ? 'in ' + counted(processes, 'process', 'processes') : '');
    },
  );
}

/** @param {View} view */
function showProcesses({ processes, total, own }) {
  const quiet = 'A process tells nothing while it has no waits, no long holds and no losses.';
  write(byId('processes-hint'), own.tells ? quiet : 'This process tells the others nothing (option activity).');
  sync(
    byId('processes-rows'),
    processes,
    ({ client, pid }) => client + ' ' + pid,
    () => fromTemplate('process-row'),
    (row, process) => {
      const isOwn = process.client === own.client && process.pid === own.pid;
      nameProcess(row, process);
      part(row, 'own').hidden = !isOwn;
      write(part(row, 'held'), process.held.toLocaleString('en'));
      write(part(row, 'waiting'), process.waiting.toLocaleString('en'));
      if (isOwn) run(part(row, 'age'), () => write(part(row, 'age'), 'live'));
      else runTime(part(row, 'age'), process.age);
    },
  );
  const left = total - processes.length;
  writeOrHide(byId('processes-more'), left > 0 ? counted(left, 'more process', 'more processes') : '');
}
