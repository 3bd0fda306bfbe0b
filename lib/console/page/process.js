import { readProcess, Refused } from './api.js';
import { byId, counted, duration, fromTemplate, part, runTime, sync, textOf, write, writeOrHide } from './dom.js';
import { callerOf, holderOf, nameLock, processOf, reasonOf } from './parties.js';
import { addressOf, shownConnection } from './route.js';
import { Sheet } from './sheet.js';

/** @typedef {import('../responses.js').ProcessResponse} ProcessResponse */
/** @typedef {import('../responses.js').ProcessView} ProcessView */

/** What is wrong with a connection, as `health()` says it. @type {Record<string, string>} */
const troubleTexts = {
  unavailable: 'Redis does not answer',
  refused: 'Redis refuses its commands',
  server_away: 'a server is away',
  no_messages: 'it gets no messages, so its callers wait longer',
  renewal_overdue: 'a lease was not renewed in time',
  lock_lost: 'a lock was lost',
  findings: 'the doctor has findings',
};

/** The sheet with what one process, or all of one host, hold and wait for. */
export class ProcessSheet extends Sheet {
  /** @param {import('./sheet.js').Host} host */
  constructor(host) {
    super('process', host);
  }

  /** @override */
  begin() {
    super.begin();
    write(byId('process-name'), this.of ?? '');
    write(byId('process-count'), 'Asking …');
    this.show([]);
    writeOrHide(byId('process-none'), '');
  }

  /** @override @param {string} id */
  async read(id) {
    /** @type {ProcessResponse | undefined} */
    let answer;
    try {
      answer = await readProcess(shownConnection(), id);
    } catch (error) {
      if (!(error instanceof Refused && error.code === 'process')) throw error;
    }
    return () => this.show(answer?.processes ?? []);
  }

  /** @param {readonly ProcessView[]} processes */
  show(processes) {
    const [first] = processes;
    const isOne = processes.length === 1;
    if (first) write(byId('process-name'), isOne ? processOf(first) : (this.of ?? ''));
    write(byId('process-count'), isOne || !first ? 'Process' : counted(processes.length, 'process', 'processes'));
    writeOrHide(
      byId('process-none'),
      first ? '' : 'No process of this name holds a lock for long, waits for one, or is waited for.',
    );
    sync(
      byId('process-views'),
      processes,
      ({ client }) => client,
      () => fromTemplate('process-view'),
      (element, process) => showProcess(element, process, isOne),
    );
  }
}

/** @param {HTMLElement} element @param {ProcessView} process @param {boolean} isOne whether its name is in the title */
function showProcess(element, process, isOne) {
  const { client, isOwn, age, held, waiting, holds, moreHolds, waits, moreWaits } = process;
  writeOrHide(part(element, 'name'), isOne ? '' : processOf(process));
  const told = part(element, 'told');
  if (isOwn) write(told, 'This process answers you: what you see is live.');
  else if (age === undefined) write(told, 'It tells nothing. What you see is what others tell of it.');
  else runTime(told, age, 1, 'It told this before ');
  const wrong = (process.problems ?? []).map((problem) => textOf(troubleTexts, problem) ?? problem);
  writeOrHide(part(element, 'problems'), wrong.length > 0 ? 'Not well: ' + wrong.join('; ') + '.' : '');
  write(part(element, 'holds-title'), 'Holds' + (held === undefined ? '' : ', ' + held.toLocaleString('en')));
  writeOrHide(part(element, 'holds-none'), held === 0 ? 'Nothing.' : '');
  sync(
    part(element, 'holds'),
    holds,
    ({ key, fencingToken }) => fencingToken + ' ' + key,
    () => fromTemplate('sheet-row'),
    (row, hold) => {
      nameLock(row, hold.key);
      if (hold.heldFor === undefined) write(part(row, 'amount'), '');
      else runTime(part(row, 'amount'), hold.heldFor, 1, 'for ');
      write(part(row, 'who'), callerOf(hold));
      const facts = [
        hold.isElection ? 'leads' : '',
        hold.lease === undefined ? '' : 'lease ' + duration(hold.lease),
        hold.callers > 0 ? counted(hold.callers, 'caller') + ' waiting' : '',
      ];
      write(part(row, 'more'), facts.filter((fact) => fact !== '').join(', '));
      row.classList.toggle('amber', hold.callers > 0);
    },
  );
  const all = /** @type {HTMLAnchorElement} */ (part(element, 'holds-more'));
  writeOrHide(all, moreHolds > 0 ? counted(moreHolds, 'more lock') : '');
  all.setAttribute('href', addressOf('list', 'holds/' + client));
  write(part(element, 'waits-title'), 'Waits for' + (waiting === undefined ? '' : ', ' + counted(waiting, 'caller')));
  writeOrHide(part(element, 'waits-none'), waiting === 0 ? 'Nothing.' : '');
  sync(
    part(element, 'waits'),
    waits,
    ({ key }) => key,
    () => fromTemplate('sheet-row'),
    (row, wait) => {
      nameLock(row, wait.key);
      runTime(part(row, 'amount'), wait.longest, 1, 'for ');
      const caller = wait.method === undefined && wait.label === undefined ? '' : callerOf(wait);
      write(part(row, 'who'), caller);
      const facts = [
        wait.callers > 1 ? counted(wait.callers, 'caller') : '',
        wait.holder ? 'held by ' + holderOf(wait.holder) + ', ' + processOf(wait.holder) : '',
        wait.inside.length > 0 ? 'holds ' + wait.inside.map(({ key }) => key).join(', ') + ' while it waits' : '',
      ];
      write(part(row, 'more'), facts.filter((fact) => fact !== '').join(', '));
    },
  );
  writeOrHide(part(element, 'waits-more'), moreWaits > 0 ? counted(moreWaits, 'more name') : '');
  const troubles = [
    ...process.incidents.map(
      (incident) => reasonOf(incident) + ', ' + duration(incident.ago) + ' ago: ' + incident.key,
    ),
    ...process.findings.map(({ message }) => message),
  ];
  part(element, 'troubles-part').hidden = troubles.length === 0;
  sync(
    part(element, 'troubles'),
    troubles,
    (text) => text,
    () => fromTemplate('text-row'),
    (row, text) => write(part(row, 'text'), text),
  );
}
