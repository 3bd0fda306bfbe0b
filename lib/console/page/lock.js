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
import { callerOf, holderOf, processOf } from './parties.js';

/** @typedef {import('../../core/lock-info.js').LockInfo} LockInfo */
/** @typedef {LockInfo['holders'][number]} Holder */

/** Waiters that are shown. */
const most = 100;

/** @type {Record<string, string>} */
const problems = {
  unavailable: 'Redis does not answer. What you see is the last answer.',
  refused: 'Redis refuses the question. The log of the server says why.',
  busy: 'Too many locks are looked at at once. The next try is under way.',
  name: 'This is not a name that a lock can have.',
  ambiguous: 'Several locks are shown by this name. Enter the whole name.',
};

/** @type {Record<string, string>} */
const refusals = {
  changed: 'The holder has changed. Nothing was released: look again.',
  origin: 'The server refused the request, because it does not seem to come from this page.',
  actor: 'The server does not know who you are. Nothing was released.',
  reason: 'The reason is missing, or too long.',
};

/** @param {Pick<Holder, 'client' | 'fencingToken'>} holder */
const idOf = ({ client, fencingToken }) => client + ' ' + fencingToken;

/** The sheet with one lock, and the form that releases it. */
export class LockSheet {
  /** @param {{ connection: () => string | undefined, canRelease: () => boolean, leaseOf: (token: number | undefined) => number | undefined, say: (text: string) => void }} host */
  constructor(host) {
    this.host = host;
    /** @type {string | undefined} */
    this.name = undefined;
    /** Longest lease that was seen of each grant: what a full bar is. @type {Map<string, number>} */
    this.leases = new Map();
    /** @type {Holder | undefined} */
    this.condemned = undefined;
    this.sheet = /** @type {HTMLDialogElement} */ (byId('lock'));
    this.box = /** @type {HTMLDialogElement} */ (byId('release'));
    this.typed = /** @type {HTMLInputElement} */ (byId('typed'));
    this.reason = /** @type {HTMLInputElement} */ (byId('reason'));
    this.submit = /** @type {HTMLButtonElement} */ (byId('release-submit'));
    byId('lock-close').addEventListener('click', () => this.sheet.close());
    this.sheet.addEventListener('click', (event) => {
      if (event.target === this.sheet) this.sheet.close();
    });
    this.sheet.addEventListener('close', () => (this.name = undefined));
    byId('release-cancel').addEventListener('click', () => this.box.close());
    byId('release-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.release();
    });
    for (const input of [this.typed, this.reason]) input.addEventListener('input', () => this.check());
  }

  /** @param {string} name */
  open(name) {
    this.name = name;
    this.leases.clear();
    write(byId('lock-name'), name);
    this.show({ key: name, kind: undefined, limit: undefined, holders: [], waiters: [] });
    write(byId('lock-kind'), 'Asking …');
    this.sheet.showModal();
    void this.refresh();
  }

  get isOpen() {
    return this.name !== undefined;
  }

  async refresh() {
    const { name } = this;
    if (name === undefined) return;
    try {
      const info = await readLock(this.host.connection(), name);
      if (this.name !== name) return;
      writeOrHide(byId('lock-notice'), '');
      this.show(info);
    } catch (error) {
      const code = error instanceof Refused ? error.code : '';
      writeOrHide(
        byId('lock-notice'),
        problems[code] ?? 'The server does not answer. What you see is the last answer.',
      );
    }
  }

  /** @param {LockInfo} info */
  show({ kind, limit, holders, waiters }) {
    const kinds = {
      exclusive: 'Exclusive lock',
      shared: 'Shared by readers',
      permits: 'Permits, ' + limit + ' in all',
    };
    write(byId('lock-kind'), kind === undefined ? 'Free' : kinds[kind]);
    byId('holders-none').hidden = holders.length > 0;
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
    write(byId('queue-title'), waiters.length > 0 ? 'Queue, ' + waiters.length.toLocaleString('en') : 'Queue');
    byId('queue-none').hidden = waiters.length > 0;
    sync(
      byId('queue'),
      waiters.slice(0, most),
      ({ client, method, label, host, pid }) => [client, host, pid, method, label].join(' '),
      () => fromTemplate('queue-row'),
      (row, waiter, index) => {
        write(part(row, 'place'), String(index + 1));
        write(part(row, 'who'), callerOf(waiter));
        write(part(row, 'where'), processOf(waiter));
        const wanted = waiter.kind === 'permits' ? counted(waiter.permits, 'permit') : waiter.kind;
        writeOrHide(part(row, 'kind'), waiter.kind === 'exclusive' ? '' : wanted);
        part(row, 'unreachable').hidden = waiter.reachable;
        runTime(part(row, 'waited'), waiter.waited);
      },
    );
    writeOrHide(byId('queue-more'), waiters.length > most ? counted(waiters.length - most, 'more') : '');
  }

  /** @param {HTMLElement} card @param {Holder} holder */
  showHolder(card, holder) {
    const { fencingToken, leaseLeft, state, permits, trace } = holder;
    const id = (card.dataset['holder'] = idOf(holder));
    write(part(card, 'who'), holderOf(holder));
    write(part(card, 'where'), processOf(holder));
    const states = { held: '', provisional: 'not confirmed yet', kept: 'kept by minHold' };
    writeOrHide(part(card, 'state'), states[state]);
    part(card, 'held-fact').hidden = holder.heldFor === undefined;
    runTime(part(card, 'held'), holder.heldFor ?? 0);
    // Redis has the end of a lease only. Its length: as the holder told it, else the most that was seen.
    // Null stands for no end: JSON has no Infinity.
    const rest = /** @type {number | null} */ (leaseLeft) ?? Number.POSITIVE_INFINITY;
    const seen = Math.max(this.leases.get(id) ?? this.host.leaseOf(fencingToken) ?? 0, rest);
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
    part(card, 'release').hidden = !this.host.canRelease() || (fencingToken ?? 1) <= 0;
  }

  /** Asks before it releases. @param {string | undefined} id */
  condemn(id) {
    const holder = this.holders?.find((one) => idOf(one) === id);
    if (!holder || this.name === undefined) return;
    this.condemned = holder;
    write(byId('release-name'), this.name);
    write(byId('release-holder'), holderOf(holder) + ', ' + processOf(holder));
    write(byId('release-token'), holder.fencingToken === undefined ? 'none' : String(holder.fencingToken));
    writeOrHide(byId('release-notice'), '');
    this.typed.value = '';
    this.reason.value = '';
    this.check();
    this.box.showModal();
    this.typed.focus();
  }

  check() {
    // Control characters cannot be typed: as they are shown, they can.
    const isTyped = this.name !== undefined && visible(this.typed.value) === visible(this.name);
    this.submit.disabled = !isTyped || this.reason.value.trim() === '';
  }

  async release() {
    const { name, condemned } = this;
    if (name === undefined || !condemned) return;
    this.submit.disabled = true;
    const { fencingToken, client } = condemned;
    const reason = this.reason.value;
    try {
      await sendRelease({ connection: this.host.connection(), name, typed: name, fencingToken, client, reason });
      this.box.close();
      this.host.say('The lock was released.');
    } catch (error) {
      const { status, code } = error instanceof Refused ? error : { status: 0, code: '' };
      const other =
        status === 401 || status === 403
          ? 'You may not release locks.'
          : 'It is not known whether it worked: look again.';
      writeOrHide(byId('release-notice'), refusals[code] ?? problems[code] ?? other);
      this.check();
    }
    await this.refresh();
  }
}
