import { Refused } from './api.js';
import { byId, part, writeOrHide } from './dom.js';
import { endOf } from './ends.js';
import { addressOf, shownConnection } from './route.js';

/** @typedef {import('./route.js').Place} Place */
/** @typedef {{ view: () => import('./overview.js').View | undefined, say: (text: string) => void }} Host */

/** @type {Record<string, string>} */
const problems = {
  unavailable: 'Redis does not answer. What you see is the last answer.',
  refused: 'Redis refuses the question. The log of the server says why.',
  busy: 'Too many locks are looked at at once. The next try is under way.',
  name: 'This is not a name that a lock can have.',
  list: 'There is no list of this name.',
  process: 'No process of this name is known.',
  ambiguous: 'Several locks are shown by this name. Enter the whole name.',
};

/** What an address shows over the board. */
export class Sheet {
  /** @param {string} id @param {Host} host */
  constructor(id, host) {
    this.host = host;
    this.box = /** @type {HTMLDialogElement} */ (byId(id));
    /** What is shown; undefined while it is closed. @type {string | undefined} */
    this.of = undefined;
    /** @type {Place} */
    this.place = 'board';
    /** @type {string | undefined} */
    this.connection = undefined;
    part(this.box, 'close').addEventListener('click', () => this.box.close());
    this.box.addEventListener('click', (event) => {
      if (event.target === this.box) this.box.close();
    });
    // Escape closes a dialog by itself.
    this.box.addEventListener('close', () => {
      if (this.of === undefined) return;
      this.of = undefined;
      location.hash = addressOf('board');
    });
  }

  /** @param {Place} place @param {string} of */
  open(place, of) {
    const connection = shownConnection();
    if (this.of === of && this.place === place && this.connection === connection) return;
    this.place = place;
    this.of = of;
    this.connection = connection;
    this.begin();
    if (!this.box.open) this.box.showModal();
    void this.refresh();
  }

  close() {
    this.of = undefined;
    if (this.box.open) this.box.close();
  }

  /** Shows what is known before the first answer. */
  begin() {
    this.notice('');
  }

  /** Asks the server, and shows its answer unless another view is open by then. */
  async refresh() {
    const { of, place, connection } = this;
    if (of === undefined) return;
    const isShown = () => this.of === of && this.place === place && this.connection === connection;
    try {
      const show = await this.read(of);
      if (!isShown()) return;
      this.notice('');
      show();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (isShown()) this.notice(problems[error.code] ?? endOf(error)[1]);
    }
  }

  /** @param {string} _of @returns {Promise<() => void>} shows the answer */
  async read(_of) {
    return () => undefined;
  }

  /** @param {string} text */
  notice(text) {
    writeOrHide(part(this.box, 'notice'), text);
  }
}
