import { fromTemplate, part, sync, write, writeOrHide } from '../../../lib/console/page/dom.js';
import { markLine, showCode } from './code.js';

/** @typedef {import('../gallery.js').Shown} Shown */
/** @typedef {import('../exhibit.js').Step} Step */

/** Milliseconds for which a step is shown while the exhibit plays. */
const pace = 1800;

/** The words for the state of a caller. */
const words = {
  asks: 'asks in vain',
  waits: 'waits in the queue',
  works: 'works in the lock',
  lost: 'knows that it lost the lock',
  stopped: 'stands still',
  killed: 'killed',
  done: 'done',
  refused: 'refused',
};

/** One side of an exhibit: its code, and its run step by step. */
export class Side {
  /** Of the step that is shown. */
  index = 0;
  /** @type {Shown | undefined} */
  shown;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  timer;
  isRunning = false;

  /** @param {string} heading @param {(side: Side) => void} used called when a person uses this side */
  constructor(heading, used) {
    this.element = fromTemplate('side');
    this.heading = heading;
    write(this.part('heading'), heading);
    this.part('previous').addEventListener('click', () => this.step(-1));
    this.part('next').addEventListener('click', () => this.step(1));
    this.part('play').addEventListener('click', () => (this.timer ? this.stop() : this.play()));
    this.element.addEventListener('click', () => used(this));
    this.element.addEventListener('focusin', () => used(this));
  }

  /** @param {string} name */
  part(name) {
    return part(this.element, name);
  }

  get last() {
    return (this.shown?.steps.length ?? 0) - 1;
  }

  /** Another exhibit. */
  reset() {
    this.stop();
    this.index = 0;
  }

  /**
   * @param {Shown} shown
   * @param {boolean} isRunning a run that goes on is followed
   */
  show(shown, isRunning) {
    this.shown = shown;
    if (isRunning) this.index = Math.max(0, this.last);
    this.isRunning = isRunning;
    this.render();
  }

  /** @param {number} by */
  step(by) {
    this.stop();
    this.go(this.index + by);
  }

  /** @param {number} index */
  go(index) {
    this.index = Math.min(Math.max(0, this.last), Math.max(0, index));
    this.render();
  }

  play() {
    if (this.index >= this.last) this.go(0);
    this.timer = setInterval(() => {
      this.go(this.index + 1);
      if (this.index >= this.last) this.stop();
    }, pace);
    this.render();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = undefined;
    if (this.shown) this.render();
  }

  render() {
    const { steps, verdict, error, code } = /** @type {Shown} */ (this.shown);
    const step = steps[this.index];
    const { element } = this;
    element.dataset['verdict'] = verdict ? (verdict.broken ? 'broken' : 'held') : 'none';
    const result = verdict ? (verdict.broken ? 'Broken: ' : 'Held: ') + verdict.text : '';
    write(this.part('verdict'), result || (error ? 'No verdict' : this.isRunning ? 'Runs now' : 'Not run yet'));
    showCode(this.part('code'), code);
    markLine(this.part('code'), step?.at, step?.mood ?? '');
    this.part('run').hidden = step === undefined;
    writeOrHide(
      this.part('none'),
      error ?? (step ? '' : this.isRunning ? 'The processes start …' : 'It runs in a moment.'),
    );
    if (!step) return;
    write(this.part('caption'), this.heading + ': who is where in each step');
    this.showTimeline(steps);
    const now = this.part('text');
    now.dataset['mood'] = step.mood ?? '';
    write(now, step.text);
    this.showFacts(step);
    write(this.part('position'), 'Step ' + (this.index + 1) + ' of ' + steps.length);
    write(this.part('play'), this.timer ? 'Stop' : this.index >= this.last ? 'Play again' : 'Play');
    this.part('previous').setAttribute('aria-disabled', String(this.index === 0));
    this.part('next').setAttribute('aria-disabled', String(this.index >= this.last));
  }

  /** A row for each caller, a column for each step. @param {readonly Step[]} steps */
  showTimeline(steps) {
    sync(
      this.part('numbers'),
      [-1, ...steps.keys()],
      String,
      (index) => this.createNumber(index),
      (cell, index) => {
        const button = cell.querySelector('button');
        if (!button) return;
        button.setAttribute('aria-current', index === this.index ? 'step' : 'false');
        button.dataset['mood'] = steps[index]?.mood ?? '';
        cell.classList.toggle('current', index === this.index);
      },
    );
    const names = [...new Set(steps.flatMap(({ lanes }) => lanes.map(({ name }) => name)))];
    sync(
      this.part('lanes'),
      names,
      (name) => name,
      () => document.createElement('tr'),
      (row, name) => this.showLane(row, name, steps),
    );
  }

  /** @param {number} index */
  createNumber(index) {
    const cell = document.createElement(index < 0 ? 'td' : 'th');
    if (index < 0) return cell;
    cell.setAttribute('scope', 'col');
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = String(index + 1);
    button.setAttribute('aria-label', 'Step ' + (index + 1));
    button.addEventListener('click', () => {
      this.stop();
      this.go(index);
    });
    cell.append(button);
    return cell;
  }

  /** @param {HTMLElement} row @param {string} name @param {readonly Step[]} steps */
  showLane(row, name, steps) {
    /** @param {Step | undefined} step */
    const laneOf = (step) => step?.lanes.find((lane) => lane.name === name);
    const pid = steps.map((step) => laneOf(step)).find(Boolean)?.pid;
    sync(
      row,
      [-1, ...steps.keys()],
      String,
      (index) => document.createElement(index < 0 ? 'th' : 'td'),
      (cell, index) => {
        if (index < 0) {
          cell.setAttribute('scope', 'row');
          if (cell.childElementCount === 0) cell.append(document.createElement('b'), document.createElement('small'));
          const [title, process] = cell.children;
          write(/** @type {HTMLElement} */ (title), name);
          write(/** @type {HTMLElement} */ (process), 'pid ' + pid);
          return;
        }
        const state = laneOf(steps[index])?.state;
        const before = laneOf(steps[index - 1])?.state;
        cell.className = 'cell';
        cell.classList.toggle('current', index === this.index);
        cell.classList.toggle('future', index > this.index);
        cell.classList.toggle('begins', state !== before);
        cell.dataset['state'] = state ? lookOf(state, steps[index]) : '';
        cell.title = state ? words[state] : '';
        write(cell, state ? words[state] : '');
      },
    );
  }

  /** @param {Step} step */
  showFacts(step) {
    const { lanes, seen } = step;
    const callers = lanes.map(({ name, state, error }) => ({
      name,
      text: words[state] + (error ? ': ' + error : ''),
      state: lookOf(state, step),
    }));
    const facts = seen.map((fact) => {
      const end = fact.indexOf(':');
      return { name: fact.slice(0, end), text: fact.slice(end + 2), state: 'fact' };
    });
    sync(
      this.part('facts'),
      [...callers, ...facts],
      ({ name, state }) => (state === 'fact' ? 'fact ' : 'lane ') + name,
      () => {
        const item = document.createElement('li');
        item.append(document.createElement('b'), document.createElement('span'));
        return item;
      },
      (item, { name, text, state }) => {
        item.dataset['state'] = state;
        write(/** @type {HTMLElement} */ (item.firstElementChild), name);
        write(/** @type {HTMLElement} */ (item.lastElementChild), text);
      },
    );
  }
}

/**
 * The colour of a state. Two in a lock that is for one, and neither knows: both are red.
 * @param {Step['lanes'][0]['state']} state
 * @param {Step | undefined} step
 */
function lookOf(state, step) {
  const working = step?.lanes.filter((lane) => lane.state === 'works').length ?? 0;
  return state === 'works' && step?.mood === 'bad' && working > 1 ? 'broken' : state;
}
