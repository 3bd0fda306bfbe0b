import { readLock, Refused, sendRelease } from './api.js';
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
import { callerOf, holderOf, nameLock, nameProcess, processOf } from './parties.js';
import { addressOf, shownConnection } from './route.js';
import { Sheet } from './sheet.js';
import { causeOf, guide, showCause } from './why.js';

/** @typedef {import('../../core/lock-info.js').LockInfo} LockInfo */
/** @typedef {LockInfo['holders'][number]} Holder */

/** Waiters that are shown. */
const most = 100;

/** @type {Record<string, string>} */
const refusals = {
  changed: 'The holder has changed. Nothing was released: look again.',
  origin: 'The server refused the request, because it does not seem to come from this page.',
  actor: 'The server does not know who you are. Nothing was released.',
  reason: 'The reason is missing, or too long.',
  signin: 'You are signed out. Nothing was released: reload the page.',
  forbidden: 'You may not release locks.',
  throttled: 'The server limits how often you may ask. Nothing was released.',
};

/** @param {Pick<Holder, 'client' | 'fencingToken'>} holder */
const idOf = ({ client, fencingToken }) => client + ' ' + fencingToken;

/** The sheet with one lock, and the form that releases it. */
export class LockSheet extends Sheet {
  /** @param {import('./sheet.js').Host} host */
  constructor(host) {
    super('lock', host);
    /** Longest lease that was seen of each grant: what a full bar is. @type {Map<string, number>} */
    this.leases = new Map();
    /** @type {Holder | undefined} */
    this.condemned = undefined;
    this.form = /** @type {HTMLDialogElement} */ (byId('release'));
    this.typed = /** @type {HTMLInputElement} */ (byId('typed'));
    this.reason = /** @type {HTMLInputElement} */ (byId('reason'));
    this.submit = /** @type {HTMLButtonElement} */ (byId('release-submit'));
    guide(byId('release-next'), 'force');
    byId('release-cancel').addEventListener('click', () => this.form.close());
    byId('release-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.release();
    });
    for (const input of [this.typed, this.reason]) input.addEventListener('input', () => this.check());
  }

  /** @override */
  begin() {
    super.begin();
    this.form.close();
    this.leases.clear();
    write(byId('lock-name'), this.of ?? '');
    this.show({ key: this.of ?? '', kind: undefined, limit: undefined, holders: [], waiters: [] });
    write(byId('lock-kind'), 'Asking …');
    for (const id of ['holders-none', 'queue-none']) byId(id).hidden = true;
  }

  /** @override @param {string} name */
  async read(name) {
    const info = await readLock(shownConnection(), name);
    return () => this.show(info);
  }

  /** @param {LockInfo} info */
  show(info) {
    const { kind, limit, holders, waiters } = info;
    const kinds = {
      exclusive: 'Exclusive lock',
      shared: 'Shared by readers',
      permits: 'Permits, ' + limit + ' in all',
    };
    write(byId('lock-kind'), kind === undefined ? 'Not held' : kinds[kind]);
    showCause(byId('lock-cause'), causeOf(info, this.host.view()), nameLock);
    guide(part(byId('lock-cause'), 'next'), 'stuck');
    const isUnknown = holders.length === 0 && waiters.length === 0;
    const none = isUnknown ? 'No one. No lock of this name is held or waited for.' : 'No one.';
    writeOrHide(byId('holders-none'), holders.length === 0 ? none : '');
    sync(
      byId('holders'),
      holders,
      idOf,
      () => {
        const card = fromTemplate('holder-card');
        part(card, 'release').addEventListener('click', () => this.condemn(card.dataset['holder']));
        return card;
      },
      (card, holder) => this.showHolder(card, holder),
    );
    this.holders = holders;
    this.showQueueTitle(info);
    byId('queue-none').hidden = waiters.length > 0;
    sync(
      byId('queue'),
      waiters.slice(0, most),
      ({ client, method, label, host, pid }) => [client, host, pid, method, label].join(' '),
      () => fromTemplate('queue-row'),
      (row, waiter, index) => {
        write(part(row, 'place'), String(index + 1));
        write(part(row, 'who'), callerOf(waiter));
        nameProcess(row, waiter);
        const wanted = waiter.kind === 'permits' ? counted(waiter.permits, 'permit') : waiter.kind;
        writeOrHide(part(row, 'kind'), waiter.kind === 'exclusive' ? '' : wanted);
        part(row, 'unreachable').hidden = waiter.reachable;
        runTime(part(row, 'waited'), waiter.waited);
      },
    );
    writeOrHide(byId('queue-more'), waiters.length > most ? counted(waiters.length - most, 'more') : '');
  }

  /** In Redis the callers of one process are one waiter; each process tells how many it has. @param {LockInfo} info */
  showQueueTitle({ key, waiters }) {
    const told = this.host.view()?.contended.find((lock) => lock.key === key);
    const callers = Math.max(told?.callers ?? 0, waiters.length);
    const processes = Math.max(told?.processes ?? 0, new Set(waiters.map(({ client }) => client)).size);
    const where = processes > 1 ? ' in ' + processes.toLocaleString('en') + ' processes' : '';
    write(byId('queue-title'), callers > 0 ? 'Queue, ' + counted(callers, 'caller') + where : 'Queue');
    const all = byId('queue-all');
    all.hidden = processes < 2;
    all.setAttribute('href', addressOf('list', 'waiters/' + key));
  }

  /** @param {HTMLElement} card @param {Holder} holder */
  showHolder(card, holder) {
    const { fencingToken, leaseLeft, state, permits, trace } = holder;
    const id = (card.dataset['holder'] = idOf(holder));
    write(part(card, 'who'), holderOf(holder));
    nameProcess(card, holder);
    const states = { held: '', provisional: 'not confirmed yet', kept: 'kept by minHold' };
    writeOrHide(part(card, 'state'), states[state]);
    part(card, 'held-fact').hidden = holder.heldFor === undefined;
    runTime(part(card, 'held'), holder.heldFor ?? 0);
    // Redis has the end of a lease only. Its length: as the holder told it, else the most that was seen.
    // Null stands for no end: JSON has no Infinity.
    const rest = /** @type {number | null} */ (leaseLeft) ?? Number.POSITIVE_INFINITY;
    const seen = Math.max(this.leases.get(id) ?? this.leaseOf(fencingToken) ?? 0, rest);
    this.leases.set(id, seen);
    const since = performance.now();
    run(part(card, 'left'), () => {
      const left = Math.max(0, rest - (performance.now() - since));
      write(part(card, 'left'), duration(left));
      fill(part(card, 'bar'), left === seen ? 1 : left / seen);
      part(card, 'bar').classList.toggle('low', left < seen / 6);
    });
    part(card, 'token-fact').hidden = fencingToken === undefined;
    write(part(card, 'token'), String(fencingToken));
    part(card, 'permits-fact').hidden = permits === 1;
    write(part(card, 'permits'), String(permits));
    part(card, 'trace-fact').hidden = trace === undefined;
    write(part(card, 'trace'), trace ?? '');
    part(card, 'release').hidden = !this.host.view()?.canRelease || (fencingToken ?? 1) <= 0;
  }

  /** Its length as the holder told it. @param {number | undefined} token */
  leaseOf(token) {
    const { long = [], own } = this.host.view() ?? {};
    return [...long, ...(own?.holds.first ?? [])].find(({ fencingToken }) => fencingToken === token)?.lease;
  }

  /** Asks before it releases. @param {string | undefined} id */
  condemn(id) {
    const holder = this.holders?.find((one) => idOf(one) === id);
    if (!holder || this.of === undefined) return;
    this.condemned = holder;
    write(byId('release-name'), this.of);
    write(byId('release-holder'), holderOf(holder) + ', ' + processOf(holder));
    write(byId('release-token'), holder.fencingToken === undefined ? 'none' : String(holder.fencingToken));
    writeOrHide(byId('release-notice'), '');
    this.typed.value = '';
    this.reason.value = '';
    this.check();
    this.form.showModal();
    this.typed.focus();
  }

  check() {
    // Control characters cannot be typed: as they are shown, they can.
    const isTyped = this.of !== undefined && visible(this.typed.value) === visible(this.of);
    this.submit.disabled = !isTyped || this.reason.value.trim() === '';
  }

  async release() {
    const { of: name, connection, condemned } = this;
    if (name === undefined || !condemned) return;
    this.submit.disabled = true;
    const { fencingToken, client } = condemned;
    const reason = this.reason.value;
    try {
      await sendRelease({ connection, name, typed: name, fencingToken, client, reason });
      this.form.close();
      this.host.say('The lock was released.');
    } catch (error) {
      const { status, code } = error instanceof Refused ? error : { status: 0, code: '' };
      const isRefused = status >= 400 && status < 500;
      const other = isRefused
        ? 'The server refused the release (' + status + '). Nothing was released.'
        : 'It is not known whether it worked: look again.';
      writeOrHide(byId('release-notice'), refusals[code] ?? other);
      this.check();
    }
    await this.refresh();
  }
}
