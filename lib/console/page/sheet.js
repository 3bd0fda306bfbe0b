import { Refused } from './api.js';
import { byId, part, writeOrHide } from './dom.js';
import { addressOf } from './route.js';

/** @typedef {import('./route.js').Place} Place */
/** @typedef {{ view: () => import('./overview.js').View | undefined, say: (text: string) => void }} Host */

/** @type {Record<string, string>} */
const problems = {
  unavailable: 'Redis does not answer. What you see is the last answer.',
  refused: 'Redis refuses the question. The log of the server says why.',
  busy: 'Too many locks are looked at at once. The next try is under way.',
  name: 'This is not a name that a lock can have.',
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
    if (this.of === of && this.place === place) return;
    this.place = place;
    this.of = of;
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
    const { of, place } = this;
    if (of === undefined) return;
    try {
      const show = await this.read(of);
      if (this.of !== of || this.place !== place) return;
      this.notice('');
      show();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.of === of)
        this.notice(problems[error.code] ?? 'The server does not answer. What you see is the last answer.');
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
