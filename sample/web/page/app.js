import { byId, freeze, fromTemplate, part, sync, tick, write, writeOrHide } from '../../../lib/console/page/dom.js';
import { showSales } from './sales.js';

/** @typedef {import('../view.js').ShowView} ShowView */

/** @type {ShowView | undefined} */
let view;
/** The pace that was chosen here, until the server has it. @type {string | undefined} */
let chosen;
/** When the server was lost. @type {Date | undefined} */
let cutOff;

/** @param {string} name @param {object} [fields] */
async function act(name, fields = {}) {
  const headers = { 'content-type': 'application/json', 'x-lock-console': '1' };
  try {
    const response = await fetch('act/' + name, { method: 'POST', headers, body: JSON.stringify(fields) });
    writeOrHide(byId('notice'), response.ok ? '' : await response.text());
  } catch {
    showState();
  }
}

/** @param {ShowView} next */
function show(next) {
  view = next;
  const { told, isOpen, isBusy, came, toCome } = next;
  showPaces(next);
  showSales(next);
  write(byId('open'), isOpen ? 'A new sale' : 'Open the sale');
  enable(byId('open'), hasProcesses(next) && !isBusy);
  enable(byId('buyers'), isOpen);
  enable(byId('process'), hasProcesses(next));
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

/** @param {ShowView} view */
function introduction(view) {
  if (!hasProcesses(view)) return 'No process serves yet.';
  if (!view.isOpen) return 'The processes are ready. Open the sale, and then break something.';
  return view.isOn
    ? 'The sale is on. Stop a process, kill one, or take Redis away.'
    : 'The last ticket of the locked sale is sold.';
}

/** @param {HTMLElement} button @param {ShowView} view */
function isAllowed({ dataset: { act: name } }, { isOpen, isOn, isBusy }) {
  if (isBusy) return false;
  if (name === 'kill' || name === 'kill-redis' || name === 'start-redis' || name === 'mend') return true;
  return isOpen && isOn;
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

function showState() {
  byId('live').dataset['state'] = cutOff ? 'bad' : view ? 'live' : 'off';
  write(byId('live-text'), cutOff ? 'Cut off' : view ? 'Live' : 'Connecting');
  document.body.classList.toggle('old', cutOff !== undefined);
  if (!cutOff) return;
  const since = 'Cut off from the server since ' + cutOff.toLocaleTimeString() + '.';
  writeOrHide(byId('notice'), since + (view ? ' What you see is old.' : ''));
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

const events = new EventSource('events');
events.addEventListener('message', ({ data }) => {
  if (cutOff) writeOrHide(byId('notice'), '');
  cutOff = undefined;
  show(JSON.parse(data));
  showState();
});
events.addEventListener('error', () => {
  cutOff ??= new Date();
  freeze();
  showState();
});
setInterval(tick, 1000);
