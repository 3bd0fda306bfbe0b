import { readOverview, Refused } from './api.js';
import { byId, duration, freeze, sync, tick, write, writeOrHide } from './dom.js';
import { LockSheet } from './lock.js';
import { showOverview } from './overview.js';

/** @typedef {import('./overview.js').View} View */

/** Milliseconds between an answer and the next question. */
const pause = 2000;

/** @type {View | undefined} */
let view;
/** The connection that was chosen; undefined: the first one. @type {string | undefined} */
let connection;
/** `performance.now()` of the last answer. */
let answeredAt = 0;
/** @type {{ since: Date, text: string } | undefined} */
let cutOff;
let isPaused = false;
let isAsking = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let next;

const choice = /** @type {HTMLSelectElement} */ (byId('connection'));
const sheet = new LockSheet({
  connection: () => connection,
  canRelease: () => view?.canRelease ?? false,
  leaseOf: (token) =>
    [...(view?.long ?? []), ...(view?.own.holds.first ?? [])].find(({ fencingToken }) => fencingToken === token)?.lease,
  say: (text) => write(byId('said'), text),
});

async function refresh() {
  clearTimeout(next);
  if (isAsking) return;
  isAsking = true;
  const asked = connection;
  try {
    const [answer] = await Promise.all([readOverview(asked), sheet.refresh()]);
    if (asked === connection) answered(answer);
  } catch (error) {
    failed(error instanceof Refused ? error : new Refused(0, ''));
  }
  isAsking = false;
  showState();
  schedule();
}

function schedule() {
  clearTimeout(next);
  if (!isPaused && document.visibilityState === 'visible') next = setTimeout(() => void refresh(), pause);
}

/** @param {View} answer */
function answered(answer) {
  view = answer;
  answeredAt = performance.now();
  if (cutOff) write(byId('said'), 'The server answers again.');
  cutOff = undefined;
  byId('connection-choice').hidden = answer.connections.length < 2;
  sync(
    choice,
    answer.connections,
    (name) => name,
    () => document.createElement('option'),
    (option, name) => write(option, name),
  );
  choice.value = answer.connection;
  showOverview(answer, (key) => sheet.open(key));
}

/** @param {Refused} problem */
function failed({ status }) {
  const isForbidden = status === 401 || status === 403;
  const text = isForbidden
    ? 'You are signed out, or may not look any more. Reload the page.'
    : 'Cut off from the server.';
  cutOff ??= { since: new Date(), text };
  cutOff.text = text;
  freeze();
}

function showState() {
  const age = performance.now() - answeredAt;
  const problem = view?.problem;
  const state = cutOff || problem ? 'bad' : isPaused ? 'paused' : 'live';
  byId('live').dataset['state'] = state;
  const words = { bad: cutOff ? 'Cut off' : 'Redis is away', paused: 'Paused', live: 'Live' };
  write(byId('live-text'), words[state]);
  document.body.classList.toggle('old', cutOff !== undefined);
  writeOrHide(byId('notice'), noticeOf(problem, age));
}

/** @param {View['problem']} problem @param {number} age ms of what is shown */
function noticeOf(problem, age) {
  if (cutOff) {
    const since = ' Since ' + cutOff.since.toLocaleTimeString() + '.';
    return cutOff.text + since + (view ? ' What you see is ' + duration(age) + ' old.' : '');
  }
  if (problem === undefined) return '';
  const known =
    view?.age === undefined
      ? 'Only this process is shown.'
      : 'Other processes are shown as of ' + duration(view.age + age) + ' ago.';
  const why = problem === 'refused' ? 'Redis refuses to show what other processes tell. ' : 'Redis does not answer. ';
  return why + known;
}

byId('find').addEventListener('submit', (event) => {
  event.preventDefault();
  const { value } = /** @type {HTMLInputElement} */ (byId('name'));
  if (value !== '') sheet.open(value);
});
byId('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  byId('pause').setAttribute('aria-pressed', String(isPaused));
  if (!isPaused) void refresh();
  else freeze();
  showState();
});
choice.addEventListener('change', () => {
  connection = choice.value;
  void refresh();
});
document.addEventListener(
  'visibilitychange',
  () => void (document.visibilityState === 'visible' && !isPaused && refresh()),
);
setInterval(() => {
  tick();
  if (cutOff || view?.problem) showState();
}, 1000);
void refresh();
