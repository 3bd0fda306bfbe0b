import { readOverview, Refused } from './api.js';
import { byId, duration, freeze, sync, tick, write } from './dom.js';
import { endOf } from './ends.js';
import { ListSheet } from './list.js';
import { LockSheet } from './lock.js';
import { showOverview } from './overview.js';
import { ProcessSheet } from './process.js';
import { addressOf, routeOf, shownConnection } from './route.js';
import { guide } from './why.js';

/** @typedef {import('./overview.js').View} View */

/** Milliseconds between an answer and the next question, and after a refusal of a guard. */
const pause = 2000;
const longPause = 10_000;

/** @type {View | undefined} */
let view;
/** `performance.now()` of the last answer. */
let answeredAt = 0;
/** @type {{ since: Date, problem: Refused } | undefined} */
let cutOff;
let isPaused = false;
let isAsking = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let next;

const choice = /** @type {HTMLSelectElement} */ (byId('connection'));
const host = {
  view: () => view,
  /** @param {string} text */
  say: (text) => write(byId('said'), text),
};
const list = new ListSheet(host);
/** What an address opens over the board. */
const sheets = { lock: new LockSheet(host), process: new ProcessSheet(host), list, find: list };

async function refresh() {
  clearTimeout(next);
  if (isAsking) return;
  isAsking = true;
  const asked = shownConnection();
  try {
    const [answer] = await Promise.all([readOverview(asked), opened()?.refresh()]);
    if (asked === shownConnection()) answered(answer);
  } catch (error) {
    failed(error instanceof Refused ? error : new Refused(0, 'unread'));
  }
  isAsking = false;
  showState();
  schedule();
}

function schedule() {
  clearTimeout(next);
  const { code, after } = cutOff?.problem ?? {};
  const isGuarded = code === 'signin' || code === 'forbidden' || code === 'throttled';
  const ms = isGuarded ? Math.max(after ?? 0, longPause) : pause;
  if (!isPaused && document.visibilityState === 'visible') next = setTimeout(() => void refresh(), ms);
}

/** @param {View} answer */
function answered(answer) {
  // Of a guard that answers 200, or of another version.
  if (!Array.isArray(answer.connections)) throw new Refused(0, 'unread');
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
  showOverview(answer);
}

/** @param {Refused} problem */
function failed(problem) {
  cutOff ??= { since: new Date(), problem };
  cutOff.problem = problem;
  freeze();
}

function showState() {
  const problem = view?.problem;
  const state = cutOff || problem ? 'bad' : isPaused ? 'paused' : 'live';
  byId('live').dataset['state'] = state;
  const [end, text] = cutOff ? endOf(cutOff.problem) : ['Redis is away', ''];
  write(byId('live-text'), { bad: end, paused: 'Paused', live: 'Live' }[state]);
  document.body.classList.toggle('old', cutOff !== undefined);
  byId('notice').hidden = state !== 'bad';
  const why = problem === 'refused' ? 'Redis refuses to show what other processes tell.' : 'Redis does not answer.';
  // Screen readers speak this text: it changes with the state. The age beside it changes each second.
  write(byId('notice-text'), state === 'bad' ? text || why : '');
  write(byId('notice-age'), ageOf(performance.now() - answeredAt));
  byId('sign-in').hidden = cutOff?.problem.code !== 'signin';
  guide(byId('notice-next'), !cutOff && problem ? 'redis' : undefined);
}

/** @param {number} age ms of what is shown */
function ageOf(age) {
  if (cutOff) {
    const since = 'Since ' + cutOff.since.toLocaleTimeString() + '.';
    return since + (view ? ' What you see is ' + duration(age) + ' old.' : '');
  }
  return view?.age === undefined
    ? 'Only this process is shown.'
    : 'Other processes are shown as of ' + duration(view.age + age) + ' ago.';
}

/** The sheet that the address opens. */
function opened() {
  const { place } = routeOf(location.hash);
  return place === 'board' ? undefined : sheets[place];
}

function navigate() {
  const { place, of } = routeOf(location.hash);
  for (const sheet of new Set(Object.values(sheets))) if (sheet !== opened()) sheet.close();
  opened()?.open(place, of);
  if (choice.value !== (shownConnection() ?? view?.connection)) void refresh();
}

byId('find').addEventListener('submit', (event) => {
  event.preventDefault();
  const { value } = /** @type {HTMLInputElement} */ (byId('name'));
  if (value !== '') location.hash = addressOf('find', value);
});
byId('sign-in').addEventListener('click', () => location.reload());
byId('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  byId('pause').setAttribute('aria-pressed', String(isPaused));
  if (!isPaused) void refresh();
  else freeze();
  showState();
});
choice.addEventListener('change', () => {
  const [first] = view?.connections ?? [];
  location.hash = addressOf('board', '', choice.value === first ? undefined : choice.value);
});
window.addEventListener('hashchange', navigate);
document.addEventListener(
  'visibilitychange',
  () => void (document.visibilityState === 'visible' && !isPaused && refresh()),
);
setInterval(() => {
  tick();
  if (cutOff || view?.problem) showState();
}, 1000);
navigate();
void refresh();
