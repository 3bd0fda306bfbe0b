import {
  byId,
  counted,
  duration,
  fill,
  fromTemplate,
  part,
  sync,
  write,
  writeOrHide,
} from '../../../lib/console/page/dom.js';

/** @typedef {import('../view.js').ShowView} ShowView */
/** @typedef {import('../view.js').SaleView} SaleView */
/** @typedef {import('../view.js').LaneView} LaneView */

/** What stands between two buyers. @type {Record<SaleView['guard'], string>} */
const hints = {
  none: 'Nothing between two buyers.',
  mutex: 'One buyer at a time in each process.',
  lock: 'One buyer at a time over all processes.',
};

/** @param {ShowView} view */
export function showSales(view) {
  sync(
    byId('sales'),
    view.sales,
    ({ guard }) => guard,
    ({ guard }) => {
      const element = fromTemplate('sale');
      element.dataset['guard'] = guard;
      if (guard !== 'lock') part(element, 'redis').remove();
      return element;
    },
    (element, sale) => {
      const isOurs = sale.guard === 'lock';
      showNumbers(element, sale, view.isOpen);
      showSeats(part(element, 'seats'), sale);
      chart(element, 'rate', sale.rate, 3);
      chart(element, 'wait', sale.waits, 1000);
      write(part(element, 'rate'), view.isOpen ? perSecond(sale.rate) : '–');
      write(part(element, 'wait'), waitOf(sale));
      part(element, 'none').hidden = sale.lanes.length > 0;
      sync(
        part(element, 'lanes'),
        sale.lanes,
        ({ id }) => id,
        () => fromTemplate('lane'),
        (lane, seen) => showLane(lane, seen, sale, isOurs),
      );
      if (isOurs) showRedis(element, view);
    },
  );
}

/** @param {SaleView} sale */
const waitOf = ({ median, longest }) =>
  median === undefined || longest === undefined ? '–' : duration(median) + ', max ' + duration(longest);

/** @param {HTMLElement} element @param {SaleView} sale @param {boolean} isOpen */
function showNumbers(element, sale, isOpen) {
  const { guard, title, tickets, orders, oversold, isSold, inside, refused, failed } = sale;
  write(part(element, 'title'), title);
  write(part(element, 'hint'), hints[guard]);
  const figures = { orders, oversold, inside, refused, failed };
  for (const [name, value] of Object.entries(figures))
    write(part(element, name), isOpen ? value.toLocaleString('en') : '–');
  write(part(element, 'of'), ' of ' + tickets);
  element.classList.toggle('bad', oversold > 0);
  element.classList.toggle('crowded', inside > 1);
  element.classList.toggle('troubled', failed > 0);
  const verdict = part(element, 'verdict');
  writeOrHide(verdict, oversold > 0 ? oversold + ' oversold' : isSold ? 'sold out, each ticket once' : '');
  verdict.classList.toggle('red', oversold > 0);
  verdict.classList.toggle('green', oversold === 0);
}

/** @param {HTMLElement} seats @param {SaleView} sale */
function showSeats(seats, { tickets, orders, oversold }) {
  const label =
    Math.min(orders, tickets) + ' of ' + tickets + ' tickets sold, ' + oversold + ' more sold that do not exist';
  seats.setAttribute('aria-label', label);
  sync(
    seats,
    Array.from({ length: Math.max(tickets, orders) }, (_, index) => index),
    String,
    () => fromTemplate('seat'),
    (seat, index) => {
      seat.classList.toggle('sold', index < orders && index < tickets);
      seat.classList.toggle('over', index >= tickets);
    },
  );
}

/** Over the last five whole seconds. @param {readonly number[]} rate */
function perSecond(rate) {
  const last = rate.slice(-6, -1);
  return last.length === 0 ? '0' : (last.reduce((sum, sold) => sum + sold, 0) / last.length).toFixed(1);
}

/** A bar for each second. @param {HTMLElement} element @param {'rate' | 'wait'} name @param {readonly number[]} values @param {number} least the top of the scale at least */
function chart(element, name, values, least) {
  const top = Math.max(least, ...values);
  const bars = values.map((value, index) => {
    const height = Math.max(value === 0 ? 0 : 1.5, Math.round((240 * value) / top) / 10);
    return 'M' + index * 2 + ',24h1.5v-' + height + 'h-1.5z';
  });
  part(element, name + '-path').setAttribute('d', bars.join(''));
}

/** @param {HTMLElement} element @param {ShowView} view */
function showRedis(element, { redis: { isAway, isKnown, key, holder, queue } }) {
  part(element, 'redis').hidden = false;
  const state = part(element, 'redis-state');
  write(state, isAway ? 'killed' : 'serves');
  state.classList.toggle('red', isAway);
  part(element, 'redis').classList.toggle('away', isAway);
  const button = part(element, 'redis-act');
  button.dataset['act'] = isAway ? 'start-redis' : 'kill-redis';
  write(button, isAway ? 'Bring it back' : 'Kill Redis');
  const held = holder ? holder.name + ' holds the lock, token ' + holder.token.text + '.' : 'The lock is free.';
  write(
    part(element, 'holder'),
    key === undefined ? 'No lock yet.' : isAway || !isKnown ? 'Who holds the lock is not known.' : held,
  );
  part(element, 'holder').title = holder ? 'Token ' + holder.token.whole + ' of ' + key : '';
  writeOrHide(part(element, 'queue'), queue.length === 0 || isAway ? '' : 'Next: ' + queue.join(', '));
}

/** @type {Record<LaneView['state'], string>} */
const states = { starting: 'starts', serving: 'serves', stopped: 'stopped', gone: 'gone' };

/** @param {HTMLElement} lane @param {LaneView} seen @param {SaleView} sale @param {boolean} isOurs */
function showLane(lane, seen, sale, isOurs) {
  const { id, name, pid, state, isCut, buyers, more, token, place, lease, marks } = seen;
  lane.dataset['id'] = id;
  lane.dataset['state'] = state;
  lane.classList.toggle('cut', isCut);
  write(part(lane, 'name'), name);
  write(part(lane, 'pid'), pid === undefined ? '' : 'pid ' + pid);
  write(part(lane, 'state'), isCut && state === 'serving' ? 'no link' : states[state]);
  part(lane, 'acts').hidden = !isOurs || state === 'gone' || state === 'starting';
  if (isOurs) showActs(lane, seen);

  const inside = buyers.filter(({ step }) => step !== 'waits');
  const waiting = buyers.filter(({ step }) => step === 'waits');
  people(part(lane, 'inside'), inside);
  people(part(lane, 'waiting'), waiting, more);
  lane.classList.toggle('has', inside.length > 0);
  lane.classList.toggle('several', inside.length > 0 && sale.inside > 1);
  writeOrHide(part(lane, 'place'), place === undefined || waiting.length === 0 ? '' : ordinal(place));
  writeOrHide(part(lane, 'token'), token && inside.length > 0 ? 'token ' + token.text : '');
  part(lane, 'token').title = token ? 'Fencing token ' + token.whole : '';
  part(lane, 'lease').hidden = lease === undefined || inside.length === 0;
  fill(part(lane, 'lease-left'), lease ?? 0);
  part(lane, 'lease').classList.toggle('low', (lease ?? 1) < 0.5);
  const words = [
    inside.map((buyer) => buyer.name.replace(/.*, /, '') + ' buys').join(', '),
    counted(waiting.length + more, 'buyer waits', 'buyers wait'),
  ];
  part(lane, 'track').setAttribute('aria-label', words.filter((word) => word !== '').join(', '));
  sync(
    part(lane, 'marks'),
    marks,
    ({ text }) => text,
    () => fromTemplate('mark'),
    (chip, { text, tone }) => {
      write(chip, text);
      chip.dataset['tone'] = tone;
    },
  );
}

/** @param {HTMLElement} lane @param {LaneView} seen */
function showActs(lane, { name, isCut }) {
  for (const button of lane.querySelectorAll('button')) {
    const { act } = button.dataset;
    if (act === 'cut' || act === 'mend') {
      button.dataset['act'] = isCut ? 'mend' : 'cut';
      write(button, isCut ? 'Mend link' : 'Cut link');
    }
    button.setAttribute('aria-label', (button.textContent ?? '') + ': ' + name);
  }
}

/** @param {HTMLElement} list @param {LaneView['buyers']} buyers @param {number} [more] */
function people(list, buyers, more = 0) {
  const shown = buyers.map(({ name }) => ({ key: name, text: name.split(' ').at(-1) ?? '' }));
  if (more > 0) shown.push({ key: 'more', text: '+' + more });
  sync(
    list,
    shown,
    ({ key }) => key,
    () => fromTemplate('person'),
    (person, { text }) => write(person, text),
  );
}

/** @param {number} place */
const ordinal = (place) => place + (['th', 'st', 'nd', 'rd'][place] ?? 'th');
