import { byId, write, writeOrHide } from '../../../lib/console/page/dom.js';

/** What a page of a PageServer shows of its connection, in the elements `live`, `live-text` and `notice`. */

/** When the server was lost. @type {Date | undefined} */
let cutOff;
let hasState = false;

function showConnection() {
  byId('live').dataset['state'] = cutOff ? 'bad' : hasState ? 'live' : 'off';
  write(byId('live-text'), cutOff ? 'Cut off' : hasState ? 'Live' : 'Connecting');
  document.body.classList.toggle('old', cutOff !== undefined);
  if (!cutOff) return;
  const since = 'Cut off from the server since ' + cutOff.toLocaleTimeString() + '.';
  writeOrHide(byId('notice'), since + (hasState ? ' What you see is old.' : ''));
}

/**
 * Shows each state that the server sends.
 * @param {(state: any) => void} show
 * @param {() => void} [lost] called when the connection is gone; it comes back by itself
 */
export function follow(show, lost) {
  const events = new EventSource('events');
  events.addEventListener('message', ({ data }) => {
    if (cutOff) writeOrHide(byId('notice'), '');
    cutOff = undefined;
    hasState = true;
    show(JSON.parse(data));
    showConnection();
  });
  events.addEventListener('error', () => {
    cutOff ??= new Date();
    lost?.();
    showConnection();
  });
}

/** What a button does at the server. A refusal is shown as its text. @param {string} name @param {object} [fields] */
export async function act(name, fields = {}) {
  const headers = { 'content-type': 'application/json', 'x-lock-console': '1' };
  try {
    const response = await fetch('act/' + name, { method: 'POST', headers, body: JSON.stringify(fields) });
    writeOrHide(byId('notice'), response.ok ? '' : await response.text());
  } catch {
    showConnection();
  }
}
