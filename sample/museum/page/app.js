import { byId, fromTemplate, part, sync, write } from '../../../lib/console/page/dom.js';
import { act, follow } from '../../web/page/live.js';
import { Side } from './side.js';

/** @typedef {import('../gallery.js').Piece} Piece */
/** @typedef {{ running: string | undefined, queue: string[], exhibits: Piece[] }} State */

/** @type {State | undefined} */
let state;
/** The side that a person has used last: the arrow keys are for it. @type {Side} */
let used;

const theirs = new Side('By hand', (side) => (used = side));
const ours = new Side('With nestjs-redis-lock', (side) => (used = side));
used = theirs;
byId('sides').append(theirs.element, ours.element);

/** @type {string | undefined} */
let lastChosen;

/** The address names the exhibit, so that a page can link to it. The link that skips the list names none: the last one stays. */
const chosen = () => {
  const named = state?.exhibits.find(({ name }) => '#' + name === location.hash);
  const piece = named ?? state?.exhibits.find(({ name }) => name === lastChosen) ?? state?.exhibits[0];
  lastChosen = piece?.name;
  return piece;
};

/** @param {Piece['ours']} shown */
const isOver = ({ verdict, error }) => verdict !== undefined || error !== undefined;

/** @param {Piece['ours']} shown */
const markOf = ({ verdict, error }) => (verdict ? (verdict.broken ? 'broken' : 'held') : error ? 'error' : 'none');

/** @param {Piece} piece */
function saidOf({ name, theirs: hand, ours: library }) {
  if (state?.running === name) return 'runs now';
  const [one, other] = [hand, library].map((shown) => (shown.verdict ? markOf(shown) : 'not run yet'));
  return 'by hand ' + one + ', with the library ' + other;
}

function showRooms() {
  sync(
    byId('rooms'),
    state?.exhibits ?? [],
    ({ name }) => name,
    ({ name }) => {
      const room = fromTemplate('room');
      part(room, 'open').addEventListener('click', () => open(name));
      return room;
    },
    (room, piece, index) => {
      const button = part(room, 'open');
      button.setAttribute('aria-current', String(piece === chosen()));
      button.dataset['running'] = String(piece.name === state?.running);
      button.title = piece.title;
      write(part(room, 'number'), String(index + 1));
      write(part(room, 'title'), piece.title);
      part(room, 'theirs').dataset['mark'] = markOf(piece.theirs);
      part(room, 'ours').dataset['mark'] = markOf(piece.ours);
      write(part(room, 'said'), saidOf(piece));
    },
  );
}

function showExhibit() {
  const piece = chosen();
  byId('exhibit').hidden = piece === undefined;
  if (!piece || !state) return;
  const { name, title, problem, remedy, docs } = piece;
  const isRunning = state.running === name;
  write(byId('exhibit-number'), 'Exhibit ' + (state.exhibits.indexOf(piece) + 1) + ' of ' + state.exhibits.length);
  write(byId('exhibit-title'), title);
  write(byId('exhibit-problem'), problem);
  const hint = ours.part('remedy');
  hint.hidden = false;
  write(hint, remedy);
  byId('exhibit-docs').setAttribute('href', docs);
  const isBusy = isRunning || state.queue.includes(name);
  byId('run').setAttribute('aria-disabled', String(isBusy));
  write(byId('run'), isRunning ? 'It runs …' : isBusy ? 'It runs soon' : 'Run it again');
  document.title = title + ' · The museum of broken locks';
  theirs.show(piece.theirs, isRunning && !isOver(piece.theirs));
  ours.show(piece.ours, isRunning && isOver(piece.theirs) && !isOver(piece.ours));
}

function showAll() {
  showRooms();
  showExhibit();
}

/** @param {string} name */
function open(name) {
  if (location.hash !== '#' + name) location.hash = name;
}

/** @param {number} by */
function turn(by) {
  const piece = chosen();
  const all = state?.exhibits ?? [];
  if (piece) open(all[(all.indexOf(piece) + by + all.length) % all.length]?.name ?? '');
}

addEventListener('hashchange', () => {
  const before = lastChosen;
  if (chosen()?.name === before) return;
  theirs.reset();
  ours.reset();
  showAll();
  byId('exhibit-title').focus({ preventScroll: true });
  byId('exhibit-title').scrollIntoView({ block: 'nearest' });
});
byId('run').addEventListener('click', () => {
  if (byId('run').getAttribute('aria-disabled') === 'true') return;
  for (const side of [theirs, ours]) side.reset();
  void act('run', { name: chosen()?.name });
});
byId('previous-exhibit').addEventListener('click', () => turn(-1));
byId('next-exhibit').addEventListener('click', () => turn(1));
addEventListener('keydown', (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  /** @type {Record<string, () => void>} */
  const keys = {
    ArrowLeft: () => used.step(-1),
    ArrowRight: () => used.step(1),
    n: () => turn(1),
    p: () => turn(-1),
  };
  const action = keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

follow((next) => {
  state = next;
  showAll();
});
