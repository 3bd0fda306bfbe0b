import { byId, freeze, fromTemplate, part, sync, tick, write } from '../../../lib/console/page/dom.js';
import { act, follow } from './live.js';
import { showSales } from './sales.js';

/** @typedef {import('../view.js').ShowView} ShowView */

/** The pace that was chosen here, until the server has it. @type {string | undefined} */
let chosen;

/** @param {ShowView} next */
function show(next) {
  const { told, isOpen, isBusy, came, toCome } = next;
  showPaces(next);
  showSales(next);
  write(byId('open'), isOpen ? 'A new sale' : 'Open the sale');
  enable(byId('open'), hasProcesses(next) && !isBusy);
  enable(byId('buyers'), isOpen);
  enable(byId('process'), areStarted(next));
  for (const button of document.querySelectorAll('button'))
    if (button.dataset['act'] !== undefined) enable(button, isAllowed(button, next));
  const last = told.at(-1);
  byId('story').dataset['state'] = isBusy ? 'busy' : last ? 'done' : 'none';
  byId('story').dataset['told'] = String(last?.id ?? 0);
  write(byId('sentence'), last?.text || introduction(next));
  write(byId('crowd'), isOpen ? came + ' buyers came' + (toCome > 0 ? ', ' + toCome + ' on their way' : '') : '');
  const past = told.slice(0, -1).toReversed();
  byId('past').hidden = past.length === 0;
  sync(
    byId('past-rows'),
    past,
    ({ id }) => String(id),
    () => fromTemplate('past-row'),
    (row, { text }) => write(row, text),
  );
}

/** @param {ShowView} view */
const hasProcesses = ({ sales }) => sales.every(({ lanes }) => lanes.some(({ state }) => state === 'serving'));

/** Also when all of them are gone: then it takes another one. @param {ShowView} view */
const areStarted = ({ sales }) =>
  sales.every(({ lanes }) => lanes.length > 0 && lanes.every(({ state }) => state !== 'starting'));

/** @param {ShowView} view */
function introduction(view) {
  if (!hasProcesses(view)) return 'No process serves yet.';
  if (!view.isOpen) return 'The processes are ready. Open the sale, and then break something.';
  return view.isOn
    ? 'The sale is on. Stop a process, kill one, or take Redis away.'
    : 'The last ticket of the locked sale is sold.';
}

/** @param {HTMLElement} button @param {ShowView} view */
function isAllowed(button, { isOpen, isOn, isBusy, redis }) {
  const { act: name } = button.dataset;
  if (isBusy) return false;
  if (name === 'kill' || name === 'kill-redis' || name === 'start-redis' || name === 'mend') return true;
  // A process that takes no lock cannot be stopped with one.
  return isOpen && isOn && !redis.isAway && !button.closest('.lane.cut');
}

/** Not by `disabled`: the button keeps the focus. @param {HTMLElement} button @param {boolean} isEnabled */
function enable(button, isEnabled) {
  button.setAttribute('aria-disabled', String(!isEnabled));
}

/** @param {ShowView} view */
function showPaces({ pace, paces }) {
  if (chosen === pace) chosen = undefined;
  sync(
    byId('paces'),
    paces,
    ({ id }) => id,
    () => fromTemplate('pace'),
    (label, { id, title }) => {
      const input = /** @type {HTMLInputElement} */ (label.querySelector('input'));
      input.value = id;
      input.checked = id === (chosen ?? pace);
      write(part(label, 'title'), title);
    },
  );
}

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('button') : null;
  if (!button || button.getAttribute('aria-disabled') === 'true') return;
  const { act: name } = button.dataset;
  const lane = button.closest('.lane')?.getAttribute('data-id');
  void act(name ?? button.id, lane ? { lane } : {});
});
byId('paces').addEventListener('change', ({ target }) => {
  if (target instanceof HTMLInputElement) void act('pace', { pace: (chosen = target.value) });
});

follow(show, freeze);
setInterval(tick, 1000);
