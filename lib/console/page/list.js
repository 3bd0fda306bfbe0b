import { findLocks, readList } from './api.js';
import {
  byId,
  counted,
  duration,
  fromTemplate,
  part,
  runTime,
  sync,
  textOf,
  visible,
  write,
  writeOrHide,
} from './dom.js';
import { callerOf, holderOf, nameLock, nameProcess, processOf, reasonOf } from './parties.js';
import { addressOf, shownConnection } from './route.js';
import { Sheet } from './sheet.js';

/** @typedef {import('./parties.js').Party} Party */
/**
 * @typedef {object} Line one entry of any list
 * @property {string | undefined} [lock]
 * @property {string | undefined} [text] of an entry that is no lock and no process
 * @property {Party | undefined} [process]
 * @property {string} [who]
 * @property {string} [more]
 * @property {string | number} [amount] a text, or a time that grows
 */

/** @type {Record<string, string>} */
const titles = {
  contended: 'Locks that callers wait for',
  long: 'Locks that are held for long',
  leaders: 'Leaders',
  hot: 'Hot names',
  incidents: 'Lost and forced',
  findings: 'Findings of the doctor',
  processes: 'Processes',
  waiters: 'Processes that wait for',
  holds: 'Locks that it holds',
};

/** @type {Record<string, (item: any) => Line>} */
const lines = {
  contended: ({ key, callers, processes, longest, holder }) => ({
    lock: key,
    amount: longest,
    who: counted(callers, 'caller') + ' in ' + counted(processes, 'process', 'processes'),
    more: holder ? 'held by ' + holderOf(holder) + ', ' + processOf(holder) : '',
  }),
  long: (held) => ({ lock: held.key, amount: held.heldFor, who: callerOf(held), process: held }),
  leaders: (held) => ({ lock: held.key, amount: held.heldFor, who: held.method ?? '', process: held }),
  hot: ({ name, waited, most }) => ({
    text: name,
    amount: duration(waited),
    more: 'up to ' + counted(most, 'caller') + ' at once',
  }),
  incidents: (incident) => ({
    lock: incident.key,
    amount: incident.ago,
    who: reasonOf(incident),
    process: incident,
    more: [incident.actor, incident.reason].filter((text) => text !== undefined).join(': '),
  }),
  findings: ({ code, message, processes }) => ({
    text: message,
    who: code,
    more: 'in ' + counted(processes, 'process', 'processes'),
  }),
  processes: (process) => ({
    process,
    more: counted(process.held, 'lock') + ' held, ' + counted(process.waiting, 'caller') + ' waiting',
  }),
  waiters: (waiter) => ({
    process: waiter,
    amount: waiter.longest,
    who: callerOf(waiter),
    more: counted(waiter.callers, 'caller'),
  }),
  holds: (held) => ({ lock: held.key, amount: held.heldFor, who: callerOf(held) }),
};

/** The sheet with all entries of a list, or all locks whose names begin with a text. */
export class ListSheet extends Sheet {
  /** @param {import('./sheet.js').Host} host */
  constructor(host) {
    super('list', host);
    /** How many entries a person wants to see. */
    this.wanted = 0;
    byId('list-more').addEventListener('click', () => {
      this.wanted += 100;
      void this.refresh();
    });
  }

  /** @override */
  begin() {
    super.begin();
    this.wanted = 100;
    const { list, of } = this.request;
    write(byId('list-title'), list === 'find' ? '“' + of + '”' : [textOf(titles, list) ?? list, of].join(' '));
    write(byId('list-count'), 'Asking …');
    this.show([], '', '', false);
  }

  /** What the address asks for: `contended`, or `waiters/<lock>`. */
  get request() {
    const { of = '', place } = this;
    if (place === 'find') return { list: 'find', of };
    const slash = of.indexOf('/');
    return slash < 0 ? { list: of, of: '' } : { list: of.slice(0, slash), of: of.slice(slash + 1) };
  }

  /** @override */
  async read() {
    const { list, of } = this.request;
    return list === 'find' ? this.find(of) : this.page(list, of);
  }

  /** @param {string} text */
  async find(text) {
    const { names, isWhole, near } = await findLocks(shownConnection(), text);
    return () => {
      // The whole name of the only one: no list is needed.
      if (names.length === 1 && names[0]?.key === text) return location.replace(addressOf('lock', text));
      const found = names.length > 0 ? names : near;
      const none = isWhole
        ? 'No lock whose name begins so is held or waited for.'
        : 'No lock whose name begins so was found, but not all names could be looked at.';
      write(
        byId('list-count'),
        names.length === 0 ? 'Found none' : counted(names.length, 'lock') + (isWhole ? '' : ', and more'),
      );
      const entries = found.map(({ key, callers }) => ({
        lock: key,
        who: callers > 0 ? counted(callers, 'caller') + ' waiting' : '',
      }));
      const exact = { lock: text, who: 'Look at the lock of exactly this name' };
      this.show(
        names.length > 0 ? entries : [...entries, exact],
        names.length > 0 ? '' : near.length > 0 ? none + ' These look like it:' : none,
        names.length > 0 && !isWhole ? 'Not all are shown: enter more of the name.' : '',
        false,
      );
    };
  }

  /** @param {string} list @param {string} of */
  async page(list, of) {
    /** @type {unknown[]} */
    const items = [];
    let total = 0;
    let more = 0;
    const connection = shownConnection();
    do {
      const answer = await readList(connection, list, of, items.length);
      ({ total, more } = answer);
      if (answer.items.length === 0) break;
      items.push(...answer.items);
    } while (items.length < Math.min(total, this.wanted));
    return () => {
      const toLine = textOf(lines, list) ?? ((item) => ({ text: JSON.stringify(item) }));
      write(byId('list-count'), total.toLocaleString('en') + (more > 0 ? ' or more' : ''));
      const left =
        more > 0
          ? 'Processes count up to ' + counted(more, 'more entry', 'more entries') + ' that they do not name.'
          : '';
      this.show(items.map(toLine), items.length === 0 ? 'None.' : '', left, items.length < total);
    };
  }

  /** @param {readonly Line[]} entries @param {string} none @param {string} left @param {boolean} hasMore */
  show(entries, none, left, hasMore) {
    writeOrHide(byId('list-none'), none);
    writeOrHide(byId('list-left'), left);
    byId('list-more').hidden = !hasMore;
    sync(
      byId('list-rows'),
      entries,
      ({ lock, text, process, who }) => [lock, text, process?.client, who].join('\n'),
      () => fromTemplate('sheet-row'),
      (row, { lock, text, process, who = '', more = '', amount = '' }) => {
        part(row, 'key').hidden = lock === undefined;
        if (lock !== undefined) nameLock(row, lock);
        writeOrHide(part(row, 'text'), text ?? '');
        part(row, 'process').hidden = process === undefined;
        if (process) nameProcess(row, process);
        write(part(row, 'who'), who);
        write(part(row, 'more'), more);
        if (typeof amount === 'number') runTime(part(row, 'amount'), amount);
        else write(part(row, 'amount'), visible(amount));
      },
    );
  }
}
